"""Parts of a run without a flow: places of outputs, files that must be there, requests to stop, parts of the case."""

from __future__ import annotations

import functools
import json
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.consumers import output as outputs
from tailrace.consumers.table import AveragesTable
from tailrace.flow import checkpointed_model
from tailrace.grids import StretchedGrid, UniformGrid
from tailrace.io.placement import Region
from tailrace.io.time_series import TimeSeriesError
from tailrace.simulation import recorder, write_checks
from tailrace.simulation.stop import STOPPED, Stopped, StopRequest

GRID = UniformGrid((8, 9, 10), (1.0, 2.0, 3.0), (0.5, 0.25, 0.125), boundaries=("periodic", "free-slip", "periodic"))


@pytest.mark.parametrize(
    ("given", "region", "closing"),
    [
        (True, None, "xz"),
        (True, Region((0, 0, 0), (8, 1, 5), (1, 1, 2)), "xz"),
        (True, Region((0, 0, 0), (7, 9, 10)), "z"),
        (True, Region((0, 0, 0), (4, 9, 9), (2, 1, 1)), "x"),
        (True, Region((1, 0, 1), (8, 9, 10)), ""),
        (False, None, False),
        ("x", None, "x"),
    ],
)
def test_directions_that_are_stored_as_a_whole_are_closed(given, region, closing):
    found = outputs._with_closing({"closing": given, "level": 3}, GRID, region)
    assert found == {"closing": closing, "level": 3}


def test_a_box_that_is_periodic_everywhere_is_closed_everywhere():
    grid = UniformGrid((8, 9, 10), (0.0,) * 3, (0.5,) * 3, boundaries=("periodic",) * 3)
    assert outputs._with_closing({"closing": True}, grid, None) == {"closing": "xyz"}
    assert outputs._with_closing({"closing": True}, grid, Region((0, 1, 0), (8, 8, 10))) == {"closing": "xz"}


def test_the_grid_of_a_region():
    found = outputs._grid_of(GRID, Region((2, 0, 1), (3, 9, 4), (2, 1, 2)))
    assert type(found) is UniformGrid
    assert (found.points, found.origin, found.spacing) == ((3, 9, 4), (2.0, 2.0, 3.125), (1.0, 0.25, 0.25))
    y = tuple(float(at**2) for at in range(9))
    stretched = StretchedGrid((8, 9, 10), (1.0, 2.0, 3.0), (0.5, 0.25, 0.125), ((), y, ()))
    found = outputs._grid_of(stretched, Region((0, 1, 0), (8, 4, 10), (1, 2, 1)))
    assert isinstance(found, StretchedGrid)
    assert found.uneven == ((), (1.0, 9.0, 25.0, 49.0), ())
    found = outputs._grid_of(stretched, Region((0, 2, 0), (8, 3, 10)))
    assert isinstance(found, StretchedGrid)
    assert found.uneven == ((), (4.0, 9.0, 16.0), ())


def test_a_directory_that_cannot_be_made_names_its_output(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        tr.IoError, match=rf"output 'a': cannot make the directory {tmp_path}/file/deep: Not a directory"
    ):
        outputs._make_directory(tmp_path / "file" / "deep", "a")
    outputs._make_directory(tmp_path / "deep" / "deeper", "a")
    outputs._make_directory(tmp_path / "deep" / "deeper", "a")
    assert (tmp_path / "deep" / "deeper").is_dir()


# ---- files that must be there ----------------------------------------------------------------------------------------


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = '[[output]]\nname = "s"\nfields = ["ux"]\nevery = 1\nengine = "sst"\npath = "s"\n'
    return tr.load_case(cases.write_case(tmp_path, outputs=("hdf5", "raw"), extra=block))


def checkpoint(files: Any) -> Any:
    return SimpleNamespace(path="checkpoints/step-00000004", about={"files": files} if files is not None else {})


