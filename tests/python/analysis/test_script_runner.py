"""How a script is run: when its methods are called, its state, and what its ranks must agree on."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis import calls
from tailrace.analysis.calls import call_together, wait_for_others
from tailrace.analysis.errors import AnalysisError, failure
from tailrace.analysis.script import load
from tailrace.analysis.script_results import ScriptResults
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.steps.step import Step

START = """
class Counting:
    def __init__(self, first=0):
        self.count, self.started = first, []

    def start(self, step):
        self.started.append(step.index)

    def step(self, step):
        self.count += 1
        return {"count": self.count, "started": len(self.started), "f": step["ux"]}
"""
FINISH = """
    def finish(self):
        return {"last": self.count, "started": len(self.started)}
"""
SAVE = """
    def save(self):
        return {"count": self.count}
"""
LOAD = """
    def load(self, state):
        self.count = state["count"]

    def merge(self, other):
        self.count += other.count
"""


@pytest.fixture
def runner(tmp_path: Path) -> Any:
    """Runs a script of this text."""

    def make(text: str) -> ScriptRunner:
        path = tmp_path / "script.py"
        path.write_text(text)
        return ScriptRunner(load(str(path)), MPI.COMM_SELF)

    return make


def step(index: int) -> Step:
    ops = tr.Operators((8, 9, 10), (1.0, 2.0, 3.0), ("periodic",) * 3, comm=MPI.COMM_SELF)
    return Step(index, 0.5 * index, ops, ["ux"], lambda name: ops.empty(), attributes={})


def test_methods_are_called_in_their_order(runner: Any):
    one = runner(START + FINISH + SAVE)
    assert not one.begun and one.finish() == ScriptResults() and one.save() is None and one.last_step is None
    for index in (4, 6):
        found = one.step(step(index))
        assert found.numbers == {"count": index / 2 - 1, "started": 1.0} and list(found.fields) == ["f"]
    assert one.begun and one.last_step == 6
    assert one.finish().numbers == one.finish(step(8)).numbers == {"last": 2.0, "started": 1.0}
    assert one.save() == {"count": 2} and one.seconds > 0


def test_a_script_may_have_a_step_only(runner: Any):
    one = runner("class Bare:\n    def step(self, step): return step.time\n    def start_later(self): pass\n")
    assert one.step(step(4)).numbers == {"script": 2.0}
    assert one.finish() == ScriptResults() and one.save() is None and one.begun
    function = runner("def analyse(step): return step.time")
    assert function.step(step(4)).numbers == {"script": 2.0} and function.finish() == ScriptResults()


def test_a_state_waits_for_the_first_step(runner: Any):
    one = runner(START + FINISH + SAVE + LOAD)
    one.restore({"count": 7})
    assert one.begun and one.save() == {"count": 7}, "a checkpoint before the first step keeps the state"
    assert one.step(step(4)).numbers == {"count": 8.0, "started": 1.0}
    assert one.save() == {"count": 8}


def test_a_state_may_have_its_last_word_without_a_step(runner: Any):
    one = runner(START + FINISH + SAVE + LOAD)
    one.restore({"count": 7})
    assert one.finish(step(4)).numbers == {"last": 7.0, "started": 1.0}


def test_a_state_cannot_be_loaded_without_a_method(runner: Any):
    one = runner(START + SAVE)
    one.restore({"count": 7})
    with pytest.raises(AnalysisError, match="analysis 'script' has `save` but no `load`; it needs both to go on"):
        one.step(step(4))


def test_states_are_merged(runner: Any):
    one = runner(START + FINISH + SAVE + LOAD)
    one.step(step(4))
    one.merge({"count": 7})
    assert one.finish().numbers["last"] == 8.0
    with pytest.raises(AnalysisError, match=r"failed when parts were merged: .*script\.py, line \d+, in load: KeyErr"):
        one.merge({})


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (
            SAVE.replace("{", "[").replace("}", "]").replace(":", ",", 2).replace(",", ":", 1),
            "when its state was saved",
        ),
        (FINISH.replace("self.count", "1 / 0"), "failed at its end: .*ZeroDivisionError"),
        (FINISH.replace("self.count", "'x'"), "failed at its end: .*'last' is of type str"),
    ],
)
def test_what_fails_is_told_with_its_moment(runner: Any, methods: str, said: str):
    one = runner(START + methods)
    one.step(step(4))
    with pytest.raises(AnalysisError, match=said):
        one.save()
        one.finish()


def test_fields_are_on_the_points_of_the_step(runner: Any):
    other = "tr.Field.from_function(tr.Operators((9, 9, 9), (1, 1, 1), ['periodic'] * 3), 1.0)"
    text = f"import tailrace as tr\nclass A:\n    def step(self, step): pass\n    def finish(self): return {other}"
    one = runner(text)
    one.restore({})
    assert list(one.finish().fields) == ["script"], "no step says what its points are"
    one = runner(text)
    one.step(step(4))
    with pytest.raises(AnalysisError, match="'script' is a field on another grid, or on another decomposition"):
        one.finish()


def test_its_communicator_is_given_back_once(runner: Any):
    one = runner("def analyse(step): pass")
    one.close()
    assert one._comm == MPI.COMM_NULL
    one.close()


# ---- what ranks agree on ---------------------------------------------------------------------------------------------
class Pair:
    """A communicator of two ranks, of which the other one has this to say."""

    size = 2

    def __init__(self, rank: int = 0, theirs: Any = None, failed: bool = False, names: tuple[str, ...] = ()) -> None:
        self.rank, self._theirs, self._failed, self._names = rank, theirs, failed, names

    def Iallreduce(self, found: Any, worst: Any, op: Any) -> Any:  # noqa: N802 # the name in mpi4py
        number = calls.zlib.crc32("\n".join(self._names).encode())
        other = [self._failed, number, -number]

        def arrive() -> bool:
            worst[...] = np.maximum(found, other) if op == MPI.MAX else np.minimum(found, other)
            return True

        worst[...] = 99
        return SimpleNamespace(Test=arrive)

    def allgather(self, ours: Any) -> list[Any]:
        return [ours, self._theirs] if self.rank == 0 else [self._theirs, ours]


def together(comm: Any, work: Any, names: list[str] | None = None) -> Any:
    how = {"label": "analysis 'a'", "path": Path("a.py"), "where": "at step 4"}
    return call_together(comm, work, **how, sign=lambda _: names or [])  # type: ignore[arg-type]


def test_results_of_all_ranks_have_the_same_names():
    same = Pair(names=("a (number)", "b (field)"))
    assert together(same, lambda: 3, ["a (number)", "b (field)"]) == 3
    for rank, ours, theirs, said in (
        (0, ["a (number)"], ["b (number)"], "rank 0 a (number); rank 1 b (number)"),
        (0, ["a", "b"], ["b", "a"], "rank 0 a, b; rank 1 b, a"),
        (1, ["a"], [], "rank 0 nothing; rank 1 a"),
        (0, ["a"], [], "rank 0 a; rank 1 nothing"),
    ):
        with pytest.raises(AnalysisError) as caught:
            together(Pair(rank, theirs, names=tuple(theirs)), lambda: 3, ours)
        assert str(caught.value) == (
            f"analysis 'a' failed at step 4: the ranks returned different things: {said}. Every rank must return the "
            "same names in the same order"
        )


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_of_one_rank_is_raised_on_both(rank: int):
    with pytest.raises(AnalysisError, match=r"^their error$"):
        together(Pair(rank, "their error", failed=True), lambda: 3)
    with pytest.raises(AnalysisError, match=r"^analysis 'a' failed at step 4: a\.py: ValueError: ours$") as caught:
        together(Pair(rank), lambda: (_ for _ in ()).throw(ValueError("ours")))
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(AnalysisError, match=r"a\.py: SystemExit: 3$"):
        together(Pair(rank), lambda: sys.exit(3))


def test_others_may_come_later():
    answers = iter([False, False, True])
    wait_for_others(SimpleNamespace(rank=0), SimpleNamespace(Test=lambda: next(answers)), "why")  # type: ignore[arg-type]
    assert next(answers, None) is None


def test_others_that_do_not_come_end_the_program(monkeypatch: pytest.MonkeyPatch):
    """What is said is written before the program ends."""
    told: list[Any] = []

    class Screen(io.StringIO):
        def flush(self) -> None:
            told.append(self.getvalue())

    def abort(code: int) -> None:
        told.append(code)
        raise SystemExit

    monkeypatch.setattr(calls, "PATIENCE", -1.0)
    monkeypatch.setattr(sys, "stderr", Screen())
    with pytest.raises(SystemExit):
        wait_for_others(
            SimpleNamespace(rank=3, Abort=abort),  # type: ignore[arg-type]
            SimpleNamespace(Test=lambda: False),  # type: ignore[arg-type]
            "analysis 'a' failed",
        )
    assert told[-2:] == [
        "tailrace: analysis 'a' failed\n  only on rank 3; the other ranks did not return from the script within -1 s, "
        "so the program ends\n",
        1,
    ]


# ---- errors ----------------------------------------------------------------------------------------------------------
def raised(text: str, filename: str) -> BaseException:
    try:
        exec(compile(text, filename, "exec"), {})
    except Exception as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "script.py, line 1: ZeroDivisionError: division by zero"),
        ("def f():\n    raise KeyError\nf()", "script.py, line 2, in f: KeyError"),
        ("x = 1\nx.y(", "script.py, line 2: SyntaxError: '(' was never closed"),
        (
            "import json\njson.loads('')",
            "script.py, line 2: JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ),
        ("raise SyntaxError('odd')", "script.py, line 1: SyntaxError: odd"),
    ],
)
def test_an_error_has_the_innermost_line_of_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
):
    """Whether Python knows its file by the same path, or by another one."""
    monkeypatch.chdir(tmp_path)
    for filename in ("script.py", str(tmp_path / "script.py")):
        error = failure("analysis 'a'", Path("script.py"), raised(text, filename), "here")
        known = said.replace("script.py", filename) if "never closed" in said else said
        assert str(error) == f"analysis 'a' failed here: {known}"
    assert failure("analysis 'b'", Path("other.py"), error, "there") is error
    elsewhere = failure("analysis 'b'", Path("other.py"), raised("1 / 0", "script.py"), "there")
    assert str(elsewhere) == "analysis 'b' failed there: other.py: ZeroDivisionError: division by zero"
