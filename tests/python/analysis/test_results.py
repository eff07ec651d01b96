"""Results of scripts, in corners: what is replaced, given back or closed, and by which word a script is found."""

from __future__ import annotations

import os
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from tailrace.analysis import state
from tailrace.analysis.earlier_results import EarlierResults
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.ownership import Claim
from tailrace.analysis.pictures import is_ours, maker, pictures
from tailrace.analysis.results import ResultSink, _plan_of, last_result
from tailrace.analysis.script import load
from tailrace.analysis.script_results import ScriptResults, sort
from tailrace.core import FileLock, InputError, IoError
from tailrace.io import series
from tailrace.io.time_series import read_time_series
from tailrace.replay.analyse import load_scripts

SELF = MPI.COMM_SELF


@pytest.fixture
def sink(tmp_path: Path) -> Any:
    """Makes sinks, and closes them."""
    made: list[ResultSink] = []
    ops = tr.Operators((8, 9, 10), (1.0, 2.0, 3.0), ("periodic",) * 3, comm=SELF)

    def make(directory: Path = tmp_path, resume_step: int | None = None) -> ResultSink:
        how = {"engine": "hdf5", "attributes": {}, "provenance": {"made_by": "analyse"}, "resume_step": resume_step}
        made.append(ResultSink(directory, "mean", SELF, ops, **how))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()


def numbers(value: float) -> ScriptResults:
    return sort({"a": value, "list": np.arange(3) * value}, "mean")


def test_results_begin_anew_where_there_are_others(sink: Any):
    """Also those of later steps."""
    for steps in ((1, 2, 3), (2,)):
        out = sink()
        for step in steps:
            out.write(step, 0.5 * step, numbers(10.0 * step))
        out.close()
        with series.open(out.path) as stored:
            assert [(one.index, one.scalars) for one in stored] == [(step, {"a": 10.0 * step}) for step in steps]
        assert read_time_series(out.table)["step"].tolist() == list(steps)


def test_results_go_into_a_folder_that_is_not_there(sink: Any, tmp_path: Path):
    out = sink(tmp_path / "a" / "b")
    out.write(1, 0.5, numbers(1.0))
    out.close()
    assert (tmp_path / "a" / "b" / "mean.csv").exists()