def test_files_that_a_run_goes_on_writing(case, tmp_path):
    assert write_checks.files_there(case, MPI.COMM_SELF) == {"files": "[]"}
    (tmp_path / "time_series.csv").touch()
    (tmp_path / "out.h5").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "s").touch()
    assert json.loads(write_checks.files_there(case, MPI.COMM_SELF)["files"]) == ["time_series.csv", "out.h5"]
    (tmp_path / "out" / "series.jsonl").touch()
    assert json.loads(write_checks.files_there(case, MPI.COMM_SELF)["files"]) == ["time_series.csv", "out.h5", "out"]


def test_missing_ones_are_named_with_their_keys(case, tmp_path):
    (tmp_path / "time_series.csv").touch()
    (tmp_path / "out").mkdir()
    write_checks.check_files_there(case, checkpoint(None), MPI.COMM_SELF)
    write_checks.check_files_there(case, checkpoint('["time_series.csv", "of an earlier case.h5"]'), MPI.COMM_SELF)
    with pytest.raises(tr.IoError) as error:
        write_checks.check_files_there(case, checkpoint('["time_series.csv", "out.h5", "out"]'), MPI.COMM_SELF)
    assert str(error.value) == (
        "checkpoint checkpoints/step-00000004: the run wrote files that are not there any more: out.h5 (path of output "
        "'hdf5'), out (path of output 'raw'). To fix this, put them back; or name another path in the case, where what "
        "is to come will be written"
    )
    (tmp_path / "out.h5").touch()
    (tmp_path / "out" / "series.jsonl").touch()
    write_checks.check_files_there(case, checkpoint('["time_series.csv", "out.h5", "out"]'), MPI.COMM_SELF)


@pytest.mark.parametrize("files", ["{", "[" * 100_000, 3])
def test_a_damaged_list_is_named(case, files):
    with pytest.raises(tr.IoError, match="checkpoints/step-00000004: its attribute 'files' is damaged: "):
        write_checks.check_files_there(case, checkpoint(files), MPI.COMM_SELF)


@pytest.mark.parametrize(
    ("there", "engine", "said"),
    [("hdf5", "hdf5", ""), ("bp4", "bp5", ""), ("bp5", "bp4", ""), ("", "raw", ""), ("hdf5", "bp5", "the engine hdf5"),
     ("raw", "sion", "the engine raw"), ("adios_hdf5", "hdf5", "the engine adios_hdf5")],
)  # fmt: skip
def test_engines_that_may_replace_each_other(monkeypatch, there, engine, said):
    monkeypatch.setattr(write_checks, "engine_at", lambda _: there)
    found = write_checks._why_not_of(engine, "out")
    assert found == (f"out holds a series of {said}; choose {said}, or another path, or remove it" if said else "")


# ---- requests to stop ------------------------------------------------------------------------------------------------


def test_a_second_interrupt_ends_at_once():
    with StopRequest() as request:
        assert not request.agreed(MPI.COMM_SELF)
        signal.raise_signal(signal.SIGINT)
        assert request.agreed(MPI.COMM_SELF)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_that_was_stopped_has_the_code_of_a_signal():
    assert STOPPED == 143
    assert Stopped().code == 143


# ---- the case and the time series ------------------------------------------------------------------------------------


def flow(x, y, z):
    return 0.0, 0.0, 0.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, ""),
        (flow, f"# flow: flow of {__file__}, given in Python\n"),
        (functools.partial(flow, 1.0), f"# flow: flow of {__file__}, given in Python\n"),
        (np.zeros(3), "# flow: ndarray, given in Python\n"),
        ((1.0, 0.0), "# flow: tuple, given in Python\n"),
    ],
)
def test_what_was_given_in_python_is_told(value, said):
    assert checkpointed_model._given("flow", value) == said


@pytest.fixture
def model(case):
    return tr.Simulation(case, MPI.COMM_SELF)


