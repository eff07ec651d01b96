"""A simulation as an object in Python, on this process only."""

import importlib
import math
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.analysis.results import ResultSink
from tailrace.case.case import case_from_document
from tailrace.consumers.output import Output
from tailrace.consumers.table import AveragesTable
from tailrace.flow.checkpoint import CheckpointStore
from tailrace.io.time_series import COLUMNS, read_time_series
from tailrace.simulation.simulation import FlowError


def vortex(**changes):
    document = {
        "case": {"name": "tgv", "reynolds": 100.0},
        "grid": {
            "points": [24, 16, 12],
            "lengths": ["2*pi", "2*pi", "pi"],
            "boundaries": ["periodic", "periodic", "free-slip"],
        },
        "time": {"dt": 0.02, "steps": 5},
    }
    for key, value in changes.items():
        section, _, name = key.partition("__")
        document.setdefault(section, {})[name] = value
    return case_from_document(document, source="test", directory=Path())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_six_lines(tmp_path):
    simulation = tr.Simulation(vortex(), MPI.COMM_SELF)
    assert (simulation.step, simulation.time, simulation.shape) == (0, 0.0, (24, 16, 12))
    assert simulation.run() == 0
    assert simulation.step == 5
    assert simulation.time == pytest.approx(0.1, rel=1e-12)
    rows = read_time_series("time_series.csv")
    assert rows["step"].tolist() == [0, 5]
    assert simulation.numbers["kinetic_energy"] == rows["kinetic_energy"][-1]
    assert not Path("checkpoints").exists(), "none was asked for"
    assert "24 x 16 x 12 nodes, Re 100" in repr(simulation)


def test_run_is_a_function_whatever_was_imported_before(monkeypatch):
    assert tr.run(vortex(diagnostics__path="one.csv", grid__points=[8, 8, 8], time__steps=1)) == 0
    from tailrace.consumers import output as outputs

    assert tr.run(vortex(diagnostics__path="other.csv", grid__points=[8, 8, 8], time__steps=1)) == 0
    assert outputs.Output


def test_measure_against_the_formula():
    simulation = tr.Simulation(vortex(grid__points=[48, 40, 33]), MPI.COMM_SELF)
    numbers = simulation.measure()
    assert set(numbers) == {*COLUMNS, "energy_residual"}
    # u = sin x cos y cos z, v = -cos x sin y cos z: <u^2 + v^2> / 2 = 1/8; enstrophy 3/8.
    assert numbers["kinetic_energy"] == pytest.approx(1 / 8, rel=1e-13)
    assert numbers["enstrophy"] == pytest.approx(3 / 8, rel=1e-6)
    assert numbers["dissipation"] == pytest.approx(2 * (3 / 8) / 100, rel=1e-6)
    assert numbers["dissipation_laplacian"] == pytest.approx(2 * (3 / 8) / 100, rel=1e-6)
    assert numbers["max_divergence"] < 1e-11
    dx, dy = 2 * math.pi / 48, 2 * math.pi / 40
    x, y = np.arange(48) * dx, np.arange(40)[:, None] * dy
    speed = abs(np.sin(x) * np.cos(y)) / dx + abs(np.cos(x) * np.sin(y)) / dy
    assert numbers["cfl"] == pytest.approx(0.02 * speed.max(), rel=1e-7)


def test_energy_falls_by_the_dissipation():
    simulation = tr.Simulation(vortex(grid__points=[32, 32, 17], time__dt=0.01), MPI.COMM_SELF)
    energy, loss = [], []
    for _ in range(3):
        numbers = simulation.measure()
        energy.append(numbers["kinetic_energy"])
        loss.append(numbers["dissipation_laplacian"])
        simulation.advance()
    assert (energy[0] - energy[2]) / 0.02 == pytest.approx(loss[1], rel=1e-5)


@pytest.mark.parametrize("scheme, order", [("euler", 1), ("ab2", 2), ("ab3", 2), ("rk3", 3)])
def test_order_in_time(tmp_path, scheme, order):
    """Adams-Bashforth begins with an Euler step, as in Xcompact3D: that leaves an error of the second order."""
    case = cases.write_case(tmp_path, "mixed", points=(12, 11, 10))

    def final(steps):
        changed = [f"time.dt={0.4 / steps}", f"time.steps={steps}", f"time.scheme='{scheme}'", "case.reynolds=30.0"]
        simulation = tr.Simulation(tr.load_case(case, changed), MPI.COMM_SELF)
        for _ in range(steps):
            simulation.advance()
        assert simulation.time == pytest.approx(0.4, rel=1e-12)
        return np.stack([simulation.field(name) for name in ("ux", "uy", "uz")])

    exact = final(1280)
    errors = [abs(final(steps) - exact).max() for steps in (40, 80)]
    assert math.log2(errors[0] / errors[1]) > order - 0.35


def test_fields_are_views_or_computed():
    simulation = tr.Simulation(vortex(), MPI.COMM_SELF)
    ux = simulation.field("ux")
    assert ux.shape == (12, 16, 24)
    ux[3, 4, 5] = 7.0
    assert simulation.field("ux")[3, 4, 5] == 7.0
    simulation.flow.invalidate()
    squares = sum(simulation.field(f"vorticity_{d}") ** 2 for d in "xyz")
    assert np.allclose(simulation.field("vorticity"), np.sqrt(squares), rtol=1e-13)
    with pytest.raises(tr.InputError, match="vortcity"):
        simulation.field("vortcity")


