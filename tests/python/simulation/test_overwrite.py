"""Results of an earlier run are never replaced by accident; with --overwrite a kill leaves the old or the new ones."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.files.set_aside import SetAside, record_of
from tailrace.io import series
from tailrace.io.time_series import read_provenance, read_time_series
from tailrace.simulation.existing_results import claimed, settle

SCRIPT = """
import matplotlib
matplotlib.use("agg")

def analyse(step):
    import matplotlib.pyplot as plt
    import tailrace as tr
    figure, axes = plt.subplots()
    axes.plot([0, step.index])
    return {"mean": tr.mean(step["ux"] * step["ux"]), "square": step["ux"] * step["ux"], "picture": figure}
"""
BLOCK = '[[analysis]]\nscript = "mean.py"\nevery = 4\n'
ENGINES = ("raw", "hdf5", "bp4", "bp5", "sion", "adios_hdf5")


def make(folder: Path, **options: object) -> Path:
    case = cases.write_case(folder, steps=8, every=4, outputs=ENGINES, extra=BLOCK, **options)
    (folder / "mean.py").write_text(SCRIPT)
    return case


def sums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run with all kinds of results."""
    case = make(tmp_path_factory.mktemp("done"))
    result = cases.run(case, ranks=2, overwrite=False)
    assert result.code == 0, result.text
    return case.parent


@pytest.fixture
def again(done: Path, tmp_path: Path) -> Path:
    """A copy of the results, with the case."""
    shutil.copytree(done, tmp_path / "run", symlinks=True)
    return tmp_path / "run" / "case.toml"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_second_run_refuses_and_changes_nothing(again: Path, ranks: int):
    before = sums(again.parent)
    told = cases.message(cases.run(again, ranks=ranks, overwrite=False))
    assert "there are results of an earlier run: time_series.csv, out, out.h5, out.bp4 and " in told
    for way in ("--resume, to go on from step 8", "--overwrite", "--directory DIR"):
        assert way in told
    assert sums(again.parent) == before


@pytest.mark.parametrize("left", ["time_series.csv", "out", "out.h5", "out.bp", "out.sion", "checkpoints", "analysis"])
def test_any_one_result_is_enough(again: Path, left: str):
    for path in again.parent.iterdir():
        if path.name not in (left, "case.toml", "flow.py", "mean.py"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = sums(again.parent)
    told = cases.message(cases.run(again, overwrite=False))
    assert f"an earlier run: {left}" in told
    assert ("--resume" in told) == (left == "checkpoints")
    assert sums(again.parent) == before


def test_overwrite_replaces_everything(again: Path, done: Path):
    (again.parent / "out" / "notes.txt").write_text("mine")  # among the files of a series
    result = cases.run(again, "--overwrite", "--set=time.steps=4", "--set=checkpoint.every=2", ranks=2)
    assert result.code == 0, result.text
    assert cases.checkpoints(again.parent) == [2, 4]
    assert list(read_time_series(again.parent / "time_series.csv")["step"]) == [0, 1, 2, 3, 4]
    for path in ("out", "out.h5", "out.bp4", "out.bp", "out.sion", "out.adios_hdf5"):
        with tr.open(again.parent / path) as stored:
            assert [step.index for step in stored] == [0, 2, 4]
            assert stored.verify() == []
    assert sorted(path.name for path in (again.parent / "analysis").glob("*.png")) == [
        "mean-picture-000000.png",
        "mean-picture-000004.png",
    ]
    assert (again.parent / "out" / "notes.txt").read_text() == "mine"
    names = {path.name for path in again.parent.rglob("*")} - {"notes.txt"}
    assert not [name for name in names if "earlier" in name or name.endswith((".lock", ".journal"))]
    assert not [name for name in names if name.startswith("ux-") and "4" in name], "of the earlier run"


def test_a_run_that_fails_early_puts_everything_back(again: Path):
    before = sums(again.parent)
    (again.parent / "mean.py").write_text("def analyse(step):\n    raise OSError('no')\n")
    before["mean.py"] = sums(again.parent)["mean.py"]
    result = cases.run(again, "--overwrite", ranks=2)
    assert "no" in cases.message(result)
    assert sums(again.parent) == before


@pytest.mark.parametrize("buffers", [0, 2])
def test_earlier_results_stay_until_the_first_new_ones_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffers: int
):
    """An output in the background fails after the call that gave it the step."""
    monkeypatch.chdir(tmp_path)
    path = cases.write_case(tmp_path, steps=2, outputs=("hdf5",))
    path.write_text(f"{path.read_text()}[output.parameters]\nbuffers = {buffers}\n")
    case = tr.load_case(path)
    tr.Simulation(case, MPI.COMM_SELF).run()
    before = sums(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, limits[1]))  # as a full disk: less than the fields of a step
    try:
        with pytest.raises(tr.IoError, match=r"out\.h5"):
            tr.Simulation(case, MPI.COMM_SELF, overwrite=True).run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sums(tmp_path) == before