def test_the_time_series_of_a_run(model, tmp_path):
    with AveragesTable(model, None, {"made_by": "run"}) as rows:
        rows.append({**model.measure(), "dt": 0.01})
        rows.flush()
        with pytest.raises(tr.IoError, match="is writing it"):
            AveragesTable(model, None, {})
    lines = (tmp_path / "time_series.csv").read_text().splitlines()
    assert lines[1] == "# test: Re = 100, 16 x 11 x 13 nodes, rk3"
    assert "# made_by: run" in lines
    assert lines[-1].startswith("0,0,0.01")
    with (
        pytest.raises(TimeSeriesError, match="a row needs the columns of the file"),
        AveragesTable(model, 0, {}) as rows,
    ):
        rows.append({"step": 1})
    assert (tmp_path / "time_series.csv").read_text().splitlines() == lines


def test_errors_of_the_system_name_the_time_series(model, tmp_path):
    (tmp_path / "time_series.csv").mkdir()
    with pytest.raises((tr.IoError, TimeSeriesError), match=r"time_series\.csv"):
        AveragesTable(model, None, {})
    (tmp_path / "time_series.csv").rmdir()
    rows = AveragesTable(model, None, {})
    (tmp_path / "time_series.csv").unlink()
    for use in (rows.flush, lambda: rows.append({**model.measure(), "dt": 0.01})):
        with pytest.raises(tr.IoError, match=r"^cannot write time_series\.csv: the file was removed by somebody else"):
            use()
    rows.__exit__(None)


def test_a_table_that_cannot_be_made_is_named(case, tmp_path):
    (tmp_path / "file").touch()
    case = tr.load_case(tmp_path / "case.toml", ['diagnostics.path="file/deep/series.csv"'])
    with pytest.raises(tr.IoError, match=r"^cannot write file/deep/series\.csv: (Not a directory|File exists)"):
        AveragesTable(tr.Model(case, MPI.COMM_SELF), None, {})
    case = tr.load_case(tmp_path / "case.toml")
    with AveragesTable(tr.Model(case, MPI.COMM_SELF), None, {}):
        with pytest.raises(tr.IoError, match="is writing it") as error:
            AveragesTable(tr.Model(case, MPI.COMM_SELF), None, {})
        assert str(error.value).count("cannot write") == 1


@pytest.mark.parametrize(
    ("every", "steps", "end", "noted"),
    [
        (10, 25, None, [0, 7, 8, 9, 10, 17, 18, 19, 20, 22, 23, 24, 25]),
        (100, None, 2.55, [0, 22, 23, 24, 25]),
        (100, None, None, [0]),
        (3, 99, None, list(range(26))),
    ],
)
def test_the_energy_is_noted_in_the_steps_before_a_row(every, steps, end, noted):
    """The rate of change in a row goes through the energies of four steps."""
    found: list[int] = []
    model = SimpleNamespace(
        case=SimpleNamespace(diagnostics=SimpleNamespace(every=every), time=SimpleNamespace(steps=steps, end=end)),
        energy=SimpleNamespace(note=lambda step, time: found.append(step)), dt=0.1,
    )  # fmt: skip
    for model.step in range(26):
        model.time = 0.1 * model.step + 1e-9
        AveragesTable.prepare(SimpleNamespace(_model=model))  # type: ignore[arg-type]
    assert found == noted


def test_a_disk_that_is_full_is_told_once(model):
    def full() -> None:
        raise OSError(28, "No space left on device")

    rows = AveragesTable(model, None, {})
    series, rows._rows = rows._rows, SimpleNamespace(close=full)  # type: ignore[assignment]
    assert series is not None
    rows.__exit__(OSError, OSError("no space"), None)  # it is on its way already
    with pytest.raises(OSError, match="No space"):
        rows.__exit__(None)
    series.close()


@pytest.mark.parametrize("hint", ["note: a rank waited", ""])
def test_a_hint_about_processors_is_the_last_line(model, monkeypatch, capsys, hint):
    monkeypatch.setattr(recorder, "busy_processors", lambda *_: hint)
    assert model.run() == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert (last == hint) == bool(hint) and last
