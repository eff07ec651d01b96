"""Users' own flows by their cases: moving walls, scalars, outputs, and restarts, against exact solutions."""

import json
import math

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.engines import KINDS
from helpers.inputs import cases
from helpers.programs import parts

BETWEEN = {"boundaries": ["periodic", "wall", "periodic"]}
AT_REST = {"flow": "uniform", "parameters": {"speed": 0.0}}


def model(case=None, grid=None, time=None, flow=None, **sections):
    made = tr.Case(
        case={"reynolds": 1.0, **(case or AT_REST)},
        grid={"points": (8, 13, 9), "lengths": (4.0, 2.0, 3.0), **BETWEEN, **(grid or {})},
        time={"dt": "auto", "end": 10.0, **(time or {})},
        **sections,
    )
    return tr.Model(made, MPI.COMM_SELF, flow=flow)


def run_to(one, end):
    while one.time < end * (1 - 1e-12):
        one.advance([end])
    return one


@pytest.mark.parametrize("grid", [{}, {"stretching": "bottom", "beta": 0.7}], ids=["uniform", "stretched"])
def test_couette_flow_becomes_linear(grid):
    """Walls that move by numbers, in two directions; the straight line is exact in the schemes."""
    one = run_to(model(grid=grid, boundary={"y_lower": [-0.5, 0.0, 1.0], "y_upper": [1.0, 0.0, 0.0]}), 4.0)
    y = one.velocity.x.coordinates()[1]
    assert abs(one.velocity.x - (-0.5 + 0.75 * y)).max() < 1e-3
    assert abs(one.velocity.z - (1 - 0.5 * y)).max() < 1e-3
    assert abs(one.velocity.y).max() < 1e-13
    assert one.measure()["shear_y_lower_ux"] == pytest.approx(0.75, rel=1e-3)


def test_walls_that_swing(tmp_path, monkeypatch):
    """By a function: u = Re(e^(i w t) cosh(q (y - 1)) / cosh q), with q^2 = i w / nu, from its exact beginning."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walls.py").write_text("import math\n\n\ndef swing(x, y, z, t):\n    return math.cos(3 * t), 0, 0\n")
    q = np.sqrt(3j)

    def exact(y, t):
        return np.real(np.exp(3j * t) * np.cosh(q * (y - 1)) / np.cosh(q))

    errors = []
    for points in (13, 25):
        one = model(
            grid={"points": (8, points, 8)},
            boundary={"velocity": "walls.py:swing"},
            flow=lambda x, y, z: (exact(y, 0.0) + 0 * x + 0 * z, 0.0, 0.0),
        )
        run_to(one, 1.0)
        errors.append(abs(one.velocity.x - exact(one.velocity.x.coordinates()[1], 1.0)).max())
    assert errors[0] < 1e-3
    assert math.log2(errors[0] / errors[1]) > 2.0, errors


def test_heat_between_walls_of_given_temperatures(tmp_path, monkeypatch):
    """One scalar between two numbers, one above a wall whose temperature is a function of x, from its exact state."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.py").write_text(
        "import numpy as np\n\nK = np.pi / 2\n\n\ndef state(x, y, z):\n"
        "    return np.cos(K * x) * np.sinh(K * (2 - y)) / np.sinh(2 * K)\n\n\n"
        "def wall(x, y, z, t):\n    return np.cos(K * x)\n"
    )
    scalars = [
        {"name": "plain", "initial": 0.0, "schmidt": 0.5, "boundaries": ["periodic", [1.0, 0.25], "periodic"]},
        {"name": "wavy", "initial": "heat.py:state", "boundaries": ["periodic", ["heat.py:wall", 0.0], "periodic"]},
        {"name": "kept", "initial": 2.0},
    ]
    one = model(grid={"points": (16, 13, 8)}, scalar=scalars)
    x, y, _ = one.velocity.x.coordinates()
    exact = np.cos(np.pi / 2 * x) * np.sinh(np.pi / 2 * (2 - y)) / np.sinh(np.pi)
    assert abs(one.field("wavy") - exact).max() < 1e-15
    run_to(one, 2.0)
    assert abs(one.field("plain") - (1 - 0.375 * y)).max() < 1e-3
    assert abs(one.field("wavy") - exact).max() < 3e-4
    assert abs(one.field("kept") - 2).max() < 1e-13


def test_scalars_limit_the_step():
    """A diffusivity of ten times the viscosity allows a tenth of the step; so does hyperviscosity, by its formula."""
    plain = model().dt
    assert model(scalar=[{"schmidt": 0.1}]).dt == pytest.approx(plain / 10)
    assert model(scalar=[{"schmidt": 10.0}]).dt == pytest.approx(plain)
    damped = model(numerics={"hyperviscosity": {"at_cutoff": 4.0, "middle": 0.44}}).dt
    assert plain / damped == pytest.approx(5 * np.pi**2 / (48 / 7), rel=1e-6)


