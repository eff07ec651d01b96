"""Exact solutions between walls: they stay, or are met with the orders that docs/theory/schemes.md states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from helpers.inputs.core_flows import CHANNEL, Array, CoreFlow, order

VISCOSITY = 0.1
HEIGHT = 2.0
GRIDS = [("", 0.0), ("walls", 0.5), ("centre", 1.0), ("bottom", 0.8)]
SYMMETRIC = GRIDS[:2]


def channel(nodes: int, stretching: tuple[str, float] = ("", 0.0), **options: object) -> CoreFlow:
    options.setdefault("viscosity", VISCOSITY)
    return CoreFlow((8, nodes, 8), (1.0, HEIGHT, 1.2), CHANNEL, stretching=stretching, **options)  # type: ignore[arg-type]


def orders_of(error_with: Callable[[int], float], nodes: tuple[int, ...]) -> tuple[float, float]:
    """The order between the last two grids, and the last error."""
    errors = [error_with(n) for n in nodes]
    assert errors[-1] > 1e-12, "too close to rounding to tell the order"
    return order(errors[-2], errors[-1], (nodes[-1] - 1) / (nodes[-2] - 1)), errors[-1]


def test_poiseuille_flow_stays() -> None:
    flow = channel(17, acceleration=(2 * VISCOSITY, 0, 0.6 * VISCOSITY))
    parabola = 1 - (flow.y - 1) ** 2
    flow.set(parabola, 0, 0.3 * parabola)
    flow.run(40, 0.01)
    assert max(flow.error(0, parabola), flow.error(1, 0), flow.error(2, 0.3 * parabola)) < 1e-14


def starting(y: Array, time: float) -> Array:
    """Flow between walls under an acceleration of 2 nu that begins at rest (a series of sines)."""
    u = 1 - (y - 1) ** 2
    for n in range(1, 200, 2):
        u = u - 32 / (np.pi * n) ** 3 * np.sin(n * np.pi * y / 2) * np.exp(-VISCOSITY * (n * np.pi / 2) ** 2 * time)
    return u


def test_an_acceleration_from_rest_gives_the_series() -> None:
    """From rest the walls feel a jump, so this is not about the order."""
    flow = channel(33, acceleration=(2 * VISCOSITY, 0, 0))
    flow.run(200, 0.005)
    assert flow.error(0, starting(flow.y, 1.0)) < 2e-4
    assert np.abs(flow.velocity(0)).max() > 0.15


@pytest.mark.parametrize("stretching", GRIDS)
def test_order_of_a_starting_flow(stretching: tuple[str, float]) -> None:
    def error(nodes: int) -> float:
        flow = channel(nodes, stretching, acceleration=(2 * VISCOSITY, 0, 0))
        flow.set(starting(flow.y, 1.0), 0, 0)
        flow.run(100, 0.001)
        return flow.error(0, starting(flow.y, 1.1))

    measured, last = orders_of(error, (25, 49))
    assert measured > 3.8, measured
    assert last < 1e-5


def test_couette_flow_stays() -> None:
    flow = channel(17)
    flow.set(0.75 * flow.y, 0, -0.3 * flow.y)
    flow.core.face(1, True, 0)[...] = 1.5
    flow.core.face(1, True, 2)[...] = -0.6
    flow.run(40, 0.01)
    assert max(flow.error(0, 0.75 * flow.y), flow.error(1, 0), flow.error(2, -0.3 * flow.y)) < 1e-14


def test_a_moving_wall_drags_the_flow_along() -> None:
    """The steady state after a start from rest, with the slowest decaying mode of the exact solution."""
    flow = channel(13, viscosity=1.0)
    flow.core.face(1, False, 2)[...] = 1.0
    flow.run(1000, 0.002)
    slowest = np.exp(-((np.pi / HEIGHT) ** 2) * flow.time) * 2 / np.pi * np.sin(np.pi * flow.y / HEIGHT)
    assert flow.error(2, 1 - flow.y / HEIGHT - slowest) < 2e-4
    assert flow.error(2, 1 - flow.y / HEIGHT) > 3e-3


FREQUENCY = 3.0


def stokes(y: Array, time: float) -> Array:
    """Stokes' second problem between two walls: the lower one moves with cos(omega t)."""
    k = np.sqrt(1j * FREQUENCY / VISCOSITY)
    return np.real(np.exp(1j * FREQUENCY * time) * np.sinh(k * (HEIGHT - y)) / np.sinh(k * HEIGHT))


