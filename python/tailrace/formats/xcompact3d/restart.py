"""A restart file made from the last snapshot that was written: its parts are computed by all ranks, in planes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.formats.flat_array import FlatArray
from tailrace.io.placement import Box

from .checkpoint import placed
from .run import Xcompact3dRun

# The part of dt that multiplies the pressure in a restart file: that of the last stage of Euler and Runge-Kutta.
PRESSURE_PARTS = {1: 1.0, 5: 1 / 3}
_WEIGHTS = np.array([3, -25, 150, 150, -25, 3]) / 256  # six points, for the middle between the third and the fourth


def fill(target: Path, run: Xcompact3dRun, sources: dict[str, FlatArray], rank: int, ranks: int) -> None:
    """Write this rank's planes of a restart file, which exists with its full size.

    :param sources: the arrays of the snapshot by the names in the restart file; without "pp" it stays zero.
    """
    dtype = sources["ux"].dtype
    file = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for name, array in placed(target, run, dtype, run.cells).items():
            if name not in sources:
                continue
            nx, ny, nz = array.shape
            begin, end = nz * rank // ranks, nz * (rank + 1) // ranks
            planes = _on_cells(sources[name], run, begin, end) if name == "pp" else _planes(sources[name], begin, end)
            for k, plane in zip(range(begin, end), planes, strict=True):
                array.write(file, Box((0, 0, k), (nx, ny, 1)), plane[None])
        os.fsync(file)
    finally:
        os.close(file)


def _planes(array: FlatArray, begin: int, end: int) -> Iterator[NDArray[Any]]:
    nx, ny, _ = array.shape
    plane = np.empty((1, ny, nx))
    for k in range(begin, end):
        array.read(Box((0, 0, k), (nx, ny, 1)), plane)
        yield plane[0]


def _on_cells(array: FlatArray, run: Xcompact3dRun, begin: int, end: int) -> Iterator[NDArray[Any]]:
    """Pressure times its part of dt on the cells, interpolated to the sixth order in the coordinate of the mesh.

    At walls and free-slip planes the pressure is even.
    """
    assert run.ends is not None
    assert run.dt is not None
    periodic = [low == 0 for low, _ in run.ends]
    nx, ny, nz = array.shape
    factor = PRESSURE_PARTS[run.scheme] * run.dt
    kept: dict[int, NDArray[Any]] = {}
    for k in range(begin, end):
        nodes = _stencil(nz, k, periodic[2])
        for node in set(nodes) - set(kept):
            plane = np.empty((1, ny, nx))
            array.read(Box((0, 0, node), (nx, ny, 1)), plane)
            kept[node] = plane[0]
        plane = sum(weight * kept[node] for weight, node in zip(_WEIGHTS, nodes, strict=True))
        for axis, (n, cells, along) in enumerate(zip((ny, nx), run.cells[1::-1], periodic[1::-1], strict=True)):
            at = np.array([_stencil(n, cell, along) for cell in range(cells)])
            plane = sum(weight * plane.take(at[:, i], axis) for i, weight in enumerate(_WEIGHTS))
        yield factor * plane
        kept = {node: one for node, one in kept.items() if node in nodes}


def _stencil(n: int, cell: int, periodic: bool) -> list[int]:
    """The six nodes around a cell; beyond the ends they repeat (periodic) or are mirrored."""
    nodes = range(cell - 2, cell + 4)
    if periodic:
        return [node % n for node in nodes]
    last = max(1, n - 1)
    return [min(n - 1, last - abs(last - node % (2 * last))) for node in nodes]
