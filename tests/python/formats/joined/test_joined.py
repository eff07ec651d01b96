"""Many files as one series. The files of other programs are written here with h5py."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.as_click import invoke as tailrace
from tailrace.formats.recognise import dataset_at
from tailrace.io import guard

GRID = tr.UniformGrid((6, 5, 4), spacing=(0.5, 0.25, 0.1))


def values(number, shape=(4, 5, 6)):
    return np.arange(float(np.prod(shape))).reshape(shape) + 1000.0 * number


def write(folder: Path, numbers=range(4), name="flow_{:04d}.h5", time=True, **attributes) -> Path:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        with h5py.File(folder / name.format(number), "w") as file:
            file["u"] = values(number)
            if time:
                file.attrs["time"] = 0.1 * number
            file.attrs.update(attributes)
    return folder


def check(series, numbers=range(4)):
    assert [step.time for step in series] == pytest.approx([0.1 * number for number in numbers])
    for step, number in zip(series, numbers, strict=True):
        assert np.array_equal(step.read("u"), values(number))
        assert np.array_equal(step.read("u", ((1, 2, 0), (3, 2, 2))), values(number)[0:2, 2:4, 1:4])


@pytest.mark.parametrize("how", ["directory", "glob", "list", "list of Paths", "relative glob"])
def test_ways_to_name_them(tmp_path, how, monkeypatch):
    write(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    files = sorted((tmp_path / "out").iterdir())
    path = {
        "directory": tmp_path / "out",
        "glob": tmp_path / "out/flow_*.h5",
        "list": [str(one) for one in reversed(files)],
        "list of Paths": files,
        "relative glob": "out/flow_000?.h5",
    }[how]
    with tr.open(path) as series:
        check(series)
        assert any(note == "4 files as one series, in the order of their times" for note in series.notes)
        assert len(series.files) == 4 and series.verify() == []
        monkeypatch.chdir("/")
        check(pickle.loads(pickle.dumps(series)))
        assert float(series.to_xarray()["u"][2, 1, 2, 3]) == values(2)[1, 2, 3]
    monkeypatch.chdir(tmp_path)
    with xr.open_dataset(path, engine="tailrace") as data:
        np.testing.assert_array_equal(data["u"].isel(z=1), [values(n)[1] for n in range(4)])
        assert data["time"].values == pytest.approx([0, 0.1, 0.2, 0.3])


def test_commands(tmp_path):
    folder = write(tmp_path / "out")
    for path in (folder, folder / "flow_*.h5"):
        result = tailrace("info", path)
        assert result.exit_code == 0 and "4: index 0 to 3, time 0 to 0.3" in result.stdout, result.output
        assert tailrace("verify", path).exit_code == 0
        target = tmp_path / f"{'dir' if path == folder else 'glob'}.h5"
        result = tailrace("convert", path, target)
        assert result.exit_code == 0, result.output
        check(tr.open(target))
    nothing = tailrace("info", folder / "no_*.h5")
    assert nothing.exit_code == 2 and "no file has a name of this pattern" in nothing.stderr, nothing.output


@pytest.mark.parametrize("place", ["part_{}.h5", "part_{}.bp"])
def test_commands_on_series_of_our_own(tmp_path, place):
    """Their checksums are compared."""
    (tmp_path / "out").mkdir()
    for number in range(2):
        with tr.open(tmp_path / "out" / place.format(number), "w", grid=GRID) as out:
            for step in (2 * number, 2 * number + 1):
                out.write_step(0.1 * step, u=values(step), index=step)
    pattern = tmp_path / "out" / place.replace("{}", "*")
    for path in (pattern.parent, pattern):
        result = tailrace("info", path)
        assert result.exit_code == 0 and "4: index 0 to 3, time 0 to 0.3" in result.stdout, result.output
        assert "2 files as one series" in result.stdout
        result = tailrace("verify", path)
        assert (result.exit_code, result.stdout) == (0, f"{path}: 4 steps, all well\n"), result.output
        assert tailrace("plot", path, "--field", "u", "-o", tmp_path / "u.png").exit_code == 0
    first = tmp_path / "out" / place.format(0)
    file = first if first.is_file() else first / "data.0"
    content = bytearray(file.read_bytes())
    content[content.index(values(1)[2, 3, 4].tobytes())] ^= 1
    file.write_bytes(content)
    for path in (pattern.parent, pattern):
        result = tailrace("verify", path)
        assert result.exit_code == 1 and result.stdout.startswith(f"{path}: damaged: "), result.output
        assert "u: block (0:6, 0:5, 0:4) of step 1 differs from its checksum" in result.stdout, result.output


def test_the_order_is_that_of_the_times(tmp_path):
    """Whatever the names say; and without times, 10 is after 9."""
    folder = write(tmp_path / "out", range(9, 12), "flow_{}.h5")
    check(tr.open(folder), [9, 10, 11])
    for number, time in ((0, 0.5), (1, 0.2), (2, 0.1)):
        with h5py.File(folder / f"flow_{number}.h5", "w") as file:
            file["u"], file.attrs["time"] = values(time * 10), time
    with tr.open(folder / "flow_?.h5") as series:
        check(series, [1, 2, 5, 9])
        assert [step.index for step in series] == [0, 1, 2, 3]  # the numbers of the names go back: positions


def test_files_without_a_time(tmp_path):
    write(tmp_path / "out", (8, 9, 10), "flow_{}.h5", time=False)
    with tr.open(tmp_path / "out") as series:
        assert [(step.index, step.time) for step in series] == [(8, 8.0), (9, 9.0), (10, 10.0)]
        assert any(
            "no time is in the file, so the numbers in their names stand for the times" in one for one in series.notes
        )
        assert any("in the order of their names" in one for one in series.notes)
    for name in ("a", "b"):
        (tmp_path / f"{name}.h5").write_bytes((tmp_path / "out/flow_8.h5").read_bytes())
    with tr.open([tmp_path / "b.h5", tmp_path / "a.h5"]) as series:
        assert list(series.times) == [0, 1] and any(
            "their positions stand for the times" in one for one in series.notes
        )


def test_files_of_several_steps_without_a_time(tmp_path):
    """Groups of steps that tell no time: the steps are counted over all files."""
    for number in range(2):
        with h5py.File(tmp_path / f"part_{number}.h5", "w") as file:
            for step in range(3):
                file[f"Step{step}/u"] = values(3 * number + step)
    with tr.open(tmp_path / "part_*.h5") as series:
        assert [(step.index, step.time) for step in series] == [(at, at) for at in range(6)]
        assert all(np.array_equal(step.read("u"), values(at)) for at, step in enumerate(series))
        assert "no time is in the file, so their positions stand for the times" in " ".join(series.notes)


def test_what_is_damaged_within_a_file_is_told(tmp_path):
    """A file that an XDMF names is gone."""
    for number in range(2):
        with h5py.File(tmp_path / f"s{number}.h5", "w") as file:
            file["u"], file["v"] = values(number), values(-number)
        text = f'<Xdmf><Domain><Grid><Time Value="{0.1 * number}"/>'
        for name, of in (("u", f"s{number}"), ("v", f"{'gone' if number else 's0'}")):
            text += f'<Attribute Name="{name}"><DataItem Format="HDF">{of}.h5:/{name}</DataItem></Attribute>'
        (tmp_path / f"s{number}.xmf").write_text(text + "</Grid></Domain></Xdmf>")
    with tr.open(tmp_path / "s*.xmf") as series:
        check(series, range(2))
        assert [sorted(step.names) for step in series] == [["u", "v"], ["u"]]
        assert any("'v' is left out: the file 'gone.h5' cannot be read" in line for line in series.verify())


def test_a_last_file_that_is_cut_off(tmp_path):
    folder = write(tmp_path / "out")
    last = folder / "flow_0003.h5"
    os.truncate(last, last.stat().st_size // 2)
    with tr.open(folder) as series:
        check(series, range(3))
        assert any("flow_0003.h5 is left out, as the last file it may be incomplete" in note for note in series.notes)
        assert any("flow_0003.h5" in line for line in series.verify())
    assert tailrace("verify", folder).exit_code == 1
    middle = folder / "flow_0001.h5"
    os.truncate(middle, middle.stat().st_size // 2)
    with pytest.raises(tr.IoError, match=r"flow_0001\.h5.*one of .*to read the others, move it away"):
        tr.open(folder)
    with pytest.raises(tr.IoError, match=r"no file of it can be read"):
        tr.open([last])
    (folder / "notes_0007.txt").write_text("no step")
    with pytest.raises(tr.InputError, match=r"notes_0007\.txt: is nothing that can be read, as one of"):
        tr.open([folder / "flow_0000.h5", folder / "notes_0007.txt"])


def test_files_of_two_runs_are_not_mixed_without_a_word(tmp_path):
    folder = write(tmp_path / "out", reynolds=100.0, case="a")
    write(folder, range(4, 6), "other_{:04d}.h5", reynolds=200.0, case="a")
    with pytest.raises(tr.InputError, match=r'several names.*"\S*/out/flow_\*\.h5", "\S*/out/other_\*\.h5"'):
        tr.open(folder)
    with tr.open(folder / "*.h5") as series:
        check(series, range(6))
        said = " ".join(series.notes)
        assert "the files have several names: 4 flow_*.h5, 2 other_*.h5" in said
        assert "reynolds (100.0 in flow_0000.h5, 200.0 in other_0004.h5)" in said
        assert series.attributes == {"case": "a"}
        assert "time (" not in said  # the steps have it
    with h5py.File(folder / "flow_0002.h5", "a") as file:
        del file["u"]
        file["u"] = values(2, (4, 5, 7))
        file["v"] = values(3)
    with tr.open(folder / "flow_*.h5") as series:
        assert any(
            "'u' has 6 x 5 x 4 points in flow_0000.h5 and 7 x 5 x 4 in flow_0002.h5" in one for one in series.notes
        )
        assert series[2].read("u").shape == (4, 5, 7) and "v" in series[2] and "v" not in series[1]


def test_times_that_overlap(tmp_path):
    """The second run began again from the middle of the first."""
    for name, times in (("a.h5", (0.0, 0.1, 0.2)), ("b.h5", (0.1, 0.2, 0.3))):
        with h5py.File(tmp_path / name, "w") as file:
            file["time"] = np.array(times)
            file["u"] = np.stack([values(10 * time + (name == "b.h5")) for time in times])
    with tr.open([tmp_path / "a.h5", tmp_path / "b.h5"]) as series:
        assert list(series.times) == [0.0, 0.1, 0.2, 0.1, 0.2, 0.3]
        assert any("its times go back in step 3" in note for note in series.notes)
        assert np.array_equal(series.at(0.2).read("u"), values(3.0))


@pytest.mark.parametrize("place", ["part_{}.h5", "part_{}.bp", "part_{}.bp4"])
def test_series_of_our_own(tmp_path, place):
    """Several steps a file, lists, components, numbers, and the grid."""
    for number in range(3):
        with tr.open(tmp_path / place.format(number), "w", grid=GRID) as out:
            out.set_attribute("reynolds", 50.0)
            for step in (2 * number, 2 * number + 1):
                parts = np.stack([values(step), values(step + 50), values(step + 90)])
                rows = np.arange(2.0 * step + 1)
                out.write_step(
                    0.1 * step, {"u": values(step), "b": parts}, index=7 * step, scalars={"e": step}, lists={"p": rows}
                )
    with tr.open(tmp_path / place.replace("{}", "*")) as series:
        check(series, range(6))
        assert [step.index for step in series] == [0, 7, 14, 21, 28, 35]
        assert series.grid == GRID and series.attributes["reynolds"] == 50.0 and series.verify() == []
        step = series[5]
        assert step.scalars == {"e": 5} and np.array_equal(step.read("p"), np.arange(11.0))
        assert np.array_equal(step.read("b"), np.stack([values(5), values(55), values(95)]))
        assert step.read("u", dtype="float32").dtype == np.float32


def test_no_more_than_a_few_files_are_open(tmp_path):
    folder = write(tmp_path / "out", range(60))
    with tr.open(folder) as series:
        before = len(list(Path("/proc/self/fd").iterdir()))
        check(series, range(60))
        assert len(list(Path("/proc/self/fd").iterdir())) - before <= 20
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_files_share_what_is_equal(tmp_path):
    dataset = dataset_at(write(tmp_path / "out", range(20)))
    assert len({id(one._layouts) for one in dataset._files}) == 1
    assert len(pickle.dumps(dataset)) < 20_000


@pytest.mark.parametrize("how", ["directory", "glob", "list"])
def test_a_child_process_looks_first_where_it_is_asked_to(tmp_path, monkeypatch, how):
    folder = write(tmp_path / "out")
    path = {"directory": folder, "glob": folder / "*.h5", "list": sorted(folder.iterdir())}[how]
    looked = []
    monkeypatch.setattr(guard, "call", lambda path, *_: looked.append(path))
    check(tr.open(path, guard=True))
    assert looked == (path if how == "list" else [path])


RANKS = """
import sys
import numpy as np
from mpi4py import MPI
import tailrace as tr
comm = MPI.COMM_WORLD
with tr.open(sys.argv[1], comm=comm) as series:
    for step, number in zip(series, range(4), strict=True):
        part = step.read("u", ((0, 0, comm.rank), (6, 5, 1)))
        whole = np.arange(120.0).reshape(4, 5, 6) + 1000.0 * number
        assert np.array_equal(part[0], whole[comm.rank]), (number, comm.rank)
    assert series.verify() == []
sys.stdout.write("well" + chr(10))
"""


def test_on_ranks(tmp_path):
    folder = write(tmp_path / "out")
    (tmp_path / "program.py").write_text(RANKS)
    for ranks in (2, 3):
        process = mpi_run.start([*mpi_run.mpiexec(ranks), sys.executable, tmp_path / "program.py", folder], tmp_path)
        result = mpi_run.finish(process, 120)
        assert result.out.count("well") == ranks, result.text


def test_what_is_no_directory_of_steps(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/log_01.txt").write_text("no step")
    for name in ("empty", "texts"):
        with pytest.raises((tr.InputError, tr.IoError)):
            tr.open(tmp_path / name)
    with pytest.raises(tr.InputError, match="no file is given"):
        tr.open([])
    with pytest.raises(tr.InputError, match="several files are read only"):
        tr.open(["a.h5", "b.h5"], "w")
    with pytest.raises(tr.InputError, match="the engine 'hdf5' reads one"):
        tr.open(["a.h5", "b.h5"], engine="hdf5")
