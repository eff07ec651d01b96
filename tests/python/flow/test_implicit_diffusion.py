"""Implicit diffusion along y: exact solutions, orders in time, restarts, ranks, time steps and cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.core_flows import CHANNEL, Array, CoreFlow, order, scalar
from helpers.programs import parts
from tailrace import core as _core
from tailrace.flow.stability import FIRST, SECOND, Stability, amplification, with_implicit

VISCOSITY = 0.1
HEIGHT = 2.0
SLIP = ("periodic", "free-slip", "periodic")
MIXED = ("periodic", "dirichlet|free-slip", "periodic")
GRIDS = [("", 0.0), ("walls", 0.1), ("centre", 1.0), ("bottom", 0.3)]
HYPER = {"hyperviscosity": (4.0, 0.44)}


def channel(
    nodes: int, stretching: tuple[str, float] = ("", 0.0), boundaries: Any = CHANNEL, **options: Any
) -> CoreFlow:
    options = {"viscosity": VISCOSITY, "implicit_y": True} | options
    return CoreFlow((8, nodes, 8), (1.0, HEIGHT, 1.2), boundaries, stretching=stretching, **options)


def number(flow: CoreFlow, dt: float, viscosity: float = VISCOSITY) -> float:
    """The viscous number along y; explicit steps need less than about 0.36."""
    return viscosity * dt / min(flow.grid.distances(1)) ** 2


# ---- exact solutions -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, HYPER], ids=["plain", "hyperviscous"])
@pytest.mark.parametrize("scheme", ["rk3", "ab2", "euler"])
def test_poiseuille_and_couette_flow_stay(scheme: str, options: dict[str, Any]) -> None:
    """In large steps; the wall above moves."""
    flow = channel(49, acceleration=(2 * VISCOSITY, 0, 0.6 * VISCOSITY), scheme=scheme, **options)
    parabola, line = 1 - (flow.y - 1) ** 2, 0.5 * flow.y
    flow.set(parabola + line, 0, 0.3 * parabola)
    flow.core.face(1, True, 0)[...] = 0.5 * HEIGHT
    dt = 0.08 if not options else 0.02
    assert number(flow, dt) > (4 if not options else 1)
    flow.run(100, dt)
    assert max(flow.error(0, parabola + line), flow.error(1, 0), flow.error(2, 0.3 * parabola)) < 1e-12


def test_the_state_of_a_stretched_channel_does_not_depend_on_the_step() -> None:
    """Poiseuille flow is not exact there, and its schemes' own state is that of explicit steps."""
    found = []
    for implicit, dt, steps in ((False, 0.0015, 8000), (True, 0.04, 400)):
        flow = channel(17, ("walls", 0.3), viscosity=1.0, acceleration=(2, 0, 0), implicit_y=implicit, scheme="euler")
        flow.set(1 - (flow.y - 1) ** 2, 0, 0)
        flow.run(steps, dt)
        found.append(flow.velocity(0).copy())
    assert np.abs(found[0] - found[1]).max() < 1e-12
    assert np.abs(found[0] - (1 - (flow.y - 1) ** 2)).max() > 1e-7


FREQUENCY = 3.0


def stokes(y: Array, time: float) -> Array:
    """Stokes' second problem between two walls: the lower one moves with cos(omega t)."""
    k = np.sqrt(1j * FREQUENCY / VISCOSITY)
    return np.real(np.exp(1j * FREQUENCY * time) * np.sinh(k * (HEIGHT - y)) / np.sinh(k * HEIGHT))


NEAR = ("walls", 0.3)  # with 97 nodes


def oscillating(scheme: str, stretching: tuple[str, float], steps: int) -> CoreFlow:
    flow = channel(97 if stretching[0] else 33, stretching, scheme=scheme)
    flow.set(stokes(flow.y, 0), 0, 0)
    wall = flow.core.face(1, False, 0)

    def prepare(_start: float, end: float) -> None:
        wall[...] = np.cos(FREQUENCY * end)

    flow.run(steps, 0.8 / steps, prepare)
    return flow