def test_a_claim_goes_with_the_first_step_after_an_interruption(sink: Any, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise IoError("the disk is full")

    out = sink()
    found = sort({"list": np.arange(3)}, "mean")
    with monkeypatch.context() as patched:
        patched.setattr(series.ArraySeries, "end_step", full)
        with pytest.raises(IoError, match="the disk is full"):
            out.write(0, 0.0, found)
    out._series.__exit__(IoError, None, None)
    out._series = None
    out.close()
    assert Claim(out.table, "mean").is_left()
    again = sink(resume_step=0)
    assert again.table.exists()
    again.write(4, 0.5, found)
    again.close()
    assert not again.table.exists() and last_result(again.table.parent, "mean", "hdf5", SELF) == 4


def test_only_a_head_alone_is_a_claim(tmp_path: Path):
    table = tmp_path / "mean.csv"
    claim = Claim(table, "mean")
    assert not claim.is_left()
    claim.make()
    assert claim.is_left()
    text = table.read_text()
    for more in ("step,time,a\n", "\n"):
        table.write_text(text + more)
        assert not claim.is_left()
        claim.drop()
        assert table.exists(), "it has columns by now"
    table.write_text(text)
    claim.make()
    claim.drop()
    claim.drop()
    assert not table.exists()


def test_all_of_it_is_on_the_disk_after_a_flush(sink: Any, monkeypatch: pytest.MonkeyPatch):
    synced = recorded_calls.in_python(monkeypatch, "fsync")
    flushed: list[str] = []
    monkeypatch.setattr(series.ArraySeries, "flush", lambda self: flushed.append(self.path))
    out = sink()
    out.flush()
    out.write(1, 0.5, numbers(1.0))
    assert not flushed
    synced.clear()
    out.flush()
    assert synced == [("fsync", out.table)] and flushed == [str(out.path)]
    out.table.rename(out.table.with_suffix(".old"))
    with pytest.raises(IoError, match=r"cannot write .*mean\.csv: "):
        out.flush()


def test_the_name_is_given_back_at_once_where_a_sink_cannot_begin(sink: Any, tmp_path: Path):
    """Also while its error is still looked at."""
    (tmp_path / "mean.csv").write_text("mine")
    with pytest.raises(InputError) as caught:
        sink()
    FileLock(str(tmp_path / "mean.results")).release()
    assert "mean.csv is there already" in str(caught.value)


def test_figures_of_pyplot_are_closed(sink: Any):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    before = pyplot.get_fignums()
    out = sink()
    out.write(1, 0.5, sort({"line": pyplot.figure(), "dots": pyplot.figure()}, "mean"))
    assert pyplot.get_fignums() == before and out.pictures == 2
    assert {is_ours(path, "analysis mean") for path, _ in pictures(out.table.parent, "mean")} == {True}
    figure = pyplot.figure()
    out.write(1, 0.5, ScriptResults(figures={"step-1": figure}))  # which no picture can be called
    assert pyplot.get_fignums() == before


def test_pictures_that_somebody_has_removed_meanwhile(sink: Any, tmp_path: Path):
    def saved(path: Path, metadata: object) -> None:
        path.write_bytes(b"drawn")

    def fail(path: Path, metadata: object) -> None:
        (tmp_path / "mean-one-000001.png").unlink()
        raise ValueError("no TeX")

    figures = {"one": SimpleNamespace(savefig=saved), "two": SimpleNamespace(savefig=fail)}
    with pytest.raises(AnalysisError, match="the figure 'two' cannot be drawn: ValueError: no TeX"):
        sink().write(1, 0.5, ScriptResults(figures=figures))


def test_what_is_no_picture_of_ours(tmp_path: Path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "other.png").write_bytes(b"Source\0Tailrace analysis other Comment\0made by run\0")
    assert not is_ours(tmp_path / "folder.png", "analysis mean") and not is_ours(tmp_path / "no.png", "analysis mean")
    assert not is_ours(tmp_path / "other.png", "analysis mean") and is_ours(tmp_path / "other.png", "analysis other")
    assert maker(tmp_path / "other.png") == "run"
    (tmp_path / "other.png").write_bytes(b"Source\0Tailrace analysis other")
    assert maker(tmp_path / "other.png") == ""


@pytest.mark.parametrize(
    ("given", "stored"),
    [("f4", "f4"), ("f8", "f8"), ("i4", "i4"), ("i2", "f8"), ("u1", "f8"), ("?", "f8"), ("f2", "f8")],
)
def test_types_of_arrays_that_every_engine_stores(given: str, stored: str):
    values = np.ones(3, given)
    found = sort({"a": values}, "mean").arrays["a"]
    assert found.dtype == np.dtype(stored) and (found == 1).all()


def test_a_plan_is_the_same_for_all_ranks():
    plan = _plan_of(numbers(2.0))
    with pytest.raises(FrozenInstanceError):
        plan.pictures = 3  # type: ignore[misc]
    assert plan.has_step and not _plan_of(ScriptResults(figures={"line": None})).has_step
    assert [_plan_of(sort({"a": one}, "mean")).has_step for one in (1.0, np.ones(3))] == [True, True]


def test_only_one_rank_stores_the_arrays_of_a_state():
    operators: Any = SimpleNamespace(comm=SimpleNamespace(rank=1))
    packed = state.pack("one", 4, {"a": np.arange(3.0), "b": np.arange(5, dtype="u1")}, operators)
    assert [len(values) for values in packed.lists.values()] == [0, 0]
    operators.comm.rank = 0
    packed = state.pack("one", 4, {"a": np.arange(3.0), "b": np.arange(5, dtype="u1")}, operators)
    assert [len(values) for values in packed.lists.values()] == [3, 2]


# ---- earlier results -------------------------------------------------------------------------------------------------
def earlier(place: Path, **how: bool) -> EarlierResults:
    return EarlierResults(
        SELF, place, ["mean"], "hdf5", **({"resume": False, "overwrite": True, "beside": False} | how)
    )


def test_results_that_a_program_writes_are_left_alone(sink: Any, tmp_path: Path):
    """One that writes them all, or one that writes their series only."""
    out = sink()
    out.write(1, 0.5, numbers(1.0))
    with pytest.raises(IoError, match=r"mean\.results"):
        earlier(tmp_path)
    out.close()
    lock = FileLock(str(tmp_path / "mean.h5"))
    with pytest.raises(IoError, match=r"mean\.h5"):
        earlier(tmp_path)
    assert {"mean.csv", "mean.h5"} <= {path.name for path in tmp_path.iterdir()}
    lock.release()
    found = earlier(tmp_path)
    assert not (tmp_path / "mean.csv").exists()
    found.close()
    assert (tmp_path / "mean.csv").exists()


def test_there_may_be_no_folder_yet(tmp_path: Path):
    earlier(tmp_path / "none").close()
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_set_aside_as_a_whole_stays(sink: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = sink()
    out.write(1, 0.5, numbers(1.0))
    out.close()
    rename = os.rename

    def refuse(path: Any, wanted: Any, *more: Any, **how: Any) -> None:
        if Path(path).name == "mean.h5":
            raise PermissionError(13, "Permission denied", str(path))
        rename(path, wanted, *more, **how)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        with pytest.raises(IoError, match="Permission denied") as caught:
            earlier(tmp_path)
    assert {"mean.csv", "mean.h5"} <= {path.name for path in tmp_path.iterdir()}
    assert caught.value is not None


# ---- scripts ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes scripts; what they change of Python is changed back."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("MPLBACKEND", raising=False)

    def put(text: str, name: str = "script.py") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return put


def test_a_script_finds_its_neighbours_first(write: Any, tmp_path: Path):
    write("value = 3\n", "neighbour_of_script.py")
    word = write("import neighbour_of_script\ndef analyse(step): return neighbour_of_script.value\n")
    for _ in range(2):
        assert load(word).make().step(None) == 3
    assert sys.path[0] == str(tmp_path) and sys.path.count(str(tmp_path)) == 1
    del sys.modules["neighbour_of_script"]


def test_a_place_stays_the_same_when_the_program_goes_elsewhere(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As "." every directory that the program goes to would be searched for modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write("def analyse(step): pass\n")
    load("script.py")
    assert sys.path[0] == str(tmp_path) and "." not in sys.path


def test_figures_need_no_display(write: Any, monkeypatch: pytest.MonkeyPatch):
    word = write("def analyse(step): pass")
    load(word)
    assert os.environ["MPLBACKEND"] == "Agg"
    monkeypatch.setenv("MPLBACKEND", "svg")
    load(word)
    assert os.environ["MPLBACKEND"] == "svg", "the user's own choice"


def test_methods_of_a_script(write: Any):
    one = load(write("class A:\n    merge = 3\n    def step(self, step): pass\n    def finish(self): pass\n"))
    assert {name: one.has(name) for name in ("step", "finish", "save", "merge")} == {
        "step": True, "finish": True, "save": False, "merge": False
    }  # fmt: skip
    assert one.parameters() == {}
    with pytest.raises(InputError, match="analysis 'script' has no parameter 'args'"):
        one.set("args", "1")
    assert not load(write("def analyse(step): pass")).has("step")


def test_parameters_of_a_base_are_those_of_the_class(write: Any):
    base = "class Base:\n    def __init__(self, width=1): self.width = width\n"
    one = load(write(f"{base}class Mean(Base):\n    def step(self, step): return self.width\n"))
    one.set("width", "3")
    assert one.make().step(None) == 3


def test_a_script_may_take_any_parameter(write: Any):
    """And still converts those that it knows."""
    one = load(write("def analyse(step, alpha=1.0, *rest, **more): return alpha, more"))
    for name, value in (("alpha", "2"), ("x", "3"), ("y", "word")):
        one.set(name, value)
    one.check_complete()
    assert one.values == {"alpha": 2.0, "x": 3, "y": "word"} and isinstance(one.values["alpha"], float)
    assert one.make().step(None) == (2.0, {"x": 3, "y": "word"})
    with pytest.raises(InputError, match="analysis 'script': parameter 'alpha': must be a number"):
        one.set("alpha", "much")


def test_parameters_that_no_script_names_are_those_of_the_first(write: Any):
    first = write("def analyse(step, **more): return more", "first.py")
    second = write("def analyse(step, a=1): return a", "second.py")
    one, other = load_scripts([first, second], ["x=1", "a=2", " first:a = 5 "])
    assert (one.values, other.values) == ({"x": 1, "a": 5}, {"a": 2})
    for value, said in (("=1", "--set =1: must be NAME=VALUE"), ("third:a=1", "no script 'third'; there are first")):
        with pytest.raises(InputError, match=said):
            load_scripts([first, second], [value])


def test_a_parameter_without_a_value_is_told_when_scripts_are_loaded(write: Any):
    with pytest.raises(InputError, match="parameter 'width' has no default and no value; give one"):
        load_scripts([write("def analyse(step, width): pass")], [])
    with pytest.raises(InputError, match="two scripts have the name 'script', which names their results"):
        load_scripts([write("def analyse(step): pass")] * 3, [])
