"""A simulation that goes on from a checkpoint: what the checkpoint tells, what is compared, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import sidecar
from tailrace.analysis import state
from tailrace.case.document import ConfigError
from tailrace.core import InputError
from tailrace.flow.checkpoint import CheckpointStore, Packed

Captured = pytest.CaptureFixture[str]
FLOW = """
def velocity(x, y, z):
    return 3 * (0 * x * y * z,)
def force(x, y, z, t):
    return 0.5 + 0 * x * y * z, 0 * x * y * z, 0 * x * y * z
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.py").write_text(FLOW)


def case(*, steps: int | None = 2, dt: float = 0.01, reynolds: float = 100.0, **more: Any) -> tr.Case:
    time = {"dt": dt, **({"steps": steps} if steps is not None else {"end": more.pop("end")})}
    flow = {"flow": "flow.py:velocity", "reynolds": reynolds, **more.pop("flow", {})}
    return tr.Case(
        case=flow,
        grid={"points": (8, 8, 8), "lengths": (1.0,) * 3, "boundaries": ("periodic",) * 3},
        time=time,
        **{"checkpoint": {"every": 1}, **more},
    )


def begun(**keys: Any) -> tr.Simulation:
    simulation = tr.Simulation(case(**keys), MPI.COMM_SELF)
    assert simulation.run() == 0
    return simulation


def resumed(capsys: Captured, *, change: bool = False, **keys: Any) -> tuple[tr.Simulation, list[str]]:
    """The simulation that goes on, and what it said."""
    capsys.readouterr()
    simulation = tr.Simulation(case(**keys), MPI.COMM_SELF, resume=True, change=change)
    return simulation, capsys.readouterr().out.splitlines()


def told(step: int) -> dict[str, Any]:
    found: dict[str, Any] = sidecar.read(Path(f"checkpoints/step-{step:08d}"))["attributes"]
    return found


def test_the_step_from_which_it_goes_on_is_said(capsys: Captured) -> None:
    begun()
    first = "resuming from checkpoints/step-00000002: step 2, t = 0.02"
    simulation, said = resumed(capsys, steps=2)
    assert simulation.at_end and said == [
        first,
        "step 2, t = 0.02, is at the end of the run or behind it, so nothing is computed; give a later time.end or "
        "time.steps to go on",
    ]
    simulation, said = resumed(capsys, steps=3)
    assert not simulation.at_end
    assert said == ["note: the run goes on with time.steps = 3 (before: 2)", first]
    simulation.advance()
    assert simulation.at_end


@pytest.mark.parametrize(("end", "step"), [(0.03, 3), (0.029, 3), (0.0301, 4)])
def test_a_run_to_a_time_ends_there(end: float, step: int) -> None:
    simulation = tr.Simulation(case(steps=None, end=end), MPI.COMM_SELF)
    with simulation:
        list(simulation.steps())
    assert simulation.step == step and simulation.time == pytest.approx(end, rel=1e-12)


def test_the_end_is_met_although_times_are_rounded() -> None:
    """Ten steps of 0.1 are a little less than 1."""
    simulation = tr.Simulation(case(steps=None, end=1.0, dt=0.1), MPI.COMM_SELF)
    for _ in range(9):
        simulation.advance()
    assert not simulation.at_end
    simulation.advance()
    assert simulation.time != 1.0 and simulation.at_end


def test_a_checkpoint_tells_its_run_and_what_it_is_given() -> None:
    simulation = begun(analysis=[{"script": "enstrophy", "every": 1}])
    about = told(2)
    assert about["run"] == simulation.provenance["run"] and len(bytes.fromhex(about["run"])) == 8
    assert json.loads(about["files"]) == ["time_series.csv", "analysis/enstrophy.csv", "analysis/enstrophy.h5"]
    assert about["callbacks_called"] == 0
    assert json.loads(about["analysis/enstrophy"])["step"] == 2
    assert (about["forcing"], about["reynolds"], json.loads(about["overrides"])) == ("", 100.0, [])
    assert set(json.loads(about["functions"])) == {"case.flow"}
    assert simulation.bytes_checkpoints == 2 * 3 * 8**3 * 8
    again = tr.Simulation(case(steps=3), MPI.COMM_SELF, resume=True)
    assert again.provenance["run"] == about["run"], "it is the same run"
    assert again.bytes_checkpoints == 0


def test_states_of_others_are_stored_beside_the_flow() -> None:
    simulation = tr.Simulation(case(), MPI.COMM_SELF)
    simulation.write_checkpoint()
    assert "files" not in told(0) and simulation.bytes_checkpoints == 3 * 8**3 * 8
    more = Packed({"more": tr.Block(np.full((8, 8, 8), 7.0), (8, 8, 8))}, {"list": np.arange(3)}, {"key": "value"})
    simulation.write_checkpoint(state.whole([more]), {"files": "[]"})
    found = CheckpointStore("checkpoints", 2, MPI.COMM_SELF).newest(print)
    assert (found.about["key"], found.about["files"]) == ("value", "[]")
    assert found.read("more", ((0, 0, 0), (8, 8, 8))).max() == 7.0
    assert found.read_list("list").tolist() == [0, 1, 2]
    assert simulation.bytes_checkpoints == (3 + 3 + 1) * 8**3 * 8 + 3 * 8


