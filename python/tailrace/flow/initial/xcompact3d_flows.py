"""The velocities with which the cases of Xcompact3D begin, with all that is peculiar to them. All is local."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.scripts import Velocity
from tailrace.case.sections.case_section import MIXING_LAYER, TAYLOR_GREEN, FlowParameters
from tailrace.core import Grid

from .shear_flows import noise_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of the mixing layer (Fortune 2004): waves in x, and how large each is beside the first.
_WAVES = ((4, 1.0), (2, 1 / 8), (1, 1 / 16))


def xcompact3d_flow(parameters: FlowParameters | None, grid: Grid) -> Velocity:
    """The first velocity of a case of Xcompact3D 5.0, on a box of any size.

    "taylor-green": its wave numbers are 1, also where they do not fit the box. "channel": 1 - y^2 about the middle,
    also of other heights. "laminar": the same with sin x + cos z across, as along x with iin = 0. "mixing-layer": a
    layer with waves, from -0.5 to 0.5. The vortex and this layer take y as if its nodes were at equal distances.
    """
    told = parameters or FlowParameters()
    if told.kind == TAYLOR_GREEN:
        return lambda x, y, z: _vortex(x, evenly(grid, y), z)
    if told.kind == MIXING_LAYER:
        length, half = grid.lengths[0], grid.lengths[1] / 2
        return lambda x, y, z: _mixing_layer(2 * np.pi * x / length, evenly(grid, y) - half, z, length)

    def channel(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> list[Any]:
        along = 1 - (y - grid.lengths[1] / 2) ** 2
        rest = noise_of(told, grid, x, y, z, in_channel=True)
        if told.direction == "z":
            return [rest[0], rest[1], along + rest[2]]
        across = np.sin(x) + np.cos(z) if told.kind == "laminar" else 0.0
        return [along + rest[0], rest[1], across + rest[2]]

    return channel


def evenly(grid: Grid, y: NDArray[Any]) -> NDArray[np.float64]:
    """Where these nodes would be if all distances along y were equal."""
    places = np.array(grid.coordinates(1))
    node = np.abs(places[None, :] - y.reshape(-1, 1)).argmin(axis=1)
    periodic = grid.boundaries[1] == "periodic"
    return (node * (grid.lengths[1] / (places.size if periodic else places.size - 1))).reshape(y.shape)


def _vortex(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> tuple[Any, Any, Any]:
    u, v = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z)
    return u, v, np.zeros_like(u)


def _mixing_layer(angle: NDArray[Any], y: NDArray[Any], z: NDArray[Any], length: float) -> list[Any]:
    size = 0.025 * np.exp(-0.05 * y**2)
    sines = sum(part * np.sin(n * angle) for n, part in _WAVES)
    cosines = sum(part * np.cos(n * angle) for n, part in _WAVES)
    along = 0.5 * np.tanh(2 * y) + 0.05 * y * length / np.pi * size * sines
    return [along + 0 * z, size * cosines + 0 * z, 0 * (angle + y + z)]
