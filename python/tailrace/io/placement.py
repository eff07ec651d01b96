"""Places of values: boxes and regions of global arrays, grids of points, one rank's part of an array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.core import Grid, InputError

Triple = tuple[int, int, int]
Places = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
SAME_PLACE = 1e-6  # relative to the length of the box: some formats store places in single precision


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
class UniformGrid:
    """Points at origin + i * spacing in each direction (x, y, z).

    Fields can be differentiated if `boundaries` are given: "periodic", "free-slip" or "dirichlet" in each direction, or
    "lower|upper" if its two ends differ. The closing point of a periodic direction is not stored.

    >>> grid = tr.UniformGrid((16, 13, 8), spacing=(0.5, 0.25, 0.25), boundaries=("periodic", "free-slip", "periodic"))
    >>> grid.lengths  # 16 cells in x, 12 in y, 8 in z
    (8.0, 3.0, 2.0)
    """

    points: Triple
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    boundaries: tuple[str, str, str] | None = field(default=None, kw_only=True)

    @staticmethod
    def of(grid: Grid) -> UniformGrid:
        """The nodes of the grid of operators (`ops.grid`), a StretchedGrid where y is stretched."""
        about: dict[str, Any] = {
            "points": triple(grid.nodes),
            "spacing": tuple(grid.spacing(d) for d in range(3)),
            "boundaries": tuple(grid.boundaries),
        }
        if not grid.stretching:
            return UniformGrid(**about)
        return StretchedGrid(**about, stretching=grid.stretching, beta=grid.beta)

    @property
    def periodic(self) -> str:
        """The names of its periodic directions, as "xz"; empty if the boundaries are not known."""
        return "".join(axis for axis, kind in zip("xyz", self.boundaries or (), strict=False) if kind == "periodic")

    @property
    def lengths(self) -> tuple[float, float, float] | None:
        """Lengths of the box; None if the boundaries are not known."""
        if self.boundaries is None:
            return None
        cells = (n if kind == "periodic" else n - 1 for n, kind in zip(self.points, self.boundaries, strict=True))
        x, y, z = (float(n * h) for n, h in zip(cells, self.spacing, strict=True))
        return x, y, z

    @property
    def coordinates(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of the points in x, y, z: an array for each direction, whether their spacing is equal or not."""
        x, y, z = (
            np.array(own, np.float64) if len(own) else o + h * np.arange(n, dtype=np.float64)
            for own, n, o, h in zip(self.uneven, self.points, self.origin, self.spacing, strict=True)
        )
        return x, y, z

    @property
    def uneven(self) -> Places:
        """The coordinates that origin and spacing do not tell; empty in a direction (x, y, z) of equal spacing."""
        return (), (), ()

    @property
    def stretching(self) -> str:
        """The law of the nodes in y, "centre", "walls" or "bottom"; "" without one."""
        return ""

    @property
    def beta(self) -> float:
        """The parameter of the law."""
        return 0.0

    def with_boundaries(self, boundaries: tuple[str, str, str]) -> UniformGrid:
        """The same points with these boundaries."""
        return UniformGrid(self.points, self.origin, self.spacing, boundaries=boundaries)

    def checked(self) -> Grid:
        """The grid of operators on these points.

        :raises InputError: these points make no such grid, or its boundaries are not known.
        """
        return Grid(self.points, self.lengths or (), self.boundaries or ())


@dataclass(frozen=True, init=False)
class StretchedGrid(UniformGrid):
    """Points at `coordinates[direction][i]`; a direction (x, y, z) without coordinates has equal spacing.

    Fields can be differentiated if the boundaries and the law of y (`stretching` and `beta`) are given. The coordinates
    in y then follow from the law, and the spacing in y is the length divided by the number of cells.

    :param stretching: where points in y are close together: "centre", "walls" or "bottom"; "" if no law is known.
    :param beta: parameter of the stretching, see `tailrace.Operators`.
    :raises InputError: `stretching` is given without boundaries, is impossible, or does not give the coordinates in y.

    >>> y = np.linspace(0.0, 1.0, 13) ** 2
    >>> grid = tr.StretchedGrid((16, 13, 8), spacing=(0.5, 1.0, 0.25), coordinates=((), y, ()))
    >>> np.array_equal(grid.coordinates[1], y), grid.coordinates[0][:3]
    (True, array([0. , 0.5, 1. ]))
    """

    uneven: Places = ((), (), ())
    stretching: str = field(default="", kw_only=True)
    beta: float = field(default=0.0, kw_only=True)

    def __init__(
        self,
        points: Triple,
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
        spacing: tuple[float, float, float] = (1.0, 1.0, 1.0),
        coordinates: Sequence[Sequence[float] | NDArray[Any]] = ((), (), ()),
        *,
        boundaries: tuple[str, str, str] | None = None,
        stretching: str = "",
        beta: float = 0.0,
    ) -> None:
        x, y, z = (tuple(map(float, one)) for one in coordinates)
        given = {"points": points, "origin": origin, "spacing": spacing, "boundaries": boundaries}
        for name, value in (given | {"uneven": (x, y, z), "stretching": stretching, "beta": beta}).items():
            object.__setattr__(self, name, value)
        if stretching:
            self._follow_law()

    def _follow_law(self) -> None:
        if self.boundaries is None:
            raise InputError(f"stretching = {self.stretching!r}: its law needs the boundaries of the grid")
        x, y, z = self.uneven
        law = np.array(self.checked().coordinates(1)) + self.origin[1]
        if len(y) and (len(y) != len(law) or np.abs(np.asarray(y) - law).max() > SAME_PLACE * (law[-1] - law[0])):
            raise InputError(
                f"the coordinates in y are not those of stretching = {self.stretching!r}, beta = {self.beta:g} between "
                f"{law[0]:g} and {law[-1]:g}; leave one of them out"
            )
        object.__setattr__(self, "uneven", (x, y if len(y) else tuple(map(float, law)), z))

    @property
    def lengths(self) -> tuple[float, float, float] | None:
        """Lengths of the box; None if the boundaries are not known."""
        found = super().lengths
        if found is None or self.stretching:
            return found
        kinds = zip(self.uneven, self.boundaries or (), found, strict=True)
        x, y, z = (
            float(along[-1] - along[0]) if len(along) and kind != "periodic" else length
            for along, kind, length in kinds
        )
        return x, y, z

    def with_boundaries(self, boundaries: tuple[str, str, str]) -> StretchedGrid:
        """The same points with these boundaries."""
        law: dict[str, Any] = {"stretching": self.stretching, "beta": self.beta}
        return StretchedGrid(self.points, self.origin, self.spacing, self.uneven, boundaries=boundaries, **law)

    def checked(self) -> Grid:
        """The grid of operators on these points.

        :raises InputError: these points make no such grid, or its boundaries or its law are not known.
        """
        if not self.stretching and any(map(len, self.uneven)):
            raise InputError(
                "grid: fields on stretched points need their law, a StretchedGrid with stretching = 'centre', 'walls' "
                "or 'bottom' and beta; without it they are arrays"
            )
        return Grid(self.points, self.lengths or (), self.boundaries or (), self.stretching, self.beta)


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


def triple(values: Any) -> Triple:
    """Three whole numbers as a tuple."""
    x, y, z = (int(value) for value in values)
    return x, y, z


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
