"""The balance of the kinetic energy closes, with every kind of force and of dissipation, and names its parts."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs import cases
from tailrace.core import Grid
from tailrace.flow.measuring.forces import ControlVolume
from tailrace.flow.measuring.slope import last_slope
from tailrace.io.time_series import read_time_series

FLOWS = Path(os.environ.get("TAILRACE_SAMPLES", ".")) / "xcompact3d" / "flows"
PERIODIC = {"points": (24, 20, 16), "lengths": (6.0, 5.0, 4.0), "boundaries": ("periodic",) * 3}
WALLS = {"points": (16, 33, 16), "lengths": (3.0, 2.0, 2.0), "boundaries": ("periodic", "wall", "periodic")}
STRETCHED = {**WALLS, "stretching": "walls", "beta": 0.6}
HEAT = {
    "name": "heat", "initial": "linear", "boundaries": ("periodic", (0.0, 1.0), "periodic"),
    "buoyancy": (0.0, 2.0, 0.0),
}  # fmt: skip
SLIP = {"points": (17, 20, 16), "lengths": (3.0, 5.0, 2.0), "boundaries": ("free-slip", "periodic", "periodic")}


def waves(x, y, z, lengths, slip):
    """Waves without symmetry that go to zero at walls in y, and do not go through free-slip ends of x."""
    a, b, c = (2 * np.pi / length for length in lengths)
    at_walls = np.sin(b * y / 2) ** 2
    ux = at_walls * (np.sin(a * x / 2) if slip else 1) * (1 + 0.4 * np.sin(a * x + 0.3) * np.cos(c * z))
    return ux, 0.2 * at_walls * np.cos(a * x) * np.sin(c * z + 0.2), 0.3 * at_walls * np.sin(2 * a * x + 0.1) + 0 * z


def push(x, y, z, t):
    return 0.2 * np.sin(y) * np.cos(t) + 0 * x * z, 0.1 * np.cos(x) + 0 * y * z, 0 * x * y * z


def run(tmp_path, grid, *, resume=False, function=None, **sections):
    """The columns of a short run."""
    told = {"case": {"reynolds": 200.0, "flow": "uniform"}, "time": {"dt": 0.002, "steps": 24}, **sections}
    case = tr.Case(grid=grid, diagnostics={"every": 6, "path": str(tmp_path / "rows.csv")}, **told)
    flow = None if resume else lambda x, y, z: waves(x, y, z, grid["lengths"], grid is SLIP)
    with tr.Simulation(
        case, MPI.COMM_SELF, flow=flow, forcing=function, resume=resume, overwrite=not resume
    ) as simulation:
        for _ in simulation.steps():
            pass
    return read_time_series(tmp_path / "rows.csv")


BALANCES = {
    "viscosity": (PERIODIC, {}),
    "free-slip": (SLIP, {}),
    "walls": (WALLS, {}),
    "stretched": (STRETCHED, {}),
    "hyperviscosity": (PERIODIC, {"numerics": {"hyperviscosity": {"at_cutoff": 50.0}}}),
    "hyperviscosity at walls": (STRETCHED, {"numerics": {"hyperviscosity": {"at_cutoff": 50.0}}}),
    "eddies": (PERIODIC, {"numerics": {"eddy_viscosity": {"model": "wale"}}}),
    "implicit": (STRETCHED, {"numerics": {"implicit_y": True}}),
    "flow rate": (STRETCHED, {"forcing": {"flow_rate": 0.6}}),
    "acceleration": (WALLS, {"forcing": {"acceleration": (0.2, 0.0, 0.1)}}),
    "linear": (PERIODIC, {"forcing": {"linear": 0.3}}),
    "coriolis": (PERIODIC, {"forcing": {"coriolis": (0.1, 0.7, 0.2)}}),
    "band": (PERIODIC, {"forcing": {"band": {"k_min": 1.1, "k_max": 2.5, "power": 0.1}}}),
    "function": (PERIODIC, {"forcing": push}),
    "function and band": (PERIODIC, {"forcing": push, "band": True}),
    "buoyancy": (WALLS, {"scalar": [HEAT]}),
    "a moving wall": (WALLS, {"boundary": {"y_upper": (0.4, 0.0, 0.1)}}),
}


def sections_of(told):
    told = dict(told)
    if callable(told.get("forcing")):
        band = {"forcing": {"band": {"k_min": 1.1, "k_max": 2.5, "power": 0.1}}} if told.pop("band", False) else {}
        return {"function": told.pop("forcing")}, band
    return {}, told


@pytest.mark.parametrize("kind", BALANCES)
def test_the_balance_closes(tmp_path, kind):
    grid, told = BALANCES[kind]
    given, sections = sections_of(told)
    rows = run(tmp_path, grid, **given, **sections)
    residual, dissipation = rows["energy_residual"], rows["dissipation_laplacian"]
    assert np.isnan(residual[0]) and np.isfinite(residual[1:]).all()
    scale = np.maximum(dissipation, np.abs(rows.get("work", dissipation)))
    assert np.abs(residual[1:] / scale[1:]).max() < 1e-3, residual / scale
    # The same by the energies of the rows, as far apart as they are.
    if kind not in ("band", "function and band"):
        work = rows.get("work", np.zeros(5))
        change = np.diff(rows["kinetic_energy"])
        supply = np.diff(rows["time"]) * (0.5 * (work - dissipation)[1:] + 0.5 * (work - dissipation)[:-1])
        assert np.abs(change[1:] - supply[1:]).max() < 5e-3 * np.abs(dissipation).max() * 0.012


def test_each_part_has_a_column_where_it_is(tmp_path):
    def names(**sections):
        grid = sections.pop("grid", PERIODIC)
        return set(run(tmp_path, grid, time={"dt": 0.002, "steps": 1}, **sections))

    plain = names()
    assert "energy_residual" in plain and not plain & {"work", "driving_force", "dissipation_eddy"}
    assert names(numerics={"hyperviscosity": {}}) - plain == {"dissipation_hyperviscous"}
    assert names(numerics={"eddy_viscosity": {"model": "wale"}}) - plain == {"dissipation_eddy"}
    assert {"dissipation_implicit"} < names(grid=WALLS, numerics={"implicit_y": True})
    assert {"work", "driving_force"} < names(grid=WALLS, forcing={"flow_rate": 1.0})
    through = {"grid": {**WALLS, "boundaries": (["inflow", "outflow"], "wall", "periodic"), "points": (17, 33, 16)}}
    assert "energy_residual" not in names(**through, boundary={"x_lower": (1.0, 0.0, 0.0)})


def test_the_driving_force_of_a_laminar_channel(tmp_path):
    """It is 2 nu U / h^2 with the centre velocity U = 1, which is 1.5 times the mean, and h = 1."""
    grid = {**STRETCHED, "points": (8, 33, 8)}
    case = tr.Case(
        case={"reynolds": 50.0, "flow": "channel"},
        grid=grid,
        forcing={"flow_rate": 2 / 3},
        time={"dt": 0.002, "steps": 200},
    )
    model = tr.Model(case, MPI.COMM_SELF)
    while model.step < 200:
        model.advance()
    numbers = model.measure()
    assert numbers["driving_force"] == pytest.approx(2 / 50, rel=2e-3)
    assert numbers["mean_ux"] == pytest.approx(2 / 3, rel=1e-4)
    assert numbers["work"] == pytest.approx(numbers["dissipation_laplacian"], rel=2e-3)


@pytest.mark.parametrize("scheme", ["euler", "rk3"])
def test_a_shortened_step_changes_no_driving_force(scheme):
    """A step that ends at a time may be a hundredth of the others; the force is not a hundred times as large."""
    case = tr.Case(
        case={"reynolds": 50.0, "flow": "channel"},
        grid={**STRETCHED, "points": (8, 33, 8)},
        forcing={"flow_rate": 2 / 3},
        time={"dt": 0.002, "steps": 400, "scheme": scheme},
    )
    model = tr.Model(case, MPI.COMM_SELF)
    box = ControlVolume(model.flow, model.grid, (None, (0.0, 0.5), None))
    found, drags = [], []
    for step in range(320):
        model.advance([model.time + 2e-5] if step % 10 == 9 else None)
        if step >= 300:
            found.append(model.measure()["driving_force"])
            drags.append(box(model.time)[0])
    assert np.abs(np.array(found) / (2 / 50) - 1).max() < 2e-3
    # The box holds no body, so no force is left, but for what the force on the fluid in it misses.
    assert np.abs(drags[2:]).max() < 0.01 * 2 / 50 * 3.0 * 0.5 * 2.0


def test_a_resumed_run_has_the_same_balance(tmp_path):
    """To the last bit, as of a run that was not interrupted, also where the checkpoint is between two rows."""
    rows = []
    for name, parts in (("whole", (24,)), ("parts", (10, 24))):
        place = tmp_path / name
        place.mkdir()
        for number, steps in enumerate(parts):
            sections = {"forcing": {"flow_rate": 0.6}, "time": {"dt": 0.002, "steps": steps}}
            sections["checkpoint"] = {"every": 10, "path": str(place / "checkpoints")}
            found = run(place, WALLS, resume=number > 0, **sections)
        rows.append(found)
    for name, values in rows[0].items():
        at = np.searchsorted(rows[1]["step"], rows[0]["step"])
        assert np.array_equal(values, rows[1][name][at], equal_nan=True), name


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_columns_do_not_depend_on_the_ranks(tmp_path, ranks):
    extra = "[forcing]\nlinear = 0.2\n[numerics.hyperviscosity]\nat_cutoff = 9.0\n"
    found = []
    for size in (1, ranks):
        case = cases.write_case(
            tmp_path / str(size), "free-slip", steps=8, diagnostics=4, extra="[forcing]\nlinear = 0.2\n"
        )
        case.write_text(case.read_text() + extra.split("linear = 0.2\n")[1])
        assert cases.run(case, ranks=size).code == 0
        found.append(read_time_series(case.parent / "time_series.csv"))
    for name, values in found[0].items():
        np.testing.assert_allclose(found[1][name], values, rtol=1e-9, atol=1e-13, err_msg=name)


def test_the_dissipation_of_hyperviscosity_is_that_of_the_reference():
    """isecondder = 5: the fourth column of time_evol.dat includes the part of hyperviscosity."""
    if not FLOWS.exists():
        pytest.skip("TAILRACE_SAMPLES is not set")
    from tailrace.case.xcompact3d.input import read_input

    case, _ = read_input(FLOWS / "tgv_phi5" / "input.i3d", ["diagnostics.every=10"])
    nx, ny, nz = case.grid.points
    with lzma.open(FLOWS / "tgv_phi4" / "init.bin.xz") as file:
        fields = np.frombuffer(file.read()).reshape(-1, nz, ny, nx)
    model = tr.Model(case, MPI.COMM_SELF, flow=list(fields[:3]))
    with lzma.open(FLOWS / "tgv_phi5" / "time_evol.dat.xz", "rt") as file:
        rows = np.loadtxt(file)
    while model.step < 40:
        model.advance()
        if model.step % 10 == 0:
            row, numbers = rows[model.step // 10 - 1], model.measure()
            for name, column in (
                ("kinetic_energy", 1),
                ("dissipation", 2),
                ("dissipation_laplacian", 3),
                ("enstrophy", 4),
            ):
                assert numbers[name] == pytest.approx(row[column], rel=1e-10), (name, model.step)
            assert 0 < numbers["dissipation_hyperviscous"] < numbers["dissipation_laplacian"] - numbers["dissipation"]


@pytest.mark.parametrize("law", [("walls", 0.6), ("centre", 0.6), ("bottom", 0.6)])
def test_weights_are_those_of_the_uniform_coordinate(law):
    """Exact for constants; equal to a Gauss rule for what vanishes at walls; the same for nodes and centres."""
    grid = Grid((8, 33, 8), (1.0, 2.0, 1.0), ("periodic", "dirichlet", "periodic"), *law)
    for centred in (False, True):
        weights = np.array(grid.weights(1, centred)) * grid.spacing(1)
        y = np.array(grid.coordinates(1, centred))
        assert weights.sum() == pytest.approx(2.0, rel=1e-15)
        assert weights @ (1 - (y - 1) ** 2) == pytest.approx(4 / 3, rel=4e-3 if law[0] != "walls" else 4e-4)
        inside = slice(None) if centred else slice(1, -1)
        share = weights[inside] * np.array(grid.metric(1, centred))[inside]
        assert np.ptp(share) < 1e-9 * share.mean()


def test_the_slope_of_a_polynomial_is_exact():
    times = [0.3, 0.5, 0.6, 1.1]
    values = [np.array([1.0, t**3 - 2 * t]) for t in times]
    assert last_slope(times, values) == pytest.approx([0.0, 3 * 1.1**2 - 2], abs=1e-12)
    assert last_slope(times[:2], [2 * t for t in times[:2]]) == pytest.approx(2.0)
    assert np.isnan(last_slope([1.0], [2.0]))