@pytest.mark.parametrize("way", ["--overwrite", "--resume"])
def test_a_series_without_its_first_step_is_no_obstacle(again: Path, way: str):
    """A full disk ends a run in the first step of a series, which has no attributes yet."""
    with series.open(again.parent / "analysis" / "mean.h5", "w", comm=MPI.COMM_SELF):
        pass
    result = cases.run(again, way, "--set=time.steps=12")
    assert result.code == 0, result.text
    with tr.open(again.parent / "analysis" / "mean.h5") as stored:
        assert [step.index for step in stored] == ([0, 4, 8, 12] if way == "--overwrite" else [12])
        assert stored.attributes["analysis"] == "mean"


def test_directory(again: Path):
    before = sums(again.parent)
    result = cases.run(again, "--directory", "new/one", ranks=2, overwrite=False)
    assert result.code == 0, result.text
    there = sums(again.parent)
    assert {path: there[path] for path in before} == before
    assert cases.checkpoints(again.parent / "new" / "one") == [4, 8]
    assert "--resume" in cases.message(cases.run(again, "--directory=new/one", overwrite=False))
    assert cases.run(again, "--directory=new/one", "--resume", "--set=time.steps=10").code == 0


def test_overwrite_and_resume_contradict_each_other(again: Path):
    assert "leave one out" in cases.message(cases.run(again, "--overwrite", "--resume"), 2)


def whole(folder: Path, steps: int) -> bool:
    """Whether the results are those of a complete run."""
    for path in ("out", "out.h5", "out.bp4", "out.bp", "out.sion", "out.adios_hdf5", "analysis/mean.h5"):
        with tr.open(folder / path) as stored:
            assert stored.verify() == []
            if stored[-1].index != steps:
                return False
    return int(read_time_series(folder / "time_series.csv")["step"][-1]) == steps


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_leaves_the_old_or_the_new_results(again: Path, seed: int):
    """The old results have 8 steps and the Reynolds number 100; the new run has 40 and another one."""
    dice = random.Random(seed)
    arguments = ("--overwrite", "--set=time.steps=40", "--set=case.reynolds=50")
    process = mpi_run.start(mpi_run.tailrace_command("run", again, "-n", 2, *arguments), again.parent)
    record = record_of(again.parent / "time_series.csv")
    end = time.monotonic() + 240
    while seed % 3 and not record.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)  # two of three are killed while results are set aside
    time.sleep(dice.uniform(0, 0.05 if seed % 3 else 4))
    mpi_run.kill_session(process)
    process.communicate()
    old = cases.run(again, overwrite=False)  # refuses, after it has put back what the killed one has set aside
    assert "there are results of an earlier run" in old.text, old.text
    assert not record.exists()
    assert not list(again.parent.rglob("*.earlier"))
    attributes = [tr.open(again.parent / path).attributes for path in ("out", "out.h5", "out.bp4", "out.bp")]
    numbers = {told["reynolds"] for told in attributes}
    assert len(numbers) == 1, "old and new results are mixed"
    if numbers == {100.0}:
        assert whole(again.parent, 8)
        assert cases.checkpoints(again.parent) == [4, 8]
    else:
        rows = read_time_series(again.parent / "time_series.csv")
        assert np.array_equal(rows["step"], np.arange(len(rows["step"])))
        assert 8 not in cases.checkpoints(again.parent) or rows["step"][-1] >= 8


@pytest.mark.parametrize("state", ["aside", "remove"])
def test_what_a_killed_run_left_is_finished(again: Path, state: str):
    """Before the first new step the old results come back, also to be resumed; after it they go."""
    folder = again.parent
    before = sums(folder)
    names = ["time_series.csv", "out.h5", "out.bp", "checkpoints/step-00000004", "checkpoints/step-00000008"]
    names.append("out.h5.xdmf2")
    for name in names:
        (folder / name).rename(folder / f"{name}.earlier")
    (folder / "out.bp").mkdir()  # as a killed run leaves it before its first step
    (folder / "out.h5").write_bytes(b"")
    paths = ", ".join(f'"{(folder / name).resolve()}"' for name in names)
    record_of(folder / "time_series.csv").write_text(
        f'{{"tailrace": "earlier results", "state": "{state}", "paths": [{paths}]}}'
    )
    if state == "aside":
        result = cases.run(again, "--resume", "--set=time.steps=9", ranks=2)
        assert result.code == 0, result.text
        assert "these are back in their places" in result.out
        assert "resuming from checkpoints/step-00000008" in result.out
        assert list(read_time_series(folder / "time_series.csv")["step"]) == list(range(10))
    else:
        told = cases.message(cases.run(again, overwrite=False))
        assert "there are results of an earlier run: out, " in told
        gone = (*names[:2], "out.bp/", *names[3:])
        left = {path: found for path, found in before.items() if not path.startswith(gone)}
        assert sums(folder) == {**left, "out.h5": hashlib.sha256(b"").hexdigest()}
    assert not list(folder.rglob("*.earlier*"))


