"""Places of values: boxes and regions of global arrays, one rank's part of an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import Triple, triple


class Box(NamedTuple):
    """A block of a global array: indices start <= i < start + count, in x, y, z.

    >>> box = tr.Box(start=(4, 0, 2), count=(8, 12, 3))
    >>> box.count
    (8, 12, 3)
    >>> with tr.open("run.h5", "w") as series:
    ...     series.write_step(0.0, p=np.ones((8, 12, 16)))
    >>> tr.convert("run.h5", "part.h5", box=box).steps
    1
    """

    start: Triple
    count: Triple  # type: ignore[assignment] # hides tuple.count, which is not called on a box


class Region(NamedTuple):
    """Points start, start + stride, ... of a variable, `count` of them; in x, y, z.

    >>> with tr.open("run.h5", "w") as series:
    ...     _ = series.begin_step(0, 0.0)
    ...     series.write("p", np.ones((8, 12, 16)), region=tr.Region((0, 0, 4), (8, 12, 1), (2, 1, 1)))
    ...     series.end_step()
    >>> with tr.open("run.h5") as series:
    ...     print(series[0]["p"].shape)  # every second point in x, one plane
    (1, 12, 8)
    """

    start: Triple
    count: Triple  # type: ignore[assignment] # as in Box
    stride: Triple = (1, 1, 1)


class Stored(NamedTuple):
    """A variable of a step: its stored type, its global shape (x, y, z), and whether it is a list.

    A list has the shape (columns, rows, 1).
    """

    dtype: str
    shape: Triple
    is_list: bool


@dataclass(frozen=True)
class Block:
    """One rank's part of a global array.

    `data` (nz, ny, nx), or (components, nz, ny, nx), begins at global point `start` (x, y, z) of an array of `shape`
    points. On every side it has `ghosts` more layers, which are not written. `ghosts` is one number, or one per
    direction (x, y, z).

    >>> from mpi4py import MPI
    >>> world = MPI.COMM_WORLD
    >>> part = tr.Block(np.ones((8, 12, 16)), shape=(16, 12, 8 * world.size), start=(0, 0, 8 * world.rank))
    >>> with tr.open("run.h5", "w") as series:  # each rank writes its 8 planes
    ...     series.write_step(0.0, p=part)
    >>> with tr.open("run.h5") as series:
    ...     print(series[0]["p"].shape == (8 * world.size, 12, 16))
    True
    """

    data: NDArray[Any]
    shape: Triple
    start: Triple = (0, 0, 0)
    ghosts: int | Triple = 0

    def boxes(self) -> tuple[Box, Box]:
        """The box that is written and the box that `data` covers."""
        width = (self.ghosts,) * 3 if isinstance(self.ghosts, int) else self.ghosts
        held = shape_of(self.data)
        memory = Box(triple(s - g for s, g in zip(self.start, width, strict=True)), held)
        return Box(triple(self.start), triple(n - 2 * g for n, g in zip(held, width, strict=True))), memory


def shape_of(array: NDArray[Any]) -> Triple:
    """Points in x, y, z of an array (nz, ny, nx) or (components, nz, ny, nx).

    :raises InputError: it has another number of dimensions.
    """
    if array.ndim not in (3, 4):
        raise InputError(f"expected an array (nz, ny, nx) or (components, nz, ny, nx), not one of {array.shape}")
    return triple(reversed(array.shape[-3:]))


def boxes_of(shape: Triple, most: int) -> Iterator[Box]:
    """Boxes of whole planes or rows, with at most `most` points each, that cover a variable of `shape` (x, y, z)."""
    nx, ny, nz = shape
    rows = max(1, most // nx)
    planes = max(1, rows // ny)
    for k in range(0, nz, planes):
        for j in range(0, ny, rows):
            yield Box((0, j, k), (nx, min(rows, ny - j), min(planes, nz - k)))
