"""An analysis as a consumer of steps: its results, its state, and what its errors do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.results import ResultSink
from tailrace.analysis.script import load
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.case.case import case_from_document
from tailrace.consumers.analysis import Analysis, open_analyses
from tailrace.consumers.opening import Opening
from tailrace.flow.checkpoint import Packed
from tailrace.io.time_series import read_time_series

DOCUMENT = {
    "case": {"flow": "taylor-green", "reynolds": 100.0},
    "grid": {"points": [8, 8, 8], "lengths": [6.0, 5.0, 4.0], "boundaries": ["periodic"] * 3},
    "time": {"dt": 0.01, "steps": 6},
}
OPS = (8, 9, 10), (1.0, 2.0, 3.0), ("periodic",) * 3
SUMS = """
class Sums:
    def __init__(self, fails=-1, spoilt=False):
        self.fails, self.spoilt, self.steps = fails, spoilt, []
    def step(self, step):
        if step.index == self.fails:
            raise ValueError("out of luck")
        self.steps.append(step.index)
        return {"count": len(self.steps)}
"""
SAVE = """
    def save(self):
        if self.spoilt:
            raise ValueError("nothing to save")
        return {"steps": self.steps}
    def load(self, saved):
        self.steps = saved["steps"]
"""
FINISH = """
    def finish(self):
        return {"total": len(self.steps)} if not self.spoilt else {"total": object()}
