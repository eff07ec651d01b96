"""A session of a simulation on one rank: what it opens, tells, keeps and leaves, from its first state to its end."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import recorded_calls
from tailrace.analysis.errors import AnalysisError
from tailrace.consumers.publisher import Publisher
from tailrace.consumers.table import AveragesTable
from tailrace.core import InputError, IoError
from tailrace.flow.checkpoint import CheckpointStore, complete
from tailrace.io.time_series import TimeSeries, read_time_series
from tailrace.live_run.board import BoardReader, board_of
from tailrace.live_run.facts import Facts
from tailrace.simulation.recorder import Recorder
from tailrace.simulation.simulation import FlowError
from tailrace.simulation.stop import Stopped

SCRIPT = """
class Seen:
    def __init__(self, fails=-1):
        self.fails, self.steps = fails, []
    def step(self, step):
        if step.index == self.fails:
            raise ValueError("out of luck")
        self.steps.append(step.index)
    def save(self):
        return {"steps": self.steps}
    def load(self, saved):
        self.steps = saved["steps"]
    def finish(self):
        return {"count": len(self.steps), "first": self.steps[0]}
"""
OUTPUT = {"name": "out", "fields": ["ux"], "every": 2, "engine": "hdf5", "path": "out.h5"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.py").write_text(SCRIPT)


def case(*, steps: int = 4, every: int = 0, dt: Any = 0.01, fails: int | None = None, **blocks: Any) -> tr.Case:
    if fails is not None:
        blocks["analysis"] = [{"script": "seen.py", "every": 1, "parameters": {"fails": fails}}]
    return tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (8, 8, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3},
        time={"dt": dt, "steps": steps},
        **{"diagnostics": {"every": 1}, "checkpoint": {"every": every}, **blocks},
    )


def made(*, resume: bool = False, overwrite: bool = False, live: Any = "no", **keys: Any) -> tr.Simulation:
    return tr.Simulation(case(**keys), MPI.COMM_SELF, resume=resume, overwrite=overwrite, live=live)


def checkpoints() -> list[int]:
    return [step for step, _ in complete(Path("checkpoints"))][::-1]


def rows() -> list[int]:
    return [int(step) for step in read_time_series("time_series.csv")["step"]]


def facts() -> Facts:
    found = BoardReader(board_of(Path("time_series.csv"))).facts()
    assert found is not None
    return found


def test_a_run_tells_what_it_does_and_one_by_hand_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    simulation = made(output=[OUTPUT])
    assert simulation.run() == 0
    said = capsys.readouterr().out
    assert said.startswith("<Simulation run: 8 x 8 x 8 nodes, Re 100, 1 rank(s) as 1 x 1, step 0, t = 0>\n")
    assert "\nstep 4/4 (100%)" in said and "energy 0.12" in said and "CFL 0.0" in said and "I/O" in said
    table = said[said.index("Where the ") :]
    phases = [line.split()[0] for line in table.splitlines()[2:] if line.strip()]
    assert {"opening", "diagnostics", "output", "convection"} & set(phases) >= {"opening", "diagnostics", "output"}
    assert "checkpoint" not in phases, "it took no time"
    assert "out: out.h5" in said and "\n  write " in said
    with tr.Simulation(case(output=[OUTPUT]), MPI.COMM_SELF, overwrite=True) as again:
        assert capsys.readouterr().out == ""
        list(again.steps())
    assert capsys.readouterr().out == ""


def test_checkpoints_are_those_of_its_steps_and_of_the_last(tmp_path: Path) -> None:
    simulation = made(every=2, steps=9)
    for _ in range(2):
        simulation.advance()  # without files
    with simulation:
        with pytest.raises(IoError, match="is writing it"), CheckpointStore("checkpoints", 2, MPI.COMM_SELF).claim():
            pass
        assert checkpoints() == [], "the state that a session begins with is not stored"
        for _ in range(3):
            simulation.advance()
        assert checkpoints() == [4]
    assert (checkpoints(), rows()) == ([4, 5], [2, 3, 4, 5])
    (tmp_path / "off").mkdir()
    os.chdir(tmp_path / "off")
    with made() as without, CheckpointStore("checkpoints", 2, MPI.COMM_SELF).claim():
        without.advance()
    assert not Path("checkpoints").exists()


def test_a_run_goes_on_after_its_first_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert made(steps=1, every=1, fails=-1).run() == 0
    capsys.readouterr()
    assert made(steps=3, every=1, fails=-1, resume=True).run() == 0
    assert "resuming from checkpoints/step-00000001: step 1, t = 0.01\n" in capsys.readouterr().out
    assert rows() == [0, 1, 2, 3]
    final = read_time_series("analysis/seen-final.csv")
    assert (final["count"].tolist(), final["first"].tolist()) == ([4], [0]), "the script has kept what it saw"


def test_what_a_run_goes_on_with_must_be_there() -> None:
    made(steps=1, every=1, output=[OUTPUT]).run()
    Path("out.h5").rename("elsewhere.h5")
    with pytest.raises(IoError, match=r"not there any more: out\.h5 \(path of output 'out'\)"):
        made(steps=2, every=1, output=[OUTPUT], resume=True).run()
    Path("elsewhere.h5").rename("out.h5")
    assert made(steps=2, every=1, output=[OUTPUT], resume=True).run() == 0


def test_files_of_others_are_refused_before_the_flow_is_made(tmp_path: Path) -> None:
    flow = "    open('made', 'w').close()\n    return 3 * (0 * x * y * z,)\n"
    (tmp_path / "flow.py").write_text(f"def velocity(x, y, z):\n{flow}")
    keys = {"case": {"flow": "flow.py:velocity", "reynolds": 100.0}}

    def given(**blocks: Any) -> tr.Case:
        told = case(**blocks).model_dump(exclude_defaults=True)
        return tr.Case(**{**told, **keys})

    Path("out.h5").write_bytes(b"mine")
    with pytest.raises(InputError, match=r"^output\[0\]\.path: "):
        made(output=[OUTPUT]).run()
    with pytest.raises(InputError, match=r"^output\[0\]\.path: "):
        tr.run(given(output=[OUTPUT]))
    assert not Path("made").exists() and not Path("time_series.csv").exists()
    Path("out.h5").unlink()
    made().run()
    with pytest.raises(InputError, match=r"time_series\.csv"):
        tr.run(given())
    assert not Path("made").exists()
    assert tr.run(given(), overwrite=True) == 0
    assert Path("made").exists()


def test_new_results_are_on_the_disk_before_earlier_ones_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made(steps=1).run()
    with monkeypatch.context() as patched:
        calls = recorded_calls.in_python(patched, "fsync", "unlink")
        made(steps=1, overwrite=True).run()
    table = tmp_path / "time_series.csv"
    earlier = [at for at, call in enumerate(calls) if call[0] == "unlink" and call[1].name.startswith(f"{table.name}.")]
    synced = [at for at, call in enumerate(calls) if call == ("fsync", table)]
    assert synced and synced[0] < earlier[0]
    assert len(synced) == 2, "and the last rows are, at the end"


def test_the_velocity_that_a_callback_changes_is_that_of_all_that_follows() -> None:
    simulation = made(steps=2)
    before = simulation.field("q").copy()
    kept = simulation.numbers

    def double(one: Any) -> None:
        for name in ("ux", "uy", "uz"):
            one.field(name)[...] *= 2

    simulation.at(0.0, double)
    with simulation:
        np.testing.assert_allclose(simulation.field("q"), 4 * before, atol=1e-12)
        assert kept == {} and simulation.numbers["kinetic_energy"] == pytest.approx(0.125, rel=1e-6), "of before"
        simulation.advance()
        assert simulation.numbers["kinetic_energy"] == pytest.approx(0.5, rel=0.05)


def test_a_simulation_is_open_once_and_can_be_opened_again() -> None:
    """What a script has seen before is not forgotten, from whatever step it goes on."""
    simulation = made(every=5, steps=6, fails=-1)
    for steps in (0, 1, 3):
        with simulation:
            with pytest.raises(InputError, match="the simulation is open already"):
                simulation.run()
            for _ in range(steps):
                simulation.advance()
        with pytest.raises(InputError, match=r"the simulation is not open: write `with"):
            next(simulation.steps())
    final = read_time_series("analysis/seen-final.csv")
    assert (final["step"].tolist(), final["count"].tolist(), final["first"].tolist()) == ([4], [5], [0])
    assert simulation.run() == 0
    with pytest.raises(InputError, match="is not open"):
        list(simulation.steps())
    with simulation, pytest.raises(InputError, match=r"the end of the case is reached, step 6, t = 0\.06; to go on"):
        simulation.advance()


def test_a_simulation_that_is_thrown_away_has_no_end() -> None:
    simulation = made(fails=-1)
    simulation.__enter__()
    simulation.advance()
    del simulation
    gc.collect()
    assert not Path("analysis/seen-final.csv").exists()
    assert rows() == [0, 1]


def test_what_is_missing_is_in_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made().run() == 0
    monkeypatch.setattr(Recorder, "incomplete", True)
    assert made(overwrite=True).run() == 1


@pytest.mark.parametrize("live", ["with controls", "", True])
def test_the_ways_of_showing_a_run_are_named(live: Any) -> None:
    with pytest.raises(InputError, match=r"live is one of 'no', 'yes', 'with control'; found "):
        made(live=live)


# ---- the end ---------------------------------------------------------------------------------------------------------


def at_step(step: int, work: Callable[[Any], object], **keys: Any) -> tr.Simulation:
    """A simulation in which something is done after a step."""
    simulation = made(**keys)
    simulation.every(1, lambda one: work(one) if one.step == step else None)
    return simulation


def ask_to_stop(_: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def boom(_: object) -> None:
    raise ValueError("out of luck")


def test_a_run_that_is_asked_to_stop_leaves_a_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    simulation = at_step(2, ask_to_stop, fails=-1, live="yes")
    assert simulation.run() == 143
    assert simulation.stopped and simulation.step == 2
    assert checkpoints() == [2], "also where the case wants none"
    said = "stopped on request at step 2, t = 0.02; go on with --resume, from checkpoints/step-00000002"
    assert f"\n{said}\n" in capsys.readouterr().out
    assert facts().state == "stopped" and facts().log[-1] == said
    assert not Path("analysis/seen-final.csv").exists(), "what it is to end comes later"
    by_hand = at_step(3, ask_to_stop, resume=True, fails=-1)
    with pytest.raises(Stopped), by_hand:
        while True:
            by_hand.advance()
    assert by_hand.step == 3


def test_a_callback_does_not_step_the_simulation() -> None:
    simulation = at_step(1, lambda one: one.advance())
    with (
        pytest.raises(AnalysisError, match=r"at step 1, t = 0\.01: .*a callback must not step the simulation"),
        simulation,
    ):
        simulation.advance()
    assert (simulation.step, rows()) == (1, [0, 1])


@pytest.mark.parametrize("every", [0, 1])
def test_an_error_of_a_callback_tells_how_to_go_on(capsys: pytest.CaptureFixture[str], every: int) -> None:
    simulation = at_step(2, boom, every=every, live="yes")
    with pytest.raises(AnalysisError, match=r"callback '<lambda>' failed at step 2, t = 0\.02"):
        simulation.run()
    ways = {
        0: "there is no checkpoint to go on from: start again, with --overwrite",
        1: "fix the script, then go on with --resume, from checkpoints/step-00000001",
    }
    assert f"\nstopped by an error at step 2, t = 0.02; {ways[every]}\n" in capsys.readouterr().out
    assert checkpoints() == [1] * every, "the callback may have changed a part of the velocity"
    assert facts().state.startswith("failed: callback '<lambda>' failed at step 2")


@pytest.mark.parametrize("every", [0, 10])
def test_an_error_of_a_script_leaves_a_checkpoint_of_that_state(capsys: pytest.CaptureFixture[str], every: int) -> None:
    """Of a case that wants some, and of a script without a state, which that checkpoint could not have."""
    Path("seen.py").write_text(SCRIPT.replace("def save", "def saved"))
    simulation = made(fails=2, every=every, output=[OUTPUT])
    with simulation:
        simulation.advance()
        with pytest.raises(AnalysisError, match="out of luck"):
            simulation.advance()
        with pytest.raises(InputError, match=r"the simulation is not open: write `with"):
            simulation.advance()
    assert checkpoints() == ([2] if every else [])
    assert ("go on with --resume, from" in capsys.readouterr().out) == bool(every)
    with tr.open("out.h5") as stored:
        assert [step.index for step in stored] == [0, 2]


@pytest.mark.parametrize(("dt", "key"), [(0.01, "time.dt"), ("auto", "time.cfl")])
def test_a_flow_that_is_not_finite_ends_the_run(capsys: pytest.CaptureFixture[str], dt: Any, key: str) -> None:
    def spoil(one: Any) -> None:
        one.field("ux")[0, 0, 0] = np.nan

    simulation = at_step(3, spoil, every=1, steps=9, dt=dt, diagnostics={"every": 100})
    with pytest.raises(FlowError):
        simulation.run()
    assert checkpoints() == [1, 2], "none has the state that is not finite"
    said = capsys.readouterr().out
    assert "if the flow in checkpoints/step-00000002 is still sound, go on from it with --resume --change" in said
    assert f"--set {key}=...; else start again with --overwrite\n" in said


def test_a_disk_that_refuses_ends_the_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    simulation = made(every=1, live="yes")
    with simulation:
        simulation.advance()
        monkeypatch.setattr(TimeSeries, "append", full)
        with pytest.raises(IoError, match=r"cannot write time_series\.csv: No space"):
            simulation.advance()
        with pytest.raises(InputError, match="is not open"):
            simulation.advance()
    assert "stopped by an error at step 2, t = 0.02; go on with --resume, from" in capsys.readouterr().out
    assert facts().state.startswith("failed: cannot write time_series.csv")
    monkeypatch.undo()


def test_another_error_of_a_program_in_a_step_is_told_to_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    simulation = made(live="yes")
    with pytest.raises(KeyboardInterrupt), simulation:
        monkeypatch.setattr(AveragesTable, "prepare", interrupted)
        simulation.advance()
    assert facts().state == "failed: KeyboardInterrupt"
    assert not simulation.stopped


def test_an_error_of_the_caller_closes_what_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed: list[object] = []
    monkeypatch.setattr(Recorder, "close", lambda self: closed.append(self))
    with pytest.raises(ZeroDivisionError), monkeypatch.context() as patched:
        calls = recorded_calls.in_python(patched, "fsync")
        with made() as simulation:
            simulation.advance()
            1 / 0  # noqa: B018
    assert len(closed) == 1
    assert ("fsync", tmp_path / "time_series.csv") in calls
    assert rows() == [0, 1]


# ---- what pages are told ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("live", ["no", "yes", "with control"])
def test_pages_see_a_run_that_lets_them(capsys: pytest.CaptureFixture[str], tmp_path: Path, live: Any) -> None:
    simulation = made(live=live, steps=6, every=4, output=[OUTPUT])
    assert simulation.run() == 0
    said = capsys.readouterr().out
    assert (f"live: tailrace live {tmp_path} shows this run in a browser\n" in said) == (live != "no")
    if live == "no":
        assert not board_of(Path("time_series.csv")).exists()
        return
    found = facts()
    assert (found.control, found.state, found.step, found.end) == (
        live == "with control", "finished", 6, {"step": 6, "time": None}
    )  # fmt: skip
    assert (found.time, found.dt) == (pytest.approx(0.06), 0.01)
    assert found.title == "Simulation run: 8 x 8 x 8 nodes, Re 100, 1 rank(s) as 1 x 1"
    assert (found.process, found.directory) == (os.getpid(), str(tmp_path))
    assert [next(iter(one)) for one in found.consumers] == ["output", "checkpoint"], "those that tell something"
    assert found.written > 2 * 4 * 8**3 * 8 and found.warnings == []
    assert {"convection", "diagnostics", "output"} & set(found.phases) >= {"diagnostics", "output"}


def test_the_log_of_a_run_that_goes_on_has_what_it_told_before() -> None:
    at_step(2, ask_to_stop, live="yes").run()
    before = facts().log
    assert len(before) == 1
    at_step(3, ask_to_stop, live="yes", resume=True).run()
    assert facts().log[:1] == before and len(facts().log) == 2
    made(live="yes", overwrite=True).run()
    assert facts().log == []


def test_a_page_may_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Publisher, "wants", lambda *_: True)
    simulation = made(live="with control", steps=9)
    page = BoardReader(board_of(Path("time_series.csv")))
    with simulation:
        simulation.advance()
        page.stop()
        with pytest.raises(Stopped):
            for _ in range(4):
                simulation.advance()
    page.close()
    assert checkpoints() == [simulation.step] and facts().state == "stopped"
