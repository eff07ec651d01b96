"""The steps of a series as a sequence. A step is made when it is taken."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar, overload

from tailrace.core import InputError
from tailrace.text import visible

One = TypeVar("One")


class Steps(Sequence[One]):
    """The steps by position. The sequence keeps no step, so a step's memory is freed with the step.

    :param path: of the series, for messages.
    :param table: index and time of each step.
    :param make: makes the step at a position, from position, index and time.
    """

    def __init__(self, path: str, table: list[tuple[int, float]], make: Callable[[int, int, float], One]) -> None:
        self._path, self._table, self._make = path, table, make

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, position: int) -> One: ...
    @overload
    def __getitem__(self, position: slice) -> list[One]: ...
    def __getitem__(self, position: int | slice) -> One | list[One]:
        count = len(self._table)
        if isinstance(position, slice):
            return [self[at] for at in range(count)[position]]
        if not -count <= position < count:
            there = f"positions 0 to {count - 1}, -1 being the last" if count else "no steps"
            raise IndexError(f"{self._path}: there is no step at position {position}; it has {there}")
        at = position % count
        return self._make(at, *self._table[at])

    def __repr__(self) -> str:
        return visible(f"<{len(self)} steps of {self._path}>")

    def index_at(self, position: int) -> int:
        """The index of the step at a position, which is not made."""
        return self._table[position][0]

    def position_of(self, index: int) -> int:
        """The position of the step with this index.

        :raises InputError: no step has it; the message names the nearest.
        """
        first = bisect_left(self._table, index, key=lambda row: row[0])  # in almost all series they increase
        for at in (*range(first, min(first + 1, len(self))), *range(len(self))):
            if self._table[at][0] == index:
                return at
        near = min((one for one, _ in self._table), key=lambda one: abs(one - index), default=None)
        hint = "it has no steps" if near is None else f"the nearest is {near}; series.steps has all of them"
        raise InputError(f"{self._path}: has no step of index {index}; {hint}")
