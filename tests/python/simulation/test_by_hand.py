"""Simulations that are stepped by hand, and callbacks: all that `run` does, in the same order."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs import simulation_programs
from tailrace.analysis.errors import AnalysisError
from tailrace.io.time_series import read_time_series

OUTPUT = """
[[output]]
name = "h5"
fields = ["ux", "q"]
times = [0.015, 0.03]
engine = "hdf5"
path = "out.h5"
[[analysis]]
script = "statistics"
every = 2
[[analysis]]
script = "budget"
every = 1
"""


@pytest.fixture(scope="module", params=[1, 3])
def ranks(request):
    return KEPT.ranks(request.param)


def written(directory):
    """All that a run has written, without who made it and when."""
    tables = {str(path.relative_to(directory)): cases.table(path) for path in sorted(directory.rglob("*.csv"))}
    fields = {}
    for path in sorted(directory.rglob("*.h5")):
        with tr.open(path) as series:
            for step in series:
                for name in step.names:
                    fields[path.name, step.index, step.time, name] = np.asarray(step.read(name)).tobytes()
    states = {step: cases.state(directory, step) for step in cases.checkpoints(directory)}
    return tables, fields, {step: {name: one.tobytes() for name, one in of.items()} for step, of in states.items()}


def case_in(directory, **changes):
    return cases.write_case(directory, steps=6, every=4, diagnostics=2, **{"extra": OUTPUT, **changes})


def test_by_hand_everything_is_as_in_run(ranks, tmp_path):
    results, saw = {}, {}
    for how in ("run", "steps", "advance"):
        case_in(tmp_path / how)
        saw[how] = ranks.results(simulation_programs.compute, directory=str(tmp_path / how), how=how)
        results[how] = written(tmp_path / how)
    assert len(results["run"][1]) > 8
    assert results["steps"] == results["run"]
    assert results["advance"] == results["run"]
    # Steps end at the times of outputs and of callbacks.
    even = [["even", 0, 0.0], ["even", 2, 0.015], ["even", 4, 0.03], ["even", 6, 0.05]]
    expected = sorted([*even, ["at", 3, 0.025], ["at", 5, 0.04]], key=lambda one: one[1])
    for of_rank in saw["run"]:
        assert [one[:2] for one in of_rank] == [one[:2] for one in expected]
        assert [one[2] for one in of_rank] == pytest.approx([one[2] for one in expected], abs=1e-15)
        assert [one[2] for one in of_rank if one[0] == "at"] == [0.025, 0.04]
    assert saw["steps"] == saw["advance"] == saw["run"]


def test_callbacks_that_change_the_flow_are_resumed_exactly(ranks, tmp_path):
    for name in ("straight", "parts"):
        case_in(tmp_path / name)
    ranks.results(simulation_programs.compute, directory=str(tmp_path / "straight"), how="run")
    before = ranks.results(simulation_programs.compute, directory=str(tmp_path / "parts"), how="steps", end=3)
    after = ranks.results(simulation_programs.compute, directory=str(tmp_path / "parts"), how="advance", resume=True)
    assert [one[1] for one in before[0]] == [0, 2, 3]
    assert [one[1] for one in after[0]] == [4, 5, 6], "what was called before the checkpoint is not called again"
    ours, theirs = written(tmp_path / "parts"), written(tmp_path / "straight")
    assert ours[2][6] == theirs[2][6]
    assert ours[0]["time_series.csv"][-1] == theirs[0]["time_series.csv"][-1]


@pytest.mark.parametrize("rank", [0, -1])
def test_an_error_of_a_callback_stops_all_ranks(ranks, tmp_path, rank):
    case_in(tmp_path)
    for outcome in ranks.run(simulation_programs.fail, directory=str(tmp_path), where="callback", rank=rank):
        assert outcome.error == "AnalysisError"
        assert "callback 'boom' failed at step 3, t = 0.025" in outcome.text
        assert "simulation_programs.py, line" in outcome.text
        assert "out of luck" in outcome.text
    assert cases.checkpoints(tmp_path) == [], "a callback that failed may have changed a part of the velocity"
    with tr.open(tmp_path / "out.h5") as series:
        assert len(series) == 1


def test_an_error_between_the_steps_closes_everything(ranks, tmp_path):
    case_in(tmp_path)
    for outcome in ranks.run(simulation_programs.fail, directory=str(tmp_path), where="body", rank=-1):
        assert (outcome.error, outcome.text) == ("ValueError", "out of luck")
    with tr.open(tmp_path / "out.h5") as series:
        assert [step.index for step in series] == [2]
    assert not list(tmp_path.glob("*.lock"))


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tr.load_case(case_in(tmp_path))


def test_nothing_is_opened_without_a_with_block(case):
    before = {path for path in Path().iterdir() if path.name != "__pycache__"}
    simulation = tr.Simulation(case, MPI.COMM_SELF)
    simulation.advance()
    with pytest.raises(tr.InputError, match=r"with tr\.Simulation"):
        next(simulation.steps())
    assert {path for path in Path().iterdir() if path.name != "__pycache__"} == before


def test_leaving_early_ends_the_run_there(case):
    with tr.Simulation(case, MPI.COMM_SELF) as simulation:
        for _ in range(3):
            simulation.advance()
    assert cases.checkpoints(Path()) == [3]
    with tr.open("analysis/statistics-final.h5") as final:
        assert [step.index for step in final] == [3]
    with simulation:  # and goes on where it was
        for _ in simulation.steps():
            pass
        with pytest.raises(tr.InputError, match="the end of the case is reached, step 6"):
            simulation.advance()
        with pytest.raises(tr.InputError, match="open already"):
            simulation.run()
    assert list(read_time_series("analysis/budget.csv")["step"]) == list(range(7))
    assert list(read_time_series("analysis/statistics.csv")["samples"]) == [1, 2, 3, 4], "its state was kept"


def test_a_state_of_another_step_is_not_taken(case):
    """Steps outside of a block are seen by no analysis: what one saw up to the checkpoint is not all up to them."""
    with tr.Simulation(case, MPI.COMM_SELF) as simulation:
        simulation.advance()
    simulation.advance()
    with simulation:
        list(simulation.steps())
    rows = read_time_series("analysis/statistics.csv")
    assert list(zip(rows["step"], rows["samples"], strict=True)) == [(0, 1), (2, 1), (4, 2), (6, 3)]


def test_an_error_that_is_caught_in_the_block_ends_the_run_there(case):
    simulation = tr.Simulation(case, MPI.COMM_SELF)
    simulation.every(2, lambda one: one.step == 2 and 1 / 0)
    with simulation:
        with pytest.raises(AnalysisError, match="ZeroDivisionError"):
            list(simulation.steps())
        with pytest.raises(tr.InputError):
            next(simulation.steps())
    assert list(read_time_series("analysis/budget.csv")["step"]) == [0, 1, 2]


def test_the_velocity_is_set_from_its_own_components(case):
    model = tr.Model(case, MPI.COMM_SELF)
    before = np.array(model.velocity.x)
    along, _, up = (np.asarray(one) for one in model.velocity)
    # Periodic in x and z, between free-slip sides in y; shifted by a point, so that no copy is made by the way.
    model.velocity = (along[::-1], np.zeros_like(up), along)
    np.testing.assert_array_equal(np.asarray(model.velocity.z), before)
    np.testing.assert_array_equal(np.asarray(model.velocity.x), before[::-1])


def test_checkpoints_of_another_run_are_results_also_for_a_run_without(tmp_path, monkeypatch):
    """A run that is asked to stop writes a checkpoint in any case, and removes those before it."""
    monkeypatch.chdir(tmp_path)
    cases.write_case(tmp_path, steps=2, every=1, diagnostics=1)
    assert tr.Simulation(tr.load_case("case.toml"), MPI.COMM_SELF).run() == 0
    Path("time_series.csv").unlink()
    without = tr.load_case("case.toml", ["checkpoint.every=0"])
    with pytest.raises(tr.InputError, match="results of an earlier run: checkpoints"):
        tr.Simulation(without, MPI.COMM_SELF).run()


def test_a_request_to_stop_ends_the_steps_after_a_checkpoint(case, capsys):
    simulation = tr.Simulation(case, MPI.COMM_SELF)
    simulation.every(2, lambda one: one.step == 2 and os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as caught, simulation:
        while True:
            simulation.advance()
    assert caught.value.code == 143
    assert simulation.stopped
    assert cases.checkpoints(Path()) == [2]
    assert "stopped on request at step 2, t = 0.015; go on with --resume" in capsys.readouterr().out
    assert not Path("analysis/statistics-final.h5").exists()
    with tr.Simulation(case, MPI.COMM_SELF, resume=True) as again:
        assert len(list(again.steps())) == 4


def test_a_callback_must_not_step(case):
    simulation = tr.Simulation(case, MPI.COMM_SELF)
    simulation.every(1, lambda one: one.advance())
    with pytest.raises(AnalysisError, match="must not step the simulation that calls it"):
        simulation.run()


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda one: one.every(0, print), "at least 1; found 0"),
        (lambda one: one.every(1.5, print), "at least 1; found 1.5"),
        (lambda one: one.every(1, 7), "must be a function of the simulation; found 7"),
        (lambda one: one.at([1.0, np.nan], print), "numbers from 0 on"),
        (lambda one: one.at([], print), "numbers from 0 on"),
        (lambda one: one.at(["1"], "print"), "must be a function"),
        (lambda one: one.at([-1.0], print), "numbers from 0 on"),
    ],
)
def test_wrong_callbacks(case, wrong, said):
    with pytest.raises(tr.InputError, match=said):
        wrong(tr.Simulation(case, MPI.COMM_SELF))


def test_a_time_that_the_scheme_cannot_reach(tmp_path):
    case = tr.load_case(cases.write_case(tmp_path, scheme="ab2"))
    with pytest.raises(tr.InputError, match=r"at: must be a multiple of time.dt = 0.01.* \(found 0.015\)"):
        tr.Simulation(case, MPI.COMM_SELF).at([0.01, 0.015], print)