def test_another_reynolds_number_is_changed_on_purpose(capsys: Captured) -> None:
    begun()
    with pytest.raises(InputError) as error:
        resumed(capsys, steps=3, reynolds=50.0)
    assert str(error.value) == (
        "checkpoint checkpoints/step-00000002 was computed by another case:\n  case.reynolds = 50 (before: 100)\ngive "
        "the old value, case.reynolds = 100; or --change (in Python change=True), to change it on purpose after step 2"
    )
    simulation, said = resumed(capsys, change=True, steps=3, reynolds=50.0)
    assert "note: changed on purpose: case.reynolds = 50 (before: 100)" in said
    assert simulation.run() == 0
    assert told(3)["changes"].startswith("after step 2: case.reynolds = 50")
    _, said = resumed(capsys, steps=4, reynolds=50.0)
    assert not any("purpose" in line for line in said)
    with pytest.raises(InputError, match="change goes with resume"):
        tr.Simulation(case(), MPI.COMM_SELF, change=True)


def test_what_has_no_effect_or_was_edited_is_noted(capsys: Captured) -> None:
    begun()
    Path("other.py").write_text(FLOW)
    _, said = resumed(capsys, steps=2, flow={"flow": "other.py:velocity"})
    (line,) = (line for line in said if line.startswith("note: without effect in a run that goes on: "))
    assert "other.py" in line
    Path("flow.py").write_text(FLOW + "\n")
    _, said = resumed(capsys)
    assert "note: the Python file of case.flow is not as it was when the checkpoint was written" in said
    Path("flow.py").write_text(FLOW)
    _, said = resumed(capsys)
    assert not any("note" in line for line in said)
    _, said = resumed(capsys, flow={"flow": "taylor-green"})
    assert not any("not as it was" in line for line in said), "it names none"


def damage(**attributes: str) -> None:
    """A checkpoint whose checksums are right, that tells something else."""
    simulation = tr.Simulation(case(), MPI.COMM_SELF)
    about = {**simulation.provenance, **simulation.description, **attributes}
    CheckpointStore("checkpoints", 2, MPI.COMM_SELF).write(simulation.state, simulation.blocks(), about)


@pytest.mark.parametrize("attributes", [{"case": "[case"}, {"attributes": "{"}, {"functions": "["}])
def test_a_checkpoint_that_tells_nonsense_is_named(capsys: Captured, attributes: dict[str, str]) -> None:
    damage(**attributes)
    with pytest.raises(InputError, match=r"checkpoints/step-00000000: what it tells of its case is damaged: "):
        resumed(capsys)


def test_a_checkpoint_of_another_program_is_gone_on_from(capsys: Captured) -> None:
    simulation = tr.Simulation(case(), MPI.COMM_SELF)
    store = CheckpointStore("checkpoints", 2, MPI.COMM_SELF)
    store.write(simulation.state, simulation.blocks(), simulation.description)
    _, said = resumed(capsys, reynolds=50.0)
    assert said == ["resuming from checkpoints/step-00000000: step 0, t = 0"]


def test_another_force_of_python_is_another_case(capsys: Captured) -> None:
    def push(x: Any, y: Any, z: Any, t: float) -> Any:
        return 0.5 + 0 * x * y * z, 0 * x * y * z, 0 * x * y * z

    def pull(x: Any, y: Any, z: Any, t: float) -> Any:
        return push(x, y, z, t)

    simulation = tr.Simulation(case(), MPI.COMM_SELF, forcing=push)
    simulation.run()
    for forcing, words in ((pull, "'pull' of Python (before: 'push' of Python)"), (None, "(before: 'push' of Python)")):
        with pytest.raises(InputError, match="another case") as error:
            tr.Simulation(case(), MPI.COMM_SELF, resume=True, forcing=forcing)
        assert words in str(error.value)
    assert tr.Simulation(case(), MPI.COMM_SELF, resume=True, forcing=push).step == 2


def test_a_misspelt_parameter_is_named_before_the_cases_are_compared(capsys: Captured) -> None:
    Path("flow.py").write_text(FLOW.replace("velocity(x, y, z)", "velocity(x, y, z, speed=1.0)"))
    begun(parameters={"speed": 0.0})
    with pytest.raises(ConfigError, match=r"parameters\.sped: no function of the case has such an argument"):
        resumed(capsys, parameters={"sped": 0.0})


def test_without_a_communicator_it_is_that_of_the_world() -> None:
    assert tr.Simulation(case()).comm.size == MPI.COMM_WORLD.size