def test_only_a_link_gets_a_new_directory(tmp_path: Path):
    """An empty directory in the place of a checkpoint would count as one."""
    for name in ("plain", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "md.idx").touch()
    (tmp_path / "link").symlink_to("target")
    with SetAside(record_of(tmp_path / "x"), [tmp_path]) as earlier:
        earlier.set_aside([tmp_path / "plain", tmp_path / "link"])
        assert not (tmp_path / "plain").exists()
        assert list((tmp_path / "link").iterdir()) == []
    assert (tmp_path / "plain" / "md.idx").exists()
    assert (tmp_path / "link" / "md.idx").exists()


def test_one_program_at_a_time(tmp_path: Path):
    """One that has nothing set aside leaves the record of another alone, and nothing comes back after the removal."""
    (tmp_path / "x").write_text("old")
    record = record_of(tmp_path / "x")
    first, second = SetAside(record, [tmp_path]), SetAside(record, [tmp_path])
    first.set_aside([tmp_path / "x"])
    second.close()
    assert record.exists()
    with pytest.raises(tr.IoError, match="is writing it"):
        SetAside(record, [tmp_path])
    (tmp_path / "x").write_text("new")
    (tmp_path / "x.earlier").unlink()
    (tmp_path / "x.earlier").mkdir()
    (tmp_path / "x.earlier" / "full").touch()
    first.remove()
    first.close()
    assert (tmp_path / "x").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_kill_during_the_removal_brings_no_old_result_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The record says so before the first of them goes; else half of them would take the place of new ones."""
    paths, record, told = [tmp_path / name for name in "xy"], record_of(tmp_path / "x"), []

    def delete(path: Path) -> None:
        told.append(json.loads(record.read_text())["state"])
        path.unlink()

    for path in paths:
        path.write_text("old")
    with SetAside(record, [tmp_path]) as earlier:
        earlier.set_aside(paths)
        for path in paths:
            path.write_text("new")
        monkeypatch.setattr("tailrace.files.set_aside.remove", delete)
        earlier.remove()
    assert told == ["remove", "remove"]
    assert [path.read_text() for path in paths] == ["new", "new"]


def test_a_removal_that_fails_brings_no_old_result_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Some are gone then, and the rest would take the place of new ones."""

    def delete(path: Path) -> None:
        if path.name == "y.earlier":
            raise OSError(errno.EACCES, "Permission denied", str(path))
        path.unlink()

    for name in "xy":
        (tmp_path / name).write_text("old")
    with SetAside(record_of(tmp_path / "x"), [tmp_path]) as earlier:
        earlier.set_aside([tmp_path / "x", tmp_path / "y"])
        for name in "xy":
            (tmp_path / name).write_text("new")
        monkeypatch.setattr("tailrace.files.set_aside.remove", delete)
        with pytest.raises(tr.IoError, match=r"cannot remove the earlier results: .*y\.earlier"):
            earlier.remove()
        monkeypatch.undo()
    assert [(tmp_path / name).read_text() for name in "xy"] == ["new", "new"]


def test_results_that_are_being_written_are_not_even_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They would be back before long, and whoever writes them would take them for removed until then."""
    monkeypatch.chdir(tmp_path)
    case = tr.load_case(cases.write_case(tmp_path, outputs=("hdf5",)))
    with tr.open("out.h5", "w", comm=MPI.COMM_SELF) as out:
        out.write_step(0.0, ux=np.zeros((2, 3, 4)))
        monkeypatch.setattr(SetAside, "set_aside", lambda *_: pytest.fail("set aside"))
        around = claimed(case, MPI.COMM_SELF, resumed=False, overwrite=True)
        with pytest.raises(tr.IoError, match="is writing it"), around:
            pass


def test_a_writer_that_ends_while_its_locks_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its journal is there when results are looked for, and gone when they are set aside."""
    monkeypatch.chdir(tmp_path)
    case = tr.load_case(cases.write_case(tmp_path, outputs=("hdf5",)))
    with tr.open("out.h5", "w", comm=MPI.COMM_SELF) as out:
        out.write_step(0.0, ux=np.zeros((2, 3, 4)))
    journal = Path("out.h5.journal")
    journal.write_bytes(bytes(512))
    monkeypatch.setattr("tailrace.simulation.existing_results.check_unlocked", lambda _: journal.unlink())
    with claimed(case, MPI.COMM_SELF, resumed=False, overwrite=True) as have_begun:
        assert not Path("out.h5").exists()
        have_begun()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def test_a_journal_goes_with_its_file_and_comes_back_with_it(again: Path):
    """Of a run that was killed: without it, its file could not be brought back to its last step."""
    (again.parent / "out.h5.journal").write_bytes(bytes(512))
    (again.parent / "mean.py").write_text("def analyse(step):\n    raise OSError('no')\n")
    before = sums(again.parent)
    assert "no" in cases.message(cases.run(again, "--overwrite"))
    assert sums(again.parent) == before