@pytest.mark.parametrize("stretching", [("", 0.0), NEAR], ids=["uniform", "stretched"])
@pytest.mark.parametrize("scheme", ["rk3", "ab2", "euler"])
def test_order_in_time_beside_an_oscillating_wall(scheme: str, stretching: tuple[str, float]) -> None:
    """There is no convection, so that the order is that of Crank-Nicolson with every scheme on a uniform grid."""
    exact, coarse, fine = (oscillating(scheme, stretching, steps) for steps in (400, 32, 64))
    errors = [float(np.abs(each.velocity(0) - exact.velocity(0)).max()) for each in (coarse, fine)]
    expected = 1 if scheme == "euler" and stretching[0] else 2  # of the slope in the second derivative, explicit
    assert abs(order(errors[0], errors[1]) - expected) < 0.2, errors
    assert np.abs(exact.velocity(0) - stokes(exact.y, 0.8)).max() < 1e-3
    if stretching[0]:
        assert number(fine, 0.0125) > 15


@pytest.mark.parametrize("options", [{}, HYPER], ids=["plain", "hyperviscous"])
def test_order_in_time_of_a_decaying_mode(options: dict[str, Any]) -> None:
    """cos(pi y) at free slip, which the schemes multiply by their own wave number squared: exact in space."""
    flow = channel(33, boundaries=SLIP, viscosity=1.0, **options)  # its y
    mode, w = np.cos(np.pi * flow.y), 2 * np.pi / 32
    factor = -(24 / 11 * (1 - np.cos(w)) + 3 / 22 * (1 - np.cos(2 * w))) / (1 + 4 / 11 * np.cos(w)) * 16**2
    if options:  # that of a wave so long is that of the derivative itself, far below the errors here
        factor = -(np.pi**2)
    errors = []
    for steps in (10, 20):
        flow = channel(33, boundaries=SLIP, viscosity=1.0, **options)
        flow.set(mode, 0, 0.5 * mode)
        flow.run(steps, 0.4 / steps)
        errors.append(flow.error(0, np.exp(0.4 * factor) * mode))
        assert flow.error(2, 0.5 * flow.velocity(0)) < 1e-14
    assert number(flow, 0.02, 1.0) > 5
    assert abs(order(*errors) - 2) < 0.1, errors
    assert errors[1] < 1e-3


@pytest.mark.parametrize("boundaries", [CHANNEL, SLIP, MIXED], ids=["walls", "slip", "mixed"])
@pytest.mark.parametrize("stretching", GRIDS)
@pytest.mark.parametrize("options", [{}, HYPER], ids=["plain", "hyperviscous"])
def test_noise_decays_in_large_steps(boundaries: Any, stretching: tuple[str, float], options: dict[str, Any]) -> None:
    flow = channel(25, stretching, boundaries, viscosity=0.02, **options)
    noise = np.random.default_rng(3).standard_normal((3, 8, 25, 8))
    flow.set(*(0.1 * noise))
    flow.core.project()
    before = max(np.abs(flow.velocity(i)).max() for i in range(3))
    dt = 0.02
    flow.run(200, dt)
    assert max(np.abs(flow.velocity(i)).max() for i in range(3)) < 0.3 * before
    assert flow.core.max_divergence() < 1e-12


# ---- scalars ---------------------------------------------------------------------------------------------------------
KAPPA = 0.25


def heated(steps: int, end: float, boundaries: Any = CHANNEL) -> CoreFlow:
    """A scalar between a wall whose temperature is cos(omega t) and one of 0, from its exact state."""
    flow = channel(97, NEAR, scalars=[scalar(KAPPA, boundaries)])
    flow.core.scalar(0)[...] = temperature(flow.y, 0)
    flow.core.scalar_face(0, 1, True)[...] = 0
    wall = flow.core.scalar_face(0, 1, False)

    def prepare(_start: float, stage_end: float) -> None:
        wall[...] = np.cos(FREQUENCY * stage_end)

    flow.run(steps, end / steps, prepare)
    return flow


