"""What a run and its analyses tell of laminar flows between walls that move, against the exact flow."""

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.io.time_series import read_time_series

HEIGHT = 2.0
CHANNEL = {"script": "channel", "every": 1, "parameters": {"profiles_every": 0.03}}


def moving(lower: float, upper: float, *, reynolds: float, push: float, **more):
    return tr.Case(
        case={"reynolds": reynolds, "flow": "uniform"},
        grid={"points": (8, 25, 10), "lengths": (1.0, HEIGHT, 1.5), "boundaries": ("periodic", "wall", "periodic")},
        boundary={"y_lower": (lower, 0, 0), "y_upper": (upper, 0, 0)},
        forcing={"acceleration": (push, 0, 0)},
        time={"dt": 0.02, "end": 0.11},
        diagnostics={"every": 1},
        **more,
    )


def run(case, profile):
    tr.Simulation(case, MPI.COMM_SELF, flow=lambda x, y, z: (profile(y) + 0 * (x + z), 0 * y, 0 * z)).run()
    return read_time_series("time_series.csv")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_straight_line_of_couette_and_poiseuille():
    """U = y + y (2 - y) / 2 is steady, so its stress is the line between that at one wall and that at the other."""
    case = moving(0.0, 2.0, reynolds=50.0, push=0.02, analysis=[CHANNEL])
    run(case, lambda y: y + 0.5 * y * (2 - y))
    with tr.open("analysis/channel.h5") as stored:
        last = next(step for step in reversed(list(stored)) if "straight_stress_plus" in step.names)
        straight = last.read("straight_stress_plus")
        np.testing.assert_allclose(straight / straight[0], 1 - np.linspace(0, 1, 25), atol=1e-9)
        np.testing.assert_allclose(last.read("total_stress_plus"), straight, atol=1e-9)
    assert read_time_series("analysis/channel.csv")["stress_deviation"][-1] < 1e-9


def test_what_diffusion_takes_beside_a_wall_that_moves():
    """Inside and in the time series it is what the energy loses: nothing at the nodes of the wall."""
    analysis = [{"script": "budget", "every": 1}]
    rows = run(moving(0.0, 1.0, reynolds=50.0, push=0.0, analysis=analysis), lambda y: 0.5 * y + 0.5 * y * (2 - y))
    inside = read_time_series("analysis/budget.csv")
    np.testing.assert_allclose(inside["dissipation_laplacian"], rows["dissipation_laplacian"], rtol=1e-11)
    lost = -np.gradient(rows["kinetic_energy"], rows["time"], edge_order=2)
    np.testing.assert_allclose(rows["dissipation_laplacian"], lost, rtol=1e-4)


@pytest.mark.parametrize("speed", [0.0, 1.0, -0.2])
def test_a_laminar_flow_is_resolved_in_every_frame(speed, capsys):
    run(moving(speed, speed, reynolds=5000.0, push=2e-4), lambda y: speed + 0.5 * y * (2 - y))
    assert "under-resolved" not in capsys.readouterr().out


def test_the_cfl_number_is_that_of_the_step_of_its_row():
    """Also of a step that was shortened to end at the time of an output."""
    output = [{"name": "u", "fields": ["ux"], "interval": 0.05, "engine": "bp5"}]
    rows = run(moving(0.0, 2.0, reynolds=50.0, push=0.02, output=output), lambda y: y + 0.5 * y * (2 - y))
    assert {round(dt, 3) for dt in rows["dt"][1:]} == {0.02, 0.01}
    np.testing.assert_allclose(rows["cfl"], 2.0 / (1.0 / 8) * rows["dt"], rtol=1e-6)


@pytest.mark.parametrize(("upper", "told"), [(0.0, 0), (1.0, 1)])
def test_a_flow_rate_between_walls_that_move_is_not_that_of_the_box(upper, told):
    """Where y is stretched, walls count as a whole, as in Xcompact3D."""
    case = moving(0.0, upper, reynolds=50.0, push=0.0)
    document = case.model_dump(exclude_none=True)
    document["grid"] |= {"stretching": "walls", "beta": 0.4}
    document["forcing"] = {"flow_rate": 0.5}
    model = tr.Model(tr.Case(**document), MPI.COMM_SELF, flow=lambda x, y, z: (0.5 * y + 0 * (x + z), 0 * y, 0 * z))
    assert sum("counts nodes of walls as a whole" in line for line in model.concerns()) == told