def test_pressure_of_the_vortex():
    """Against the known solution of the 2-D vortex: p = (cos 2x + cos 2y) / 4, whatever the time scheme."""
    document = {
        "case": {"flow": "own.py:velocity", "reynolds": 1e6},
        "grid": {"points": [48, 40, 8], "lengths": ["2*pi", "2*pi", 1.0], "boundaries": ["periodic"] * 3},
        "time": {"dt": 0.001, "steps": 2},
    }
    Path("own.py").write_text(
        "import numpy as np\n\n\ndef velocity(x, y, z):\n"
        "    return np.sin(x) * np.cos(y) + 0 * z, -np.cos(x) * np.sin(y) + 0 * z, 0 * x\n"
    )
    x, y = np.arange(48) * 2 * np.pi / 48, np.arange(40)[:, None] * 2 * np.pi / 40
    expected = (np.cos(2 * x) + np.cos(2 * y)) / 4
    for scheme in ("euler", "ab2", "rk3"):
        document["time"]["scheme"] = scheme
        simulation = tr.Simulation(case_from_document(document, source="test", directory=Path()), MPI.COMM_SELF)
        for _ in range(3):
            pressure = simulation.field("pressure")
            assert abs(pressure - pressure.mean() - expected).max() < 1e-4, (scheme, simulation.step)
            simulation.advance()


def test_looking_changes_nothing(tmp_path):
    case = tr.load_case(cases.write_case(tmp_path, "mixed", scheme="ab2"))
    watched, alone = tr.Simulation(case, MPI.COMM_SELF), tr.Simulation(case, MPI.COMM_SELF)
    for _ in range(4):
        watched.measure()
        for name in ("pressure", "q", "vorticity_x"):
            watched.field(name)
        watched.advance()
        alone.advance()
    for name in ("ux", "uy", "uz"):
        assert watched.field(name).tobytes() == alone.field(name).tobytes()


def test_targets_are_met():
    simulation = tr.Simulation(vortex(), MPI.COMM_SELF)
    assert simulation.advance([0.013, None]) == pytest.approx(0.013)
    assert simulation.time == 0.013
    assert simulation.advance([0.5]) == 0.02


def test_the_last_step_ends_at_the_end():
    """It is shorter where the end is no multiple of the step."""
    case = vortex()
    time = {"dt": 0.02, "end": 0.05}
    case = case_from_document({**case.model_dump(exclude_unset=True), "time": time}, source="test", directory=Path())
    simulation = tr.Simulation(case, MPI.COMM_SELF)
    assert simulation.run() == 0
    assert (simulation.step, simulation.time) == (3, 0.05)


def test_resume_in_python(tmp_path):
    first = tr.Simulation(vortex(checkpoint__every=5), MPI.COMM_SELF)
    first.run()
    again = tr.Simulation(vortex(checkpoint__every=5, time__steps=8), MPI.COMM_SELF, resume=True)
    assert again.step == 5
    assert again.time == first.time
    for name in ("ux", "uy", "uz"):
        assert again.field(name).tobytes() == first.field(name).tobytes()
    assert again.run() == 0
    assert again.step == 8


@pytest.mark.parametrize("by_hand", [0, 40])
def test_the_shares_of_the_time_are_those_of_the_run(capsys, by_hand):
    """Steps before `run` count for nothing, and no time counts twice: diagnostics transpose as the solver does."""
    simulation = tr.Simulation(vortex(time__steps=by_hand + 2, diagnostics__every=1), MPI.COMM_SELF)
    for _ in range(by_hand):
        simulation.advance()
    simulation.run()
    table = [line.split() for line in capsys.readouterr().out.splitlines() if line.rstrip().endswith("%")]
    shares = {words[0]: float(words[-1].rstrip("%")) for words in table if words[0] != "step"}
    assert {"convection", "pressure", "diagnostics", "the"} <= set(shares)
    assert sum(shares.values()) == pytest.approx(100, abs=0.5)


def test_a_checkpoint_is_ahead_of_nothing(monkeypatch):
    """All that a resumed run goes on with is stored before the checkpoint of its step."""
    order = []

    def note(owner, name, what):
        work = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda self, *arguments: (order.append(what), work(self, *arguments))[1])

    note(AveragesTable, "flush", "numbers")
    note(Output, "flush", "output")
    note(ResultSink, "flush", "analysis")
    note(CheckpointStore, "write", "checkpoint")
    output = {"name": "out", "fields": ["ux"], "every": 1, "engine": "hdf5", "parameters": {"buffers": 2}}
    document = {"output": [output], "analysis": [{"script": "budget", "every": 1}]}
    case = vortex(checkpoint__every=2)
    case = case_from_document({**case.model_dump(exclude_unset=True), **document}, source="test", directory=Path())
    assert tr.Simulation(case, MPI.COMM_SELF).run() == 0
    *before, _ = " ".join(order).split("checkpoint")
    assert [set(each.split()) for each in before] == 3 * [{"numbers", "output", "analysis"}]


def test_blow_up():
    case = vortex(time__dt=5.0, time__steps=400, diagnostics__every=50)
    with pytest.raises(FlowError, match=r"not finite at step 50.* at node \(.*at step 0 it was"):
        tr.Simulation(case, MPI.COMM_SELF).run()


def test_user_flow_is_made_free_of_divergence(tmp_path):
    simulation = tr.Simulation(tr.load_case(cases.write_case(tmp_path, "mixed")), MPI.COMM_SELF)
    assert simulation.flow.max_divergence() < 1e-11
    assert abs(simulation.field("ux")).max() > 0.3
    uy = simulation.field("uy")
    assert abs(uy[:, [0, -1], :]).max() < 1e-12, "nothing through the walls"


def test_no_module_hides_a_public_name():
    """A module of the name of a function would hide it."""
    package = importlib.import_module("tailrace.simulation.simulation")
    assert tr.run is package.run
    assert not {name.partition(".")[0] for name in tr.__all__} & {
        entry.name for entry in pkgutil.iter_modules(tr.__path__)
    }