"""


def at(index: int) -> Any:
    ops = tr.Operators(*OPS, comm=MPI.COMM_SELF)
    return tr.Step(index, 0.1 * index, ops, ["a"], lambda _: np.ones((10, 9, 8)), attributes={})


def analysis(path, text, say=print, on_error="stop", **more) -> Analysis:
    (path / "sums.py").write_text(SUMS + text)
    script = load("sums.py", path, "sums")
    for name in {"fails", "spoilt"} & set(more):
        script.set(name, more.pop(name))
    sink = ResultSink(
        path / "out", "sums", MPI.COMM_SELF, tr.Operators(*OPS, comm=MPI.COMM_SELF),
        engine="hdf5", attributes={}, provenance={}, resume_step=more.pop("resumed", None),
    )  # fmt: skip
    return Analysis(ScriptRunner(script, MPI.COMM_SELF), sink, on_error, say, **more)


def checkpoint(packed: Packed | None = None) -> Any:
    return SimpleNamespace(path="step-00000004", about={} if packed is None else packed.about)


def table(path, name="sums") -> dict[str, list[float]]:
    return {key: values.tolist() for key, values in read_time_series(path / "out" / f"{name}.csv").items()}


def test_an_analysis_tells_what_it_has_seen(tmp_path):
    one = analysis(tmp_path, SAVE + FINISH)
    assert (one.name, one.phase) == ("sums", "analysis sums")
    assert one.progress() == {"analysis": "sums", "step": -1}
    assert one.state() is not None and '"step": null' in one.state().about["analysis/sums"]
    one.take(at(0))
    one.take(at(3))
    assert one.progress() == {"analysis": "sums", "step": 3}
    one.finish(at(3))
    assert table(tmp_path) == {"step": [0, 3], "time": [0.0, pytest.approx(0.3)], "count": [1, 2]}
    assert table(tmp_path, "sums-final")["total"] == [2]
    one.close()
    one.close()
    again = analysis(tmp_path, SAVE + FINISH, resumed=3, done=3)
    assert again.progress() == {"analysis": "sums", "step": 3}
    assert [again.wants(index, 0.0) for index in (0, 3, 4)] == [False, False, True]
    again.close()


def test_a_state_goes_along_and_comes_back(tmp_path, capsys):
    first = analysis(tmp_path, SAVE + FINISH)
    first.take(at(4))
    packed = first.state()
    first.close()
    second = analysis(tmp_path, SAVE + FINISH, resumed=4)
    second.resume(checkpoint(packed))
    assert (second.done, second.progress()["step"]) == (4, 4)
    assert second.state().about == packed.about, "it has had no step since"
    second.take(at(5))
    assert second.progress()["step"] == 5
    second.finish(at(5))
    second.close()
    assert table(tmp_path, "sums-final")["total"] == [2]
    assert capsys.readouterr().out == "", "all is well"


@pytest.mark.parametrize(
    ("text", "begun", "said"),
    [
        (SAVE, False, "note: step-00000004 has no state of analysis 'sums', which starts without one"),
        (FINISH, True, "note: analysis 'sums' has no `save`: it starts without what it saw up to step 4, and `finish` "
                       "is called only if it sees another step"),
        (FINISH, False, None),
        ("", True, None),
        ("", False, None),
    ],
)  # fmt: skip
def test_a_script_that_starts_without_its_state_is_noted(tmp_path, text, begun, said):
    first = analysis(tmp_path, text)
    first.take(at(4))
    packed = first.state()
    first.close()
    notes: list[str] = []
    second = analysis(tmp_path, text, notes.append, resumed=4)
    second.resume(checkpoint(packed if begun else None))
    assert notes == ([] if said is None else [said])
    second.finish(at(4))
    assert not (tmp_path / "out" / "sums-final.csv").exists(), "it has seen nothing"
    second.close()


def test_a_script_that_fails_is_switched_off_or_ends_the_run(tmp_path):
    said: list[str] = []
    off = analysis(tmp_path, SAVE + FINISH, said.append, "off", fails=2)
    off.take(at(0))
    assert off.wants(2, 0.2) and off.state_is_whole
    off.take(at(2))
    assert len(said) == 1 and "out of luck" in said[0]
    assert said[0].endswith("\n  it is switched off (on_error = off); everything else continues")
    assert not off.wants(3, 0.3) and off.state() is None and not off.state_is_whole
    assert off.progress() == {"analysis": "sums", "step": 0, "switched off": str(off.failed)}
    off.finish(at(3))
    off.close()
    assert table(tmp_path)["step"] == [0] and not (tmp_path / "out" / "sums-final.csv").exists()
    without = analysis(tmp_path, "", said.append, "off", fails=0)
    without.take(at(0))
    assert without.failed is not None and without.state_is_whole, "it has none"
    without.close()
    stop = analysis(tmp_path, SAVE, fails=0)
    with pytest.raises(AnalysisError, match=r"analysis 'sums' failed at step 0, t = 0: .*out of luck"):
        stop.take(at(0))
    stop.close()


@pytest.mark.parametrize("on_error", ["off", "stop"])
def test_a_state_or_an_end_that_fails_counts_as_an_error_of_the_script(tmp_path, on_error):
    said: list[str] = []
    ended = pytest.raises(AnalysisError) if on_error == "stop" else None
    for text, use in ((SAVE, lambda one: one.state()), (FINISH, lambda one: one.finish(at(1)))):
        one = analysis(tmp_path, text, said.append, on_error, spoilt=True)
        one.take(at(0))
        if ended is not None:
            with pytest.raises(AnalysisError, match=r"nothing to save|'total' is of type object"):
                use(one)
        else:
            assert use(one) is None
        assert one.failed is not None
        one.close()
    assert len(said) == (2 if on_error == "off" else 0)


def test_a_result_at_the_end_that_cannot_be_stored_is_that_of_its_block(tmp_path, monkeypatch):
    """The files of the final results are closed, and another run may write them."""
    one = analysis(tmp_path, FINISH)
    one.take(at(0))
    results = one.finished(at(0))
    with pytest.raises(AnalysisError, match=r"analysis 'sums' failed at its end: .*sums\.py: what it returned"):
        monkeypatch.setattr(ResultSink, "_check_columns", lambda *_: (_ for _ in ()).throw(tr.InputError("other")))
        one.write_final(0, 0.0, results)
    monkeypatch.undo()
    assert one.failed is not None
    one.close()
    again = analysis(tmp_path, FINISH)
    again.take(at(0))
    assert again.write_final(0, 0.0, again.finished(at(0))).startswith("sums-final: 1 step with results -> ")
    again.sink.beside("sums-final").close()
    again.close()


@pytest.mark.parametrize(("text", "steps"), [("", [0]), (FINISH, [])])
def test_the_place_of_final_results_is_left_alone_where_there_are_none(tmp_path, text, steps):
    one = analysis(tmp_path, text)
    (tmp_path / "out" / "sums-final.csv").write_text("mine")
    for index in steps:
        one.take(at(index))
    one.finish(at(0))
    one.close()
    assert (tmp_path / "out" / "sums-final.csv").read_text() == "mine"


def test_all_results_are_on_the_disk_at_the_end(tmp_path, monkeypatch):
    one = analysis(tmp_path, FINISH)
    one.take(at(0))
    with monkeypatch.context() as patched:
        calls = recorded_calls.in_python(patched, "fsync")
        one.finish(at(0))
    synced = [path.name for _, path in calls if path.suffix == ".csv" and not path.name.startswith(".")]  # no drafts
    assert synced == ["sums-final.csv", "sums.csv"]
    one.close()


def test_earlier_results_of_an_end_go_when_a_run_goes_on_before_it(tmp_path, monkeypatch):
    """They would stay for ever where the script does not end a second time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.py").write_text(SUMS + FINISH)
    blocks = [{"script": "sums.py", "every": 1, "parameters": {"fails": 9}}]
    case = case_from_document({**DOCUMENT, "analysis": blocks}, source="test", directory=Path())
    model = tr.Simulation(case, MPI.COMM_SELF)
    for resumed, kept in ((None, []), (5, [4]), (3, [])):
        opening = Opening(model, lambda: at(0).operators, resumed, {}, print)
        (one,) = open_analyses(opening)
        final = Path("analysis/sums-final.csv")
        assert (read_time_series(final)["step"].tolist() if final.exists() else []) == kept, resumed
        one.take(at(4))
        one.finish(at(4))
        one.close()
        assert read_time_series(final)["step"].tolist() == [4]
    (tmp_path / "sums.py").write_text(SUMS)
    final.write_text("mine")
    (one,) = open_analyses(Opening(model, lambda: at(0).operators, 3, {}, print))
    one.close()
    assert final.read_text() == "mine", "a script without an end has none"
    with pytest.raises(AttributeError, match="cannot assign"):
        opening.resumed = 4  # type: ignore[misc]
