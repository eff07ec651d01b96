"""Parts of variables: the part of each rank, and how it is read in pieces of limited size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import triple
from tailrace.io.placement import Box, Stored, boxes_of
from tailrace.parallel import extreme

from .plan import Planned

if TYPE_CHECKING:
    from mpi4py import MPI

PIECE_BYTES = 32 << 20  # bytes of the source that a rank reads at once; more if one row is larger


def part_of(stored: Stored, ranks: int, rank: int) -> Box:
    """A rank's part of a variable: a slab along the slowest direction that has at least one layer for every rank.

    If no direction has, it is a slab along the longest direction, and some ranks have nothing. For a list, it is rows.
    """
    shape = stored.shape
    wide = [axis for axis in (2, 1, 0) if shape[axis] >= ranks]
    axis = 1 if stored.is_list else wide[0] if wide else int(np.argmax(shape))
    first, last = (shape[axis] * one // ranks for one in (rank, rank + 1))
    start, count = [0, 0, 0], list(shape)
    start[axis], count[axis] = first, last - first
    return Box(triple(start), triple(count))


def pieces(planned: Planned, part: Box, comm: MPI.Comm, most_bytes: int = PIECE_BYTES) -> Iterator[Box]:
    """Boxes that cover a part of a variable of the target, the same number on all ranks. Collective.

    They may be empty at the end: every rank takes part in every reading.
    """
    ours = [] if 0 in part.count else list(_boxes(planned, part, most_bytes))
    rounds = int(extreme(comm, len(ours), largest=True))
    yield from ours
    yield from [Box((0, 0, 0), (1, 0, 1))] * (rounds - len(ours))


def _boxes(planned: Planned, part: Box, most_bytes: int) -> Iterator[Box]:
    per_point = np.dtype(planned.source.dtype).itemsize
    if planned.cut is not None:
        per_point *= int(np.prod(planned.cut.stride))
    for box in boxes_of(part.count, max(1, most_bytes // per_point)):
        yield Box(triple(a + b for a, b in zip(part.start, box.start, strict=True)), box.count)


def read_converted(step: Any, name: str, planned: Planned, box: Box) -> NDArray[Any]:
    """A box of the target, read from the source and converted: (nz, ny, nx), of a list (1, rows, columns). Collective.

    :raises InputError: a number is too large for the type; on the rank that has it.
    """
    around = box if planned.cut is None else planned.cut.source_box(box)
    values = read_box(step, name, around)
    if planned.cut is not None:
        x, y, z = planned.cut.stride
        values = values[::z, ::y, ::x]
    wanted = np.dtype(planned.target.dtype)
    if values.dtype == wanted:
        return values
    try:
        with np.errstate(over="raise"):
            return values.astype(wanted)
    except FloatingPointError:
        raise InputError(
            f"{name}, step {step.index}: has numbers that are too large for {wanted}, which ends at "
            f"{np.finfo(wanted).max:.3g}; convert without precision = {wanted}, or leave {name} out"
        ) from None


def read_box(step: Any, name: str, box: Box) -> NDArray[Any]:
    """A box as it is stored: (nz, ny, nx), of a list (1, rows, columns). Collective."""
    x, y, z = box.count
    values: NDArray[Any] = step.read(name, box)
    return values.reshape(z, y, x)