def test_what_no_step_has_is_no_result(tmp_path: Path):
    case = make(tmp_path)
    with tr.open(tmp_path / "out.h5", "w"):
        pass
    (tmp_path / "time_series.csv").write_text("# Tailrace time series\nstep,time\n")
    assert cases.run(case, overwrite=False).code == 0


def test_what_describes_a_series_comes_back_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    case = tr.load_case(cases.write_case(tmp_path, outputs=("hdf5",)))
    paths = [tmp_path / name for name in ("out.h5", "out.h5.xdmf2")]
    for path in paths:
        path.with_name(f"{path.name}.earlier").write_text("old")
    told = {"tailrace": "earlier results", "state": "aside", "paths": [str(path) for path in paths]}
    record_of("time_series.csv").write_text(json.dumps(told))
    assert settle(case)
    assert [path.read_text() for path in paths] == ["old", "old"]


def test_a_record_lists_no_places_elsewhere(tmp_path: Path):
    """A record is no order to rename or remove other people's files."""
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "precious.earlier").write_text("mine, too")
    record = tmp_path / "run" / "time_series.csv.earlier.json"
    record.parent.mkdir()
    for path in (tmp_path / "precious", record.parent / ".." / "precious"):
        for state in ("aside", "remove"):
            record.write_text(f'{{"tailrace": "earlier results", "state": "{state}", "paths": ["{path}"]}}')
            with pytest.raises(tr.IoError, match="is damaged"):
                SetAside(record, [record.parent])
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "precious.earlier").read_text() == "mine, too"


def test_a_name_that_is_taken(again: Path):
    (again.parent / "out.h5.earlier").write_text("mine")
    before = sums(again.parent)
    assert "out.h5.earlier is there already" in cases.message(cases.run(again, "--overwrite"))
    assert sums(again.parent) == before


# ---- tailrace analyse ------------------------------------------------------------------------------------------------
def analyse(folder: Path, *arguments: object, ranks: int = 1) -> mpi_run.Result:
    return mpi_run.tailrace("analyse", "mean.py", "out.h5", *arguments, cwd=folder, ranks=ranks, limit=120)


def test_analyse_never_replaces_what_the_run_made(again: Path):
    before = sums(again.parent)
    for more in ((), ("--overwrite",), ("--resume",)):
        told = cases.message(analyse(again.parent, *more, ranks=2))
        assert "analysis/mean.csv" in told
        assert "the run itself made these results" in told
    assert sums(again.parent) == before


def test_analyse_replaces_its_own_results_only_when_told(again: Path):
    folder = again.parent
    assert analyse(folder, "-o", "after", ranks=2).code == 0
    before = sums(folder)
    told = cases.message(analyse(folder, "-o", "after", ranks=2))
    assert "--overwrite" in told
    assert "-o DIR" in told
    assert sums(folder) == before
    assert analyse(folder, "-o", "after", "--overwrite", "--steps=:2", ranks=2).code == 0
    assert list(read_time_series(folder / "after" / "mean.csv")["step"]) == [0, 2]
    assert len(list((folder / "after").glob("*.png"))) == 2
    assert read_provenance(folder / "after" / "mean.csv")["source"] == "out.h5"


def test_a_failing_analysis_puts_results_back(again: Path):
    folder = again.parent
    assert analyse(folder, "-o", "after").code == 0
    (folder / "mean.py").write_text("def analyse(step):\n    raise OSError('no')\n")
    before = sums(folder)
    assert analyse(folder, "-o", "after", "--overwrite", ranks=2).code == 1
    assert sums(folder) == before


def test_a_result_that_goes_away_while_it_is_set_aside(tmp_path):
    """As the journal of a run that is just ending: the others are back in their places."""
    there, gone = tmp_path / "time_series.csv", tmp_path / "out.h5.journal"
    there.write_text("mine")
    with SetAside(record_of(there), [there, tmp_path / "out.h5"]) as earlier:
        with pytest.raises(tr.IoError, match="went away while earlier results were being set aside"):
            earlier.set_aside([there, gone])
        assert there.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == ["time_series.csv"]
