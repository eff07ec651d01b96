"""The definition of a set of elements of one shape in Nektar++: expansion, planes and fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SHAPES = {"Segment": 1, "Triangle": 2, "Quadrilateral": 2, "Tetrahedron": 3, "Pyramid": 3, "Prism": 3, "Hexahedron": 3}
# The numbers of the bases in HDF5 files are positions in these lists. Version 5 has put two names in between.
_FIRST = ("NoBasisType", "Ortho_A", "Ortho_B", "Ortho_C", "Modified_A", "Modified_B", "Modified_C")
_LAST = (
    "Fourier", "GLL_Lagrange", "Gauss_Lagrange", "Legendre", "Chebyshev", "Monomial", "FourierSingleMode",
    "FourierHalfModeRe", "FourierHalfModeIm",
)  # fmt: skip
BASES_BEFORE_5 = (*_FIRST, *_LAST)
BASES = (*_FIRST, "OrthoPyr_C", "ModifiedPyr_C", *_LAST)

_MOST_MODES = 1000  # in a direction of an element
_MOST_PLANES = 1 << 20
_SHAPE = re.compile(r"([A-Za-z]+)(?:-HomogenousExp([12])D)?(-Strips)?")


class DefinitionError(ValueError):
    """A definition contradicts itself; the text says what was expected and what was found."""


def bases_of(version: str) -> tuple[str, ...]:
    """The names of the bases by their numbers in HDF5 files of a version of Nektar++; "" counts as 5."""
    major = re.match(r"\s*v?(\d{1,9})", version)
    return BASES_BEFORE_5 if major is not None and int(major[1]) < 5 else BASES


@dataclass(frozen=True)
class Definition:
    """Elements of one shape and one expansion, with their fields.

    :param basis: one name per direction, the homogeneous directions last.
    :param modes: the numbers of modes per direction; None: each element has its own ("MIXORDER").
    :param homogeneous: number of homogeneous directions, 0 to 2.
    :param lengths: of the homogeneous directions.
    :param y_ids, z_ids, s_ids: numbers of the lines, planes and strips of the homogeneous directions.
    :raises DefinitionError: it contradicts itself.
    """

    fields: tuple[str, ...]
    shape: str
    basis: tuple[str, ...]
    modes: tuple[int, ...] | None
    homogeneous: int = 0
    strips: bool = False
    lengths: tuple[float, ...] = ()
    y_ids: tuple[int, ...] = ()
    z_ids: tuple[int, ...] = ()
    s_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.fields or not all(self.fields) or len(set(self.fields)) < len(self.fields):
            raise DefinitionError(f"FIELDS: expected different names, found {list(self.fields)}")
        if self.shape not in SHAPES:
            raise DefinitionError(f"SHAPE: expected one of {', '.join(SHAPES)}, found '{self.shape[:40]}'")
        if len(self.basis) != self.directions:
            raise DefinitionError(
                f"BASIS: expected {self.directions} for {self.shape_text}, found {len(self.basis)}: {list(self.basis)}"
            )
        for one in self.basis:
            if one not in BASES:
                raise DefinitionError(f"BASIS: expected names such as {', '.join(BASES[4:7])}, found '{one[:40]}'")
        if self.homogeneous and len(self.lengths) != self.homogeneous:
            raise DefinitionError(f"HOMOGENEOUSLENGTHS: expected {self.homogeneous}, found {len(self.lengths)}")
        if not all(map(math.isfinite, self.lengths)):
            raise DefinitionError(f"HOMOGENEOUSLENGTHS: expected finite numbers, found {list(self.lengths)}")
        if self.modes is not None:
            self._coefficients(self.modes)

    @property
    def directions(self) -> int:
        """Directions of the elements, and homogeneous ones."""
        return SHAPES[self.shape] + self.homogeneous

    @property
    def shape_text(self) -> str:
        """The shape as Nektar++ writes it."""
        extra = f"-HomogenousExp{self.homogeneous}D" if self.homogeneous else ""
        return f"{self.shape}{extra}{'-Strips' if self.strips else ''}"

    @property
    def planes(self) -> int:
        """The number of copies of the coefficients of an element: one for each homogeneous plane or line."""
        return (1, len(self.z_ids), len(self.y_ids))[self.homogeneous]

    def with_fields(self, fields: tuple[str, ...]) -> Definition:
        """The same with other fields."""
        return replace(self, fields=fields)

    def _coefficients(self, modes: Sequence[int]) -> int:
        if len(modes) != self.directions:
            raise DefinitionError(
                f"NUMMODESPERDIR: expected {self.directions} for {self.shape_text}, found {len(modes)}: {list(modes)}"
            )
        return coefficients(self.shape, tuple(int(one) for one in modes[: SHAPES[self.shape]]))

    def values(self, elements: int, orders: NDArray[np.integer] | None = None) -> int:
        """The number of values per field of `elements` elements.

        :param orders: (elements, directions): their numbers of modes, if `modes` is None.
        :raises DefinitionError: a number of modes is impossible.
        """
        if self.modes is not None:
            return elements * self._coefficients(self.modes) * self.planes
        if orders is None or orders.shape != (elements, self.directions):
            raise DefinitionError(f"NUMMODESPERDIR: expected {elements} x {self.directions} numbers of modes")
        return int(self.values_each(orders).sum())

    def values_each(self, orders: NDArray[np.integer]) -> NDArray[np.int64]:
        """Values per field of each element, from (elements, directions) numbers of modes."""
        if not len(orders):
            return np.empty(0, np.int64)
        different, which = np.unique(orders, axis=0, return_inverse=True)
        counts = [self._coefficients(one) * self.planes for one in different.tolist()]
        return np.array(counts, np.int64)[which.reshape(-1)]


def parse_shape(text: str) -> tuple[str, int, bool]:
    """Shape, number of homogeneous directions, and whether they are strips, from the text of Nektar++.

    :raises DefinitionError: it is another text.
    """
    found = _SHAPE.fullmatch(text.strip())
    if found is None or found[1] not in SHAPES:
        raise DefinitionError(
            f"SHAPE: expected one of {', '.join(SHAPES)}, with -HomogenousExp1D or 2D and -Strips where "
            f"it is so; found '{text[:60]}'"
        )
    return found[1], int(found[2] or 0), found[3] is not None


def parse_modes(text: str) -> tuple[int, ...] | None:
    """The numbers in "UNIORDER:4,4"; None for a text that begins with "MIXORDER".

    :raises DefinitionError: it is another text.
    """
    kind, _, numbers = text.strip().partition(":")
    if kind == "MIXORDER":
        return None
    if kind != "UNIORDER" or not re.fullmatch(r"\s*\d{1,9}\s*(,\s*\d{1,9}\s*){0,5}", numbers):
        raise DefinitionError(f"NUMMODESPERDIR: expected 'UNIORDER:4,4' or 'MIXORDER...', found '{text[:60]}'")
    return tuple(int(one) for one in numbers.split(","))


def check_planes(count: int) -> None:
    """Refuse an impossible number of planes, lines or strips. Raises DefinitionError if it is too large."""
    if count > _MOST_PLANES:
        raise DefinitionError(f"homogeneous planes: expected at most {_MOST_PLANES}, found {count}")


def _triangle(a: int, b: int) -> int:
    return a * (a + 1) // 2 + a * (b - a)


def _tetrahedron(a: int, b: int, c: int) -> int:
    return sum(_triangle(b - p, c - p) for p in range(a))


def _pyramid(a: int, b: int, c: int) -> int:
    a, b = min(a, b), max(a, b)
    return sum((c - m) * (2 * m + 1 if m < a else a) for m in range(b))


_COUNTS: dict[str, tuple[Callable[..., int], str]] = {
    "Segment": (lambda a: a, "a"),
    "Triangle": (_triangle, "a <= b"),
    "Quadrilateral": (lambda a, b: a * b, "a, b"),
    "Tetrahedron": (_tetrahedron, "a <= b <= c"),
    "Pyramid": (_pyramid, "a <= c, b <= c"),
    "Prism": (lambda a, b, c: b * _triangle(a, c), "a <= c, b"),
    "Hexahedron": (lambda a, b, c: a * b * c, "a, b, c"),
}


def _fits(shape: str, modes: tuple[int, ...]) -> bool:
    rules = {"Triangle": ((0, 1),), "Tetrahedron": ((0, 1), (1, 2)), "Pyramid": ((0, 2), (1, 2)), "Prism": ((0, 2),)}
    return all(modes[low] <= modes[high] for low, high in rules.get(shape, ()))


@lru_cache(maxsize=4096)
def coefficients(shape: str, modes: tuple[int, ...]) -> int:
    """Coefficients of an element, from its numbers of modes in its own directions.

    :raises DefinitionError: no element of this shape has such numbers.
    """
    count, rule = _COUNTS[shape]
    if not all(1 <= one <= _MOST_MODES for one in modes) or not _fits(shape, modes):
        raise DefinitionError(
            f"NUMMODESPERDIR: expected numbers from 1 to {_MOST_MODES} with {rule} for {shape}, found {list(modes)}"
        )
    return count(*modes)
