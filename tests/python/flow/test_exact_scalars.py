"""Exact solutions of scalars: between given values, without flux, settling, buoyant and clipped."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.inputs.core_flows import CHANNEL, PERIODIC, Array, CoreFlow, order, scalar

KAPPA = 0.08
NO_FLUX = (("given", "given"), ("no-flux", "no-flux"), ("given", "given"))


def channel(
    nodes: int, *scalars: object, stretching: tuple[str, float] = ("", 0.0), viscosity: float = 0.1
) -> CoreFlow:
    return CoreFlow((8, nodes, 8), (1.0, 2.0, 1.2), CHANNEL, viscosity, stretching=stretching, scalars=scalars)  # type: ignore[arg-type]


def give_ends(flow: CoreFlow, lower: float, upper: float) -> None:
    flow.core.scalar_face(0, 1, False)[...] = lower
    flow.core.scalar_face(0, 1, True)[...] = upper


def test_diffusion_between_given_values_stays() -> None:
    flow = channel(17, scalar(KAPPA, CHANNEL))
    line = 1 - 0.7 * flow.y
    flow.core.scalar(0)[...] = line
    give_ends(flow, 1, -0.4)
    flow.run(40, 0.01)
    assert np.abs(flow.core.scalar(0) - line).max() < 1e-14
    assert max(flow.error(i, 0) for i in range(3)) == 0


@pytest.mark.parametrize("stretching", [("", 0.0), ("walls", 0.5), ("centre", 1.0), ("bottom", 0.8)])
def test_order_of_diffusion_between_given_values(stretching: tuple[str, float]) -> None:
    def exact(y: Array, time: float) -> Array:
        modes = [0.5 * np.sin(m * np.pi * y / 2) * np.exp(-KAPPA * (m * np.pi / 2) ** 2 * time) for m in (1, 2)]
        return 1 - 0.7 * y + modes[0] + modes[1]

    def error(nodes: int) -> float:
        flow = channel(nodes, scalar(KAPPA, CHANNEL), stretching=stretching)
        flow.core.scalar(0)[...] = exact(flow.y, 0)
        give_ends(flow, 1, -0.4)
        flow.run(100, 0.0005)
        return float(np.abs(flow.core.scalar(0) - exact(flow.y, flow.time)).max())

    errors = [error(65), error(97)]
    assert order(*errors, 1.5) > 3.9, errors
    assert errors[1] < 1e-5


def test_order_without_flux() -> None:
    """At free slip the mirror makes it sixth order; an end that takes the value of its neighbour is of first order."""
    for boundaries, ends, nodes, least in (
        (("periodic", "free-slip", "periodic"), NO_FLUX, (13, 25), 5.9),
        (CHANNEL, NO_FLUX, (49, 97), 0.95),
    ):
        errors = []
        for n in nodes:
            flow = channel(n, scalar(KAPPA, boundaries, ends))

            def exact(y: Array, time: float) -> Array:
                return 1 + 0.5 * np.cos(np.pi * y / 2) * np.exp(-KAPPA * (np.pi / 2) ** 2 * time)

            flow.core.scalar(0)[...] = exact(flow.y, 0)
            flow.run(100, 0.001)
            errors.append(float(np.abs(flow.core.scalar(0) - exact(flow.y, flow.time)).max()))
        assert least < order(*errors) < least + 0.4, errors
        assert errors[1] < 2e-3


def test_what_settles_is_carried_along() -> None:
    """Without diffusion a settling scalar keeps its shape, in every direction."""
    for axis in range(3):
        velocity = [0.0, 0.0, 0.0]
        velocity[axis] = -0.7
        nodes = [8, 8, 8]
        nodes[axis] = 32
        flow = CoreFlow((nodes[0], nodes[1], nodes[2]), (2.0, 2.0, 2.0), scalars=[scalar(0.0, settling=velocity)])
        x = (flow.x, flow.y, flow.z)[axis]
        flow.core.scalar(0)[...] = np.exp(np.sin(np.pi * x))
        flow.run(60, 0.004)
        moved = np.exp(np.sin(np.pi * (x + 0.7 * flow.time)))
        assert np.abs(flow.core.scalar(0) - moved).max() < 1e-5
        assert np.abs(flow.core.scalar(0) - np.exp(np.sin(np.pi * x))).max() > 0.3
        assert max(flow.error(i, 0) for i in range(3)) == 0


def test_what_settles_gathers_at_the_bottom() -> None:
    """At an end without flux towards which a scalar settles, its value rises by what the next node has more."""
    flow = channel(17, scalar(KAPPA, CHANNEL, NO_FLUX, settling=(0, -0.5, 0)), viscosity=0.1)
    flow.core.scalar(0)[...] = 0.2 + 0.3 * flow.y
    one_stage = 0.01 * 8 / 15
    h = flow.grid.spacing(1)
    seen = []
    flow.core.step(0.01, lambda _start, _end: seen.append(flow.core.scalar(0)[:, 0].copy()))
    assert len(seen) == 3
    # The first stage: the bottom takes its share before the right-hand side, whose part is added afterwards.
    bottom = 0.2 + 0.5 * one_stage / h * 0.3 * h
    rate = (seen[1] - bottom) / one_stage
    assert rate.std() < 1e-12
    assert abs(rate.mean() - 0.15) < 0.2  # settling of the slope 0.3, and diffusion of the bend at the bottom
    assert np.abs(seen[1] - seen[0]).min() > 1e-4


def test_layers_at_rest_stay_at_rest() -> None:
    for stretching in (("", 0.0), ("walls", 0.5)):
        flow = channel(17, scalar(KAPPA, CHANNEL, buoyancy=(0, -3.0, 0)), stretching=stretching)
        flow.core.scalar(0)[...] = np.sin(flow.y) ** 2
        give_ends(flow, 0, np.sin(2) ** 2)
        flow.run(20, 0.01)
        assert max(flow.error(i, 0) for i in range(3)) < 1e-13
        pressure = flow.core.derive("pressure")
        assert np.ptp(pressure) > 0.5
        assert np.ptp(pressure, axis=(0, 2)).max() < 1e-12


def test_convection_in_a_slot_stays() -> None:
    """Gravity along the slot, a linear scalar across: nu u'' + g phi = 0 has a cubic solution."""
    flow = channel(17, scalar(KAPPA, CHANNEL, buoyancy=(2.0, 0, -1.0)))
    s = flow.y - 1
    flow.core.scalar(0)[...] = -s
    give_ends(flow, 1, -1)
    cubic = (s**3 - s) / 0.3
    flow.set(cubic, 0, -cubic / 2)
    flow.run(40, 0.01)
    assert max(flow.error(0, cubic), flow.error(1, 0), flow.error(2, -cubic / 2)) < 1e-13


def test_clipping_is_done_on_request_only() -> None:
    settling = (1.0, 0, 0)
    scalars = [scalar(0.001, settling=settling, least=0.0, most=0.9), scalar(0.001, settling=settling)]
    flow = CoreFlow((16, 8, 8), (2.0, 1.0, 1.0), PERIODIC, scalars=scalars)
    for i in (0, 1):
        flow.core.scalar(i)[...] = np.abs(flow.x - 1) < 0.4
    flow.run(10, 0.02)
    clipped, free = flow.core.scalar(0), flow.core.scalar(1)
    assert clipped.min() >= 0
    assert clipped.max() <= 0.9
    assert free.min() < -0.02
    assert free.max() > 1.02
