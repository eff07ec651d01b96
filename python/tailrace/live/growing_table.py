"""Tables that grow while they are looked at: of each, only what was added since the last look is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tailrace.files.regular import open_regular
from tailrace.io.time_series import read_columns
from tailrace.render.arrays import numbers, numbers_of
from tailrace.render.stored import open_stored

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Table(Protocol):
    """Numbers over time.

    :param beginning: how often the rows began anew: a run that was resumed goes back to its checkpoint.
    """

    path: Path
    beginning: int

    @property
    def columns(self) -> list[str]:
        """The names of the columns; one of them is time."""

    def update(self) -> None:
        """Read what was added. Raises TimeSeriesError, InputError, IoError or OSError."""

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column, NaN where a row has none."""


class GrowingTable:
    """A time series of ours (.csv)."""

    def __init__(self, path: Path) -> None:
        self.path, self.beginning = path, 0
        self._names: list[str] = []
        self._rows: list[list[float]] = []
        self._seen = (0, 0)  # the file, and how much of it was read

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._names

    def update(self) -> None:
        """Read the rows that were added, or all of them if the file is another one or shorter."""
        with open_regular(self.path, "rb") as file:
            there = os.fstat(file.fileno())
            number, at = self._seen
            if number != there.st_ino or there.st_size < at:
                self._names, self._rows, at = list(read_columns(self.path)), [], 0
                self.beginning += 1
            file.seek(at)
            new = file.read(there.st_size - at)
        whole = new.rfind(b"\n") + 1  # a row that is being written is read the next time
        self._seen = (there.st_ino, at + whole)
        for line in new[:whole].decode("utf-8", "replace").splitlines():
            self._add(line)

    def _add(self, line: str) -> None:
        words = line.split(",")
        if line.startswith("#") or len(words) != len(self._names):
            return
        try:
            self._rows.append([float(word) for word in words])
        except ValueError:  # the line of names
            return

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column."""
        at = self._names.index(name)
        return np.array([row[at] for row in self._rows])


class NumbersOfSteps:
    """The numbers that a series has in each step, as of an analysis."""

    def __init__(self, path: Path) -> None:
        self.path, self.beginning = path, 0
        self._names: list[str] = []
        self._rows: list[dict[str, float]] = []
        self._last: tuple[int, float] | None = None  # index and time of the last row

    @property
    def columns(self) -> list[str]:
        """The time, and the names of the numbers."""
        return ["time", *self._names] if self._names else []

    def update(self) -> None:
        """Read the steps that were added, or all of them if the series is another one."""
        with open_stored(self.path) as stored:
            count = len(self._rows)
            same = count <= len(stored) and (not count or self._last == _place(stored[count - 1]))
            if not same:
                self._rows, count = [], 0
                self.beginning += 1
            if not self._names:
                self._names = numbers(stored)
            for at in range(count, len(stored)):
                step = stored[at]
                there, scalars = numbers_of(step), step.scalars
                row = {name: float(scalars[name]) for name in self._names if name in there and name in scalars}
                self._rows.append({"time": step.time, **row})
                self._last = _place(step)

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column."""
        return np.array([row.get(name, np.nan) for row in self._rows])


def _place(step: Any) -> tuple[int, float]:
    return step.index, step.time
