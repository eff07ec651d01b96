"""Forces with exact solutions: Coriolis, linear forcing, a kept flow rate, and what leaves through an outflow."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.inputs.core_flows import CHANNEL, CoreFlow, order, scalar

BOX = ((8, 9, 10), (1.0, 1.3, 0.9))


def runge_kutta(z: complex, steps: int) -> complex:
    """What RK3 makes of dq/dt = z q in steps of size 1."""
    return (1 + z + z**2 / 2 + z**3 / 6) ** steps


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rotation_gives_inertial_oscillations(axis: int) -> None:
    """A uniform velocity turns about each axis, against the rotation: du/dt = -c x u."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    rotation = [0.0, 0.0, 0.0]
    rotation[axis] = 2.0
    flow = CoreFlow(*BOX, viscosity=0.1, coriolis=tuple(rotation))
    start = [0.0, 0.0, 0.0]
    start[first], start[second], start[axis] = 1.0, 0.5, -0.2
    flow.set(*start)
    dt, steps = 0.02, 30
    flow.run(steps, dt)
    turned = (1 + 0.5j) * runge_kutta(-2j * dt, steps)
    assert max(flow.error(first, turned.real), flow.error(second, turned.imag), flow.error(axis, -0.2)) < 1e-14
    exact = (1 + 0.5j) * np.exp(-2j * dt * steps)
    assert abs(turned - exact) < 1e-5
    assert abs(turned - (1 + 0.5j)) > 1


def test_growth_of_all_but_the_mean() -> None:
    """Without viscosity shear waves grow by the factor of the scheme; their mean is only accelerated."""
    flow = CoreFlow(*BOX, viscosity=0, linear=0.7, acceleration=(0.3, 0, 0))
    wave, other = np.sin(2 * np.pi * flow.y / 1.3), np.cos(4 * np.pi * flow.z / 0.9)
    flow.set(1 + wave + other, 0, 0)
    dt, steps = 0.02, 30
    flow.run(steps, dt)
    grown = runge_kutta(0.7 * dt, steps).real
    assert max(flow.error(0, 1 + 0.3 * dt * steps + grown * (wave + other)), flow.error(1, 0), flow.error(2, 0)) < 1e-13


def test_growth_keeps_the_mean_of_a_flow_that_is_not_resolved() -> None:
    """Convection adds a little to it, which would grow with the force to more than the turbulence."""
    flow = CoreFlow((16, 18, 20), (1.0, 1.3, 0.9), viscosity=2e-3, linear=2.5)
    dice = np.random.default_rng(5)
    for i in range(3):
        values = dice.standard_normal(flow.velocity(i).shape)
        flow.velocity(i)[...] = values - values.mean()
    flow.core.invalidate()
    flow.core.project()
    flow.run(1500, 2e-3)
    spread = [flow.velocity(i).std() for i in range(3)]
    assert min(spread) > 1 and max(spread) < 5
    assert max(abs(flow.velocity(i).mean()) for i in range(3)) < 0.1


@pytest.mark.parametrize(
    ("boundaries", "stretching"),
    [
        (CHANNEL, ("", 0.0)),
        (CHANNEL, ("walls", 0.4)),
        (("periodic", "dirichlet", "free-slip|dirichlet"), ("bottom", 0.7)),
        (("periodic", "periodic", "dirichlet"), ("", 0.0)),
        (("periodic", "free-slip", "periodic"), ("walls", 0.4)),
        (("periodic", "dirichlet|free-slip", "periodic"), ("bottom", 0.7)),
    ],
)
def test_a_flow_rate_is_kept_by_a_shift_of_all_nodes(
    boundaries: tuple[str, ...], stretching: tuple[str, float]
) -> None:
    """Without viscosity one Euler step leaves the shifted velocity; walls keep theirs.

    The mean has trapezoidal weights, where y is stretched those of the mapped coordinate. There walls count as a
    whole, as in Xcompact3D.
    """
    flow = CoreFlow(
        (8, 17, 11), (1.0, 2.0, 1.4), boundaries, 1e-14, stretching=stretching, scheme="euler", flow_rate=(0, 0.8)
    )
    u = 1 + 0.3 * flow.y - 0.2 * np.sin(flow.z) + 0 * flow.x
    flow.set(u, 0, 0)
    weights = [np.array(flow.grid.weights(d)) * flow.grid.spacing(d) / (1.0, 2.0, 1.4)[d] for d in range(3)]
    if stretching[0]:
        weights[1] = 1 / np.array(flow.grid.metric(1)) * flow.grid.spacing(1) / 2.0
        lower, _, upper = boundaries[1].partition("|")
        for end, kind in ((0, lower), (-1, upper or lower)):
            weights[1][end] /= 2 if kind == "free-slip" else 1
        if boundaries[1] == "free-slip":
            assert abs(weights[1].sum() - 1) < 1e-6  # the mean of a constant is this constant
    mean = np.einsum("kji,i,j,k", u, *weights)
    flow.run(1, 1e-9)
    inside = (slice(1, -1), slice(1, -1), slice(None))
    assert np.abs(flow.velocity(0) - (u + 0.8 - mean))[inside].max() < 1e-12
    if boundaries[1] == "dirichlet":
        assert np.abs(flow.velocity(0)[:, [0, -1]]).max() < 1e-8


