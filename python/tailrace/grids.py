"""Grids of points, as series and steps know them: their places and, if known, what makes derivatives possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import Grid, InputError

Triple = tuple[int, int, int]
Places = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
SAME_PLACE = 1e-6  # relative to the length of the box: some formats store places in single precision


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


def triple(values: Any) -> Triple:
    """Three whole numbers as a tuple."""
    x, y, z = (int(value) for value in values)
    return x, y, z


def same_places(one: UniformGrid, other: UniformGrid) -> bool:
    """Whether two grids have their points at the same places, but for rounding."""
    return one.points == other.points and all(
        np.allclose(a, b, rtol=1e-6, atol=1e-6 * abs(h))
        for a, b, h in zip(one.coordinates, other.coordinates, one.spacing, strict=True)
    )