def temperature(y: Array, time: float) -> Array:
    k = np.sqrt(1j * FREQUENCY / KAPPA)
    return np.real(np.exp(1j * FREQUENCY * time) * np.sinh(k * (HEIGHT - y)) / np.sinh(k * HEIGHT))


def test_order_in_time_of_a_scalar_beside_a_wall_of_changing_temperature() -> None:
    flow, exact = heated(80, 0.8), heated(480, 0.8).core.scalar(0)
    errors = [float(np.abs(each.core.scalar(0) - exact).max()) for each in (heated(40, 0.8), flow)]
    assert abs(order(*errors) - 2) < 0.2, errors
    assert number(flow, 0.01, KAPPA) > 20
    assert np.abs(flow.core.scalar(0) - temperature(flow.y, 0.8)).max() < 2e-3
    assert flow.core.scalar(0)[0, 0, 0] == pytest.approx(np.cos(FREQUENCY * 0.8), abs=1e-13), "the value at the end"


def test_a_scalar_without_flux_keeps_its_mean() -> None:
    flow = channel(17, scalars=[scalar(KAPPA, SLIP)])
    flow.core.scalar(0)[...] = 1 + np.cos(np.pi * flow.y) + 0.5 * np.cos(2 * np.pi * flow.y)
    flow.run(200, 0.1)
    assert number(flow, 0.1, KAPPA) > 1.5
    assert np.abs(flow.core.scalar(0) - 1).max() < 1e-12


# ---- runs ------------------------------------------------------------------------------------------------------------
CASE = """
[case]
flow = "ends.py:initial"
reynolds = 50.0
[grid]
points = [16, 14, 9]
lengths = [4.0, 2.0, 1.5]
boundaries = ["periodic", "wall", "periodic"]
stretching = "walls"
beta = 0.1
[boundary]
velocity = "ends.py:velocity"
[numerics]
implicit_y = true
hyperviscosity = {}
[[scalar]]
name = "heat"
initial = "ends.py:heat"
schmidt = 0.7
boundaries = ["periodic", ["ends.py:warm", "no-flux"], "periodic"]
buoyancy = [0.0, 0.5, 0.0]
[time]
SCHEME"""
CASE += parts.TWELVE_STEPS
ENDS = (
    parts.SHEARED
    + """

def velocity(x, y, z, t):
    return 0.1 * np.sin(7 * t) * (y < 1e-9) + 0 * x + 0 * z, 0, 0.1 * np.cos(3 * t) * (y > 1.999)


def heat(x, y, z):
    return 1 - y / 2 + 0 * x + 0 * z


def warm(x, y, z, t):
    return 1 + 0.2 * np.sin(5 * t) * np.cos(np.pi * x) + 0 * z
"""
)
SCHEMES = {"rk3": 'dt = "auto"\ndt_max = 0.02', "ab2": 'scheme = "ab2"\ndt = 0.01'}


def written(folder: Path, scheme: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ends.py").write_text(ENDS)
    (folder / "case.toml").write_text(CASE.replace("SCHEME", SCHEMES[scheme]))
    return folder / "case.toml"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_restart_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    resumed = parts.assert_a_restart_changes_nothing(lambda folder: written(folder, scheme), tmp_path, monkeypatch)
    with pytest.raises(_core.InputError, match=r"numerics.implicit_y = False \(before: True\)"):
        parts.simulate(resumed, "numerics.implicit_y=false", "time.steps=14", resume=True)


@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_the_number_of_ranks_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tailrace: Any, ranks: int
) -> None:
    names = ("ux", "uy", "uz", "heat")
    parts.assert_ranks_do_not_matter(
        lambda folder: written(folder, "rk3"), tmp_path, monkeypatch, tailrace, ranks, names
    )