def oscillating(nodes: int, dt: float, end: float, stretching: tuple[str, float], scheme: str = "rk3") -> CoreFlow:
    flow = channel(nodes, stretching, scheme=scheme)
    flow.set(stokes(flow.y, 0), 0, 0)
    wall = flow.core.face(1, False, 0)

    def prepare(_start: float, end: float) -> None:
        wall[...] = np.cos(FREQUENCY * end)

    flow.run(round(end / dt), dt, prepare)
    return flow


@pytest.mark.parametrize("stretching", GRIDS[:2] + GRIDS[3:])
def test_order_in_space_beside_an_oscillating_wall(stretching: tuple[str, float]) -> None:
    def error(nodes: int) -> float:
        flow = oscillating(nodes, 0.001, 0.1, stretching)
        return flow.error(0, stokes(flow.y, flow.time))

    measured, last = orders_of(error, (17, 33))
    assert measured > 3.9, measured
    assert last < 2e-4


@pytest.mark.parametrize(("scheme", "expected"), [("rk3", 3), ("ab2", 2)])
def test_order_in_time_beside_an_oscillating_wall(scheme: str, expected: int) -> None:
    def final(steps: int) -> Array:
        return oscillating(13, 0.8 / steps, 0.8, ("", 0.0), scheme).velocity(0).copy()

    exact = final(800)
    errors = [float(np.abs(final(steps) - exact).max()) for steps in (50, 100)]
    assert abs(order(errors[0], errors[1]) - expected) < 0.15, errors


@pytest.mark.parametrize("stretching", SYMMETRIC)
def test_womersley_flow(stretching: tuple[str, float]) -> None:
    """An oscillating force between walls at rest."""

    def exact(y: Array, time: float) -> Array:
        k = np.sqrt(1j * FREQUENCY / VISCOSITY)
        return np.real((1 - np.cosh(k * (y - 1)) / np.cosh(k)) * np.exp(1j * FREQUENCY * time) / (1j * FREQUENCY))

    def error(nodes: int) -> float:
        flow = channel(nodes, stretching)
        flow.set(exact(flow.y, 0), 0, 0)
        flow.core.add_force()
        force = flow.core.force(0)

        def prepare(start: float, _end: float) -> None:
            force[...] = np.cos(FREQUENCY * start)

        flow.run(100, 0.001, prepare)
        return flow.error(0, exact(flow.y, flow.time))

    measured, last = orders_of(error, (33, 65))
    assert measured > 4.0, measured
    assert last < 5e-6


@pytest.mark.parametrize("stretching", GRIDS[1:])
def test_a_mode_decays_between_walls(stretching: tuple[str, float]) -> None:
    """sin(2 pi y / L), which no stretched grid represents exactly."""
    k = 2 * np.pi / HEIGHT

    def error(nodes: int) -> float:
        flow = channel(nodes, stretching)
        flow.set(np.sin(k * flow.y), 0, 0)
        flow.run(100, 0.0005)
        decayed = np.exp(-VISCOSITY * k**2 * flow.time) * np.sin(k * flow.y)
        return flow.error(0, decayed)

    measured, last = orders_of(error, (65, 97))
    assert measured > 4.2, measured
    assert last < 1e-5


