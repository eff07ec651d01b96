"""The common part of two boxes, or of two ranges of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tailrace.grids import triple
from tailrace.io.placement import Box

Slices = tuple[slice, slice, slice]
_T = TypeVar("_T")


def overlap(wanted: Box, held: Box) -> tuple[Box, Slices] | None:
    """The common part of a wanted box and of the box that a part of an array holds; None if there is none.

    :param held: the box of the part.
    :returns: the common box, counted from the first point of `held`; its place in an array (nz, ny, nx) of `wanted`.
    """
    low = [max(a, b) for a, b in zip(wanted.start, held.start, strict=True)]
    high = [min(a + n, b + m) for a, n, b, m in zip(*wanted, *held, strict=True)]
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return None
    start = triple(a - b for a, b in zip(low, held.start, strict=True))
    count = triple(b - a for a, b in zip(low, high, strict=True))
    x, y, z = (slice(a - s, a - s + n) for a, n, s in zip(low, count, wanted.start, strict=True))
    return Box(start, count), (z, y, x)


def rows_in(first: int, count: int, parts: Iterable[tuple[_T, int]]) -> Iterator[tuple[_T, int, int, slice]]:
    """The parts of a list that have some of its rows [first, first + count).

    :param parts: parts with their numbers of rows; they follow each other.
    :returns: for each: the part, the first wanted row in it, the number of rows, their places among the wanted rows.
    """
    begin = 0
    for part, rows in parts:
        low, high = max(first, begin), min(first + count, begin + rows)
        if low < high:
            yield part, low - begin, high - low, slice(low - first, high - first)
        begin += rows
