"""Initial velocities along x that depend on y: a channel, a mixing layer, a uniform stream. All is local."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.scripts import Velocity
from tailrace.case.sections.case_section import CHANNEL, MIXING_LAYER, FlowParameters
from tailrace.core import Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray


def shear_flow(name: str, parameters: FlowParameters | None, grid: Grid) -> Velocity:
    """The flow that a case names.

    "channel": 1 - (2 y / Ly - 1)^2; "mixing-layer": a hyperbolic tangent about the middle of y; "uniform": a number.
    Noise has the same values on every number of ranks. It is largest in the middle of y in a channel, and zero at its
    walls; elsewhere it is zero where the boundaries are not periodic.
    """
    told = parameters or FlowParameters()
    half = grid.lengths[1] / 2

    def mean(y: NDArray[Any]) -> NDArray[Any]:
        if name == CHANNEL:
            return 1 - (y / half - 1) ** 2
        if name == MIXING_LAYER:
            lower, upper = _or(told.lower, -0.5), _or(told.upper, 0.5)
            steepness = 2 / _or(told.thickness, 1.0)
            return (lower + upper) / 2 + (upper - lower) / 2 * np.tanh(steepness * (y - half))
        return np.full_like(y, _or(told.speed, 1.0))

    def velocity(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> list[Any]:
        noise = noise_of(told, grid, x, y, z, in_channel=name == CHANNEL)
        return [mean(y) + noise[0], noise[1], noise[2]]

    return velocity


def noise_of(
    told: FlowParameters, grid: Grid, x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], in_channel: bool
) -> NDArray[np.float64]:
    """The random part of the three components on these nodes."""
    noise = _or(told.noise, 0.0) * _noise(grid, x, y, z, 1 if told.seed is None else told.seed)
    weight = np.exp(-0.2 * (2 * y / grid.lengths[1] - 1) ** 2) if in_channel else np.ones_like(y)
    for d, places in enumerate((x, y, z)):
        if grid.boundaries[d] != "periodic":
            weight = weight * np.sin(np.pi * places / grid.lengths[d]) ** 2
    return np.asarray(weight * noise)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _noise(grid: Grid, x: NDArray[Any], y: NDArray[Any], z: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Numbers from -1 to 1 for the three components on these nodes, each plane in z from a generator of its own."""
    nx, ny, _ = grid.nodes
    first = [
        int(np.argmin(np.abs(np.array(grid.coordinates(d)) - (one.flat[0] if one.size else 0.0))))
        for d, one in enumerate((x, y, z))
    ]
    found = np.empty((3, z.size, y.size, x.size))
    for k in range(z.size):
        # The raw numbers of Philox are the same in every version of NumPy.
        raw = np.random.Philox(key=[seed, first[2] + k]).random_raw(3 * nx * ny)
        plane = ((raw >> np.uint64(11)) * 2.0**-52 - 1).reshape(3, ny, nx)
        found[:, k] = plane[:, first[1] : first[1] + y.size, first[0] : first[0] + x.size]
    return found