class Manufactured:
    """Rolls that travel between walls at rest, psi = sin^2(pi y / L) cos(k x - c t), with the force that they need.

    The pressure of the exact solution is cos(2 pi y / L) sin(k x - c t).
    """

    k, height, speed, viscosity = np.pi, 1.6, 1.3, 0.05

    def velocity(self, x: Array, y: Array, time: float) -> tuple[Array, Array]:
        a, phase = np.pi / self.height, self.k * x - self.speed * time
        return a * np.sin(2 * a * y) * np.cos(phase), self.k * np.sin(a * y) ** 2 * np.sin(phase)

    def force(self, x: Array, y: Array, time: float) -> tuple[Array, Array]:
        a, k, c, phase = np.pi / self.height, self.k, self.speed, self.k * x - self.speed * time
        cos, sin = np.cos(phase), np.sin(phase)
        g, g1, g2 = np.sin(a * y) ** 2, a * np.sin(2 * a * y), 2 * a**2 * np.cos(2 * a * y)
        g3 = -4 * a**3 * np.sin(2 * a * y)
        along = c * g1 * sin + k * sin * cos * (g * g2 - g1**2) - self.viscosity * (g3 - k**2 * g1) * cos
        across = -c * k * g * cos + k**2 * g * g1 - self.viscosity * k * (g2 - k**2 * g) * sin
        return along + k * np.cos(2 * a * y) * cos, across - 2 * a * np.sin(2 * a * y) * sin

    def run(
        self,
        shape: tuple[int, int],
        steps: int,
        end: float,
        stretching: tuple[str, float],
        scheme: str,
        divergence: str = "mirrored",
    ) -> CoreFlow:
        lengths = (2.0, self.height, 1.0)
        flow = CoreFlow((*shape, 8), lengths, CHANNEL, self.viscosity, stretching=stretching, scheme=scheme,
                        wall_divergence=divergence)  # fmt: skip
        flow.set(*self.velocity(flow.x, flow.y, 0), 0)
        flow.core.add_force()
        forces = [flow.core.force(i) for i in range(2)]

        def prepare(start: float, _end: float) -> None:
            for force, values in zip(forces, self.force(flow.x, flow.y, start), strict=True):
                force[...] = values

        flow.run(steps, end / steps, prepare)
        return flow


@pytest.mark.parametrize(("divergence", "least", "largest"), [("mirrored", 1.9, 0.02), ("one-sided", 3.8, 3e-4)])
@pytest.mark.parametrize("stretching", GRIDS[:2] + GRIDS[3:])
def test_order_of_a_manufactured_flow(
    stretching: tuple[str, float], divergence: str, least: float, largest: float
) -> None:
    """The whole solver is of second order between walls (Laizet and Lamballais 2009), or of fourth.

    Mirrored averages to the cells continue the tangential velocity as an even function beyond a wall, which has a kink
    there.
    """
    made = Manufactured()

    def error(nodes: int) -> float:
        flow = made.run((nodes - 1, nodes), 50, 0.1, stretching, "rk3", divergence)
        assert flow.core.max_divergence() * 2 < 1e-11
        exact = made.velocity(flow.x, flow.y, flow.time)
        return max(flow.error(i, exact[i]) for i in range(2))

    measured, last = orders_of(error, (25, 49))
    assert measured > least, measured
    assert last < largest


def test_the_slip_at_walls_is_of_second_order_in_time() -> None:
    """What is left of the velocity at a wall is the change of the pressure gradient in a stage, times its length."""
    made = Manufactured()
    slips = []
    for steps in (20, 40):
        flow = made.run((12, 13), steps, 0.3, ("walls", 0.6), "rk3")
        assert np.abs(flow.velocity(1)[:, [0, -1]]).max() == 0
        slips.append(float(np.abs(flow.velocity(0)[:, [0, -1]]).max()))
    assert abs(order(slips[0], slips[1]) - 2) < 0.15, slips
    assert 1e-6 < slips[1] < 1e-3


@pytest.mark.parametrize(("scheme", "least"), [("rk3", 1.1), ("ab2", 1.75)])
def test_order_in_time_where_pressure_acts_between_walls(scheme: str, least: float) -> None:
    """Against the same grid with small steps. Stages of RK3 have different lengths, and so different pressures."""
    made = Manufactured()

    def final(steps: int) -> Array:
        flow = made.run((12, 13), steps, 0.3, ("walls", 0.6), scheme)
        return np.array([flow.velocity(i)[:, 2:-2] for i in range(2)])

    exact = final(640)
    errors = [float(np.abs(final(steps) - exact).max()) for steps in (20, 40)]
    assert least < order(errors[0], errors[1]) < least + 0.6, errors
    assert errors[1] < 3e-4