CASE = """
[case]
flow = "ends.py:initial"
reynolds = 50.0
[grid]
points = [17, 14, 9]
lengths = [4.0, 2.0, 1.5]
boundaries = [["inflow", "outflow"], "wall", "periodic"]
stretching = "walls"
beta = 0.5
[boundary]
velocity = "ends.py:velocity"
[[scalar]]
name = "heat"
initial = "ends.py:heat"
schmidt = 0.7
boundaries = [[1.0, "outflow"], ["ends.py:warm", "no-flux"], "periodic"]
buoyancy = [0.0, 0.5, 0.0]
[time]
dt = "auto"
dt_max = 0.02"""
CASE += parts.TWELVE_STEPS
ENDS = """
import numpy as np


def initial(x, y, z):
    return y * (2 - y) * (1 + 0.1 * np.sin(x)) + 0 * z, 0.1 * np.sin(np.pi * y) * np.sin(x + 4 * np.pi / 3 * z), 0


def velocity(x, y, z, t):
    u = y * (2 - y) * (1 + 0.2 * np.sin(5 * t)) + 0.1 * np.sin(7 * t) * (y < 1e-9)
    return u + 0 * z, 0, 0.1 * np.cos(3 * t) * (y > 1.999)


def heat(x, y, z):
    return np.exp(-x) * (1 + 0.2 * np.cos(4 * np.pi / 3 * z))


def warm(x, y, z, t):
    return np.exp(-x) * np.cos(t)
"""


def written(directory, more=""):
    directory.mkdir()
    (directory / "case.toml").write_text(CASE + more)
    (directory / "ends.py").write_text(ENDS)
    return directory


def test_a_resumed_run_goes_on_to_the_last_bit(tmp_path, tailrace):
    """With walls that move, an outflow, a scalar and a stretched grid; on other ranks up to rounding."""
    fixed = ["--set", "parallel.rows=1", "--set", "parallel.cols=2", "--set", "parallel.transpose=alltoall"]
    straight, parts = written(tmp_path / "straight"), written(tmp_path / "parts")
    tailrace(straight, "run", "case.toml", *fixed, ranks=2)
    tailrace(parts, "run", "case.toml", "--set", "time.steps=6", *fixed, ranks=2)
    tailrace(parts, "run", "case.toml", "--resume", *fixed, ranks=2)
    expected = cases.state(straight, 12)
    cases.assert_same_state(cases.state(parts, 12), expected)
    assert cases.table(parts / "time_series.csv") == cases.table(straight / "time_series.csv")
    assert {"heat"} < set(expected)
    assert abs(cases.state(parts, 6)["heat"] - expected["heat"]).max() > 1e-3
    other = written(tmp_path / "other")
    tailrace(other, "run", "case.toml", "--set", "time.steps=6", ranks=3)
    tailrace(other, "run", "case.toml", "--resume", ranks=1)
    for name, values in cases.state(other, 12).items():
        assert abs(values - expected[name]).max() <= 1e-11 * max(1.0, abs(expected[name]).max()), name


def test_a_scalar_in_the_outputs_of_every_engine(tmp_path, tailrace):
    blocks = "".join(
        f'[[output]]\nname = "{kind.name}"\nfields = ["uy", "heat"]\nevery = 6\nengine = "{kind.name}"\n'
        f'path = "out-{kind.name}-{kind.place}"\n'
        for kind in KINDS
    )
    place = written(tmp_path / "run", blocks)
    tailrace(place, "run", "case.toml", ranks=3)
    expected = cases.state(place, 12)
    for kind in KINDS:
        with tr.open(place / f"out-{kind.name}-{kind.place}") as series:
            assert [step.index for step in series] == [0, 6, 12]
            last = series[-1]
            assert sorted(last.names) == ["heat", "uy"], kind.name
            for name in last.names:
                assert (last.read(name) == expected[name]).all(), (kind.name, name)
            attributes = series.attributes
            assert attributes["stretching"] == "walls"
            assert attributes["boundaries"] == "dirichlet,dirichlet,periodic"
            heat = last["heat"]  # on the stretched grid, whose derivatives are those of the solver
            rough = np.gradient(np.asarray(heat), heat.coordinates()[1].ravel(), axis=1, edge_order=2)
            assert abs(np.asarray(tr.ddy(heat)) - rough).max() < 0.1 * abs(rough).max(), kind.name


def test_a_function_that_fails_on_the_last_rank(tmp_path, tailrace):
    place = written(tmp_path / "run")
    (place / "ends.py").write_text(ENDS.replace("np.exp(-x) * np.cos(t)", "np.zeros(7)"))
    said = tailrace(place, "run", "case.toml", ranks=2, code=1)
    assert "scalar[0].boundaries[1] returned what does not fit the nodes of an end" in json.dumps(str(said))
