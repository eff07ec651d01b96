"""Places of values: boxes and regions of global arrays, grids of points, one rank's part of an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tailrace import _core

Triple = tuple[int, int, int]


class Box(NamedTuple):
    """A block of a global array: indices start <= i < start + count, in x, y, z."""

    start: Triple
    count: Triple  # type: ignore[assignment] # hides tuple.count, which is not called on a box


class Region(NamedTuple):
    """Points start, start + stride, ... of a variable, `count` of them; in x, y, z."""

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
class UniformGrid:
    """Points at origin + i * spacing in each direction (x, y, z).

    With its `boundaries`, "periodic", "free-slip" or "dirichlet" in each direction, fields can be differentiated; the
    closing point of a periodic direction is not stored.
    """

    points: Triple
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    boundaries: tuple[str, str, str] | None = field(default=None, kw_only=True)

    @property
    def periodic(self) -> str:
        """The names of its periodic directions, as "xz"; empty where the boundaries are not known."""
        return "".join(axis for axis, kind in zip("xyz", self.boundaries or (), strict=False) if kind == "periodic")

    @property
    def lengths(self) -> tuple[float, float, float] | None:
        """Lengths of the box; None where the boundaries are not known."""
        if self.boundaries is None:
            return None
        cells = (n if kind == "periodic" else n - 1 for n, kind in zip(self.points, self.boundaries, strict=True))
        x, y, z = (float(n * h) for n, h in zip(cells, self.spacing, strict=True))
        return x, y, z


@dataclass(frozen=True)
class StretchedGrid(UniformGrid):
    """Points at `coordinates[direction][i]`; a direction (x, y, z) without coordinates has equal spacing."""

    coordinates: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ())


@dataclass(frozen=True)
class Block:
    """One rank's part of a global array.

    `data` (nz, ny, nx), or (components, nz, ny, nx), begins at global point `start` (x, y, z) of an array of `shape`
    points, and has `ghosts` more layers on every side, which are not written. `ghosts` is one number or one per
    direction (x, y, z).
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


def triple(values: Any) -> Triple:
    """Three whole numbers as a tuple. Local."""
    x, y, z = (int(value) for value in values)
    return x, y, z


def shape_of(array: NDArray[Any]) -> Triple:
    """Points in x, y, z of an array (nz, ny, nx) or (components, nz, ny, nx). Local.

    :raises InputError: it has another number of dimensions.
    """
    if array.ndim not in (3, 4):
        raise _core.InputError(f"expected an array (nz, ny, nx) or (components, nz, ny, nx), not one of {array.shape}")
    return triple(reversed(array.shape[-3:]))


def boxes_of(shape: Triple, most: int) -> Iterator[Box]:
    """Boxes of whole planes or rows, with at most `most` points each, that cover a variable of `shape` (x, y, z)."""
    nx, ny, nz = shape
    rows = max(1, most // nx)
    planes = max(1, rows // ny)
    for k in range(0, nz, planes):
        for j in range(0, ny, rows):
            yield Box((0, j, k), (nx, min(rows, ny - j), min(planes, nz - k)))
