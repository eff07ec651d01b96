"""A velocity from a step of a series, on the grid and the decomposition of a flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import Grid, InputError, resample
from tailrace.fields.parity import polar
from tailrace.fields.points import NODES
from tailrace.fields.vector import Vector
from tailrace.flow.checkpoint import CheckpointStore
from tailrace.parallel import agree, on_root
from tailrace.steps import opening
from tailrace.steps.step import Step

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

SAME_LENGTH = 1e-6  # relative: some formats store lengths in single precision


@contextmanager
def opened(path: Path, index: int | None, time: float | None, comm: MPI.Comm) -> Iterator[Step]:
    """A step of a series, or of the newest checkpoint in a directory of checkpoints. Collective.

    :param index, time: of the step; the last one where both are None.
    :raises InputError, IoError: there is no series, or none of that index or time.
    """
    with opening.open(on_root(comm, lambda: _newest(path)), comm=comm) as source:
        if index is not None:
            yield source.step(index)
        elif time is not None:
            yield source.at(time)
        elif len(source):
            yield source[-1]
        else:
            raise InputError(f"{path}: has no steps")


def _newest(path: Path) -> Path:
    from mpi4py import MPI

    checkpoints = CheckpointStore(path, 1, MPI.COMM_SELF).present()
    return checkpoints[0] if checkpoints else path


def components(
    source: Step | Vector, grid: Grid, box: tuple[Any, Any], name: str, comm: MPI.Comm
) -> list[NDArray[Any]]:
    """The velocity of a step on the nodes of this rank's box, each component (nz, ny, nx). Collective.

    Where the grid has other numbers of points, the waves of the source are taken over, as far as both grids hold them
    (trigonometric interpolation); along a direction with a wall, or where y is stretched in another way, the values are
    those of polynomials of degree five. No rank holds more than a few times its share of the larger grid.

    :param name: for messages.
    :raises InputError: the box is another one, or the ranks are others.
    """
    vector = source.vector("u") if isinstance(source, Step) else source
    agree(comm, lambda: _check(vector, grid, name, comm))
    return [_on_grid(vector, d, grid, box, comm) for d in range(3)]


def _check(vector: Vector, grid: Grid, name: str, comm: MPI.Comm) -> None:
    theirs = vector.operators.grid
    if vector.operators.comm.size != comm.size:
        raise InputError(
            f"{name} is shared by {vector.operators.comm.size} ranks, the flow by {comm.size}; open its series with "
            "the same ranks, as tr.open(path, comm=comm)"
        )
    if any(field.centred != NODES for field in vector):
        raise InputError(f"{name} is on the cell centres; tr.interpolate moves it to the nodes")
    for d, axis in enumerate("xyz"):
        if abs(theirs.lengths[d] - grid.lengths[d]) > SAME_LENGTH * grid.lengths[d]:
            raise InputError(
                f"{name} is in another box: its length in {axis} is {theirs.lengths[d]:.9g}, that of the case "
                f"{grid.lengths[d]:.9g} (grid.lengths)"
            )
        if theirs.boundaries[d] != grid.boundaries[d]:
            raise InputError(
                f"{name} has other boundaries: {theirs.boundaries[d]} in {axis}, the case {grid.boundaries[d]} "
                "(grid.boundaries)"
            )


def _on_grid(vector: Vector, d: int, grid: Grid, box: tuple[Any, Any], comm: MPI.Comm) -> NDArray[Any]:
    """Component number `d`."""
    operators = vector.operators
    values = np.asarray(vector[d].data)
    theirs = operators.grid
    if tuple(theirs.nodes) == tuple(grid.nodes) and (theirs.stretching, theirs.beta) == (grid.stretching, grid.beta):
        return moved(values, operators.box()[0], box, comm)
    whole = np.ascontiguousarray(values, np.float64)
    values, start = resample(theirs, operators.processes, polar(d), grid, whole)
    return moved(values, start, box, comm)


def moved(values: NDArray[Any], start: Sequence[int], box: tuple[Any, Any], comm: MPI.Comm) -> NDArray[Any]:
    """The values in this rank's box, out of the boxes that the ranks have. Collective.

    :param start: of this rank's values, in x, y, z; `box` is (start, count) of what it wants.
    """
    have = (tuple(start), tuple(reversed(values.shape)))
    boxes = comm.allgather((have, (tuple(box[0]), tuple(box[1]))))
    if all(one == other for one, other in boxes):
        return values
    received = comm.alltoall([np.ascontiguousarray(values[_overlap(have, wanted, have)]) for _, wanted in boxes])
    mine = boxes[comm.rank][1]
    out = np.empty(tuple(reversed(mine[1])), values.dtype)
    for (theirs, _), part in zip(boxes, received, strict=True):
        out[_overlap(theirs, mine, mine)] = part
    return out


def _overlap(one: tuple[Any, Any], other: tuple[Any, Any], within: tuple[Any, Any]) -> tuple[slice, ...]:
    """What two boxes share, as an index of an array (z, y, x) of the box `within`."""
    found = []
    for d in (2, 1, 0):
        first = max(one[0][d], other[0][d])
        last = max(first, min(one[0][d] + one[1][d], other[0][d] + other[1][d]))
        offset = min(first, within[0][d] + within[1][d]) - within[0][d]
        found.append(slice(offset, offset + last - first))
    return tuple(found)