def test_a_kept_flow_rate_becomes_poiseuille_flow() -> None:
    """What walls take away in a stage is given back at the start of the next one: of first order in time."""
    errors = []
    for dt in (0.008, 0.004):
        flow = CoreFlow((8, 13, 8), (1.0, 2.0, 1.4), CHANNEL, 1.0, flow_rate=(2, 2 / 3))
        flow.set(0, 0, 2 / 3)
        flow.run(round(2.4 / dt), dt)
        parabola = 1 - (flow.y - 1) ** 2
        mean = float(np.mean(parabola[:, :-1]))  # by the trapezoidal rule, as it is kept
        errors.append(flow.error(2, parabola / mean * 2 / 3))
    assert errors[1] < 0.01
    assert abs(order(errors[0], errors[1]) - 1) < 0.2, errors


OPEN = ("dirichlet", "periodic", "periodic")


@pytest.mark.parametrize("speed", [("largest", 0.0, False), ("middle", 0.0, True), ("given", 1.0, True)])
def test_a_vortex_and_a_scalar_leave_through_an_outflow(speed: tuple[str, float, bool]) -> None:
    ends = (("given", "convected"), ("given", "given"), ("given", "given"))
    flow = CoreFlow((49, 24, 8), (3.0, 2.0, 1.0), OPEN, 0.01, scalars=[scalar(0.01, OPEN, ends)])
    x, y = flow.x - 2.0, flow.y - 1.0
    bump = np.exp(-(x**2 + y**2) / 0.09)
    flow.set(1 - 0.6 * y * bump, 0.6 * x * bump, 0)
    flow.core.scalar(0)[...] = bump
    flow.core.face(0, False, 0)[...] = 1.0
    flow.core.make_outflow(0, *speed)
    flow.core.project()
    before = [max(flow.error(0, 1), flow.error(1, 0)), float(flow.core.scalar(0).max())]
    assert before[0] > 0.05
    for _ in range(4):
        flow.run(25, 0.02)
        # As much flows through every plane; without the balance the difference grows from rounding.
        balanced = speed[2]
        assert flow.core.max_divergence() < (5e-13 if balanced else 1e-10)
        assert np.abs(flow.velocity(0).mean(axis=(0, 1)) - 1).max() < (1e-13 if balanced else 1e-10)
        assert flow.error(0, 1) < 1.3 * before[0]
    assert max(flow.error(0, 1), flow.error(1, 0)) < 0.02 * before[0]
    assert np.abs(flow.core.scalar(0)).max() < 3e-3


@pytest.mark.parametrize("stretching", [("", 0.0), ("walls", 0.5), ("bottom", 0.8)])
def test_an_outflow_between_walls_lets_out_what_comes_in(stretching: tuple[str, float]) -> None:
    flow = CoreFlow((25, 17, 8), (3.0, 2.0, 1.2), ("dirichlet", "dirichlet", "periodic"), 0.02, stretching=stretching)
    parabola = 1.5 * (1 - (flow.y - 1) ** 2) + 0 * flow.z
    bump = np.sin(np.pi * flow.y / 2) ** 2 * np.exp(-8 * (flow.x - 1.5) ** 2) * np.sin(2 * np.pi * flow.z / 1.2)
    flow.set(parabola + 0.3 * bump, 0.2 * bump, 0)
    inflow = flow.core.face(0, False, 0)
    inflow[...] = parabola
    flow.core.make_outflow(0, "largest", 0.0, True)

    def prepare(_start: float, end: float) -> None:
        inflow[...] = parabola * (1 + 0.2 * np.sin(5 * end))

    weights = np.array(flow.grid.weights(1)) * flow.grid.spacing(1)
    for _ in range(10):
        flow.run(4, 0.01, prepare)
        assert flow.core.max_divergence() < 5e-12
        flux = np.einsum("kji,j->i", flow.velocity(0), weights) / 8
        assert np.abs(flux / flux[0] - 1).max() < 2e-3  # by the trapezoidal rule; the solver has weights of its own
    assert np.abs(flow.velocity(0)[:, [0, -1], -1]).max() < 1e-14


def test_kovasznay_flow_between_given_velocities() -> None:
    """A steady solution behind a grid of cylinders, given at both ends: of second order, as between walls."""
    reynolds = 20.0
    decay = reynolds / 2 - np.sqrt(reynolds**2 / 4 + 4 * np.pi**2)

    def error(nodes: int) -> float:
        flow = CoreFlow((nodes, nodes - 1, 8), (1.5, 1.0, 1.0), OPEN, 1 / reynolds)
        wave = np.exp(decay * (flow.x - 0.5)) + 0 * flow.z
        exact = (1 - wave * np.cos(2 * np.pi * flow.y), decay / (2 * np.pi) * wave * np.sin(2 * np.pi * flow.y))
        flow.set(*exact, 0)
        for upper, plane in ((False, slice(0, 1)), (True, slice(-1, None))):
            for i, values in enumerate(exact):
                flow.core.face(0, upper, i)[...] = values[:, :, plane]
        flow.run(150, 0.0015)
        assert flow.core.max_divergence() < 5e-12
        return max(flow.error(i, values) for i, values in enumerate(exact))

    errors = [error(17), error(33)]
    assert order(*errors) > 1.9, errors
    assert errors[1] < 4e-3