# ---- time steps and cases --------------------------------------------------------------------------------------------
def test_dampings_that_are_implicit_do_not_limit_the_step() -> None:
    spacing = (0.1, 0.001, 0.2)
    explicit, implicit = (Stability("rk3", spacing, 0.01, implicit_y=flag) for flag in (False, True))
    assert implicit.largest_step(0.0) == pytest.approx(2.5127 / (0.01 * 48 / 7 * (100 + 25)), rel=0.06)
    assert implicit.largest_step(0.0) > 1e3 * explicit.largest_step(0.0)
    assert implicit.largest_step(5.0) == pytest.approx(np.sqrt(3) / 1.9894 / 5.0, rel=0.2)
    assert Stability("rk3", spacing, 0.01, implicit_y=True, slope=5.0).largest_step(0.0) < 0.2


@pytest.mark.parametrize("scheme", ["euler", "ab2", "ab3", "rk3"])
def test_nothing_grows_with_any_implicit_damping_at_the_chosen_share(scheme: str) -> None:
    """0.9 of the largest step is taken; the modes are computed again, with all dampings instead of a few."""
    z = np.array([-0.3 + 0.2j, -0.5 + 0.1j])
    assert with_implicit(scheme, z, np.zeros(2)) == pytest.approx(amplification(scheme, z), rel=1e-12)
    assert with_implicit(scheme, 0 * z, np.array([1.0, 1e6])).max() <= 1
    for spacing, rate in (((0.1, 0.001, 0.2), 3.0), ((0.1, 0.05, 0.2), 0.0), ((1.0, 0.2, 1.0), 0.05)):
        stability = Stability(scheme, spacing, 0.01, implicit_y=True)
        dt = 0.9 * stability.largest_step(rate)
        assert dt > 0
        x, y, z = (0.01 * dt * SECOND / h**2 for h in spacing)
        moves = 1j * dt * rate * FIRST
        for damping in np.linspace(0, 1, 30) ** 3 * y.max():
            for along, other in ((x, z.max()), (z, x.max())):
                for across in (0.0, other / 2, other):
                    factors = with_implicit(scheme, moves - along - across, damping + 0 * along)
                    assert factors.max() <= 1 + 1e-9, (spacing, damping, across)
        for across in np.linspace(0, x.max() + z.max(), 30):
            assert with_implicit(scheme, moves - across, y).max() <= 1 + 1e-9, (spacing, across)


def case_of(**sections: Any) -> tr.Case:
    document = {
        "case": {"reynolds": 100.0, "flow": "uniform", "parameters": {"speed": 0.0}},
        "grid": {"points": (8, 13, 9), "lengths": (4.0, 2.0, 3.0), "boundaries": ["periodic", "wall", "periodic"]},
        "time": {"dt": "auto", "end": 10.0},
        "numerics": {"implicit_y": True},
    }
    return tr.Case(**{key: {**document.get(key, {}), **value} if isinstance(value, dict) else value
                      for key, value in (document | sections).items()})  # fmt: skip


def test_the_chosen_step_is_larger() -> None:
    near = {"stretching": "walls", "beta": 0.1}
    implicit, explicit = (
        tr.Model(case_of(grid=near, numerics={"implicit_y": flag}), MPI.COMM_SELF).dt for flag in (True, False)
    )
    assert implicit > 5 * explicit, (implicit, explicit)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"grid": {"boundaries": ["periodic"] * 3}}, r"needs a y with ends, such as walls"),
        ({"body": {"shape": "sphere", "centre": [2.0, 1.0, 1.0], "radius": 0.3}}, r"does not go with \[body\]"),
        ({"scalar": [{"boundaries": ["periodic", [0.0, "deposit"], "periodic"]}]}, r"scalar\[0\].*is 'deposit'"),
        ({"scalar": [{"boundaries": ["periodic", ["free", 0.0], "periodic"]}]}, r"scalar\[0\].*is 'free'"),
    ],
)
def test_what_does_not_go_with_it(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(tr.ConfigError, match=said):
        case_of(**sections)
