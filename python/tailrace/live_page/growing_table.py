"""Tables that grow while they are looked at: of each, only what was added since the last look is read."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tailrace.files.regular import open_regular
from tailrace.io.time_series import read_columns
from tailrace.render.arrays import numbers_of
from tailrace.render.stored import open_stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep


class Table(Protocol):
    """Numbers over time.

    :param beginning: how often the rows began again: a run that was resumed goes back to its checkpoint.
    """

    path: Path
    beginning: int

    @property
    def columns(self) -> list[str]:
        """The names of the columns; one of them is time."""

    def update(self) -> None:
        """Read what was added. Raises TimeSeriesError, InputError, IoError or OSError."""

    def __len__(self) -> int:
        """How many rows there are."""

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column, NaN where a row has none."""

    def last(self) -> dict[str, float]:
        """The last row; empty if it has none."""


class GrowingTable:
    """A time series of ours (.csv)."""

    def __init__(self, path: Path) -> None:
        self.path, self.beginning = path, 0
        self._names: list[str] = []
        self._rows: list[list[float]] = []
        self._seen = (0, 0)  # the file, and how much of it was read
        self._lock = Lock()  # the page reads it in another thread

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
                names = list(read_columns(self.path))
                with self._lock:
                    self._names, self._rows, at = names, [], 0
                    self.beginning += 1
            file.seek(at)
            new = file.read(there.st_size - at)
        whole = new.rfind(b"\n") + 1  # a row that is being written is read the next time
        self._seen = (there.st_ino, at + whole)
        with self._lock:
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

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def last(self) -> dict[str, float]:
        """The last row; empty if it has none."""
        with self._lock:
            return dict(zip(self._names, self._rows[-1], strict=True)) if self._rows else {}

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column."""
        with self._lock:
            at = self._names.index(name)
            return np.array([row[at] for row in self._rows])


class NumbersOfSteps:
    """The numbers that a series has in each step, as of an analysis."""

    def __init__(self, path: Path) -> None:
        self.path, self.beginning = path, 0
        self._names: dict[str, None] = {}
        self._rows: list[dict[str, float]] = []
        self._stamp: list[tuple[str, int, int]] = []
        self._lock = Lock()
        self._last: tuple[int, float] | None = None  # index and time of the last row

    @property
    def columns(self) -> list[str]:
        """The time, and the names of the numbers."""
        with self._lock:
            return ["time", *self._names] if self._names else []

    def update(self) -> None:
        """Read the steps that were added, or all of them if the series is another one."""
        stamp = _stamp(self.path)
        if stamp == self._stamp:
            return
        with open_stored(self.path) as stored:
            count = len(self._rows)
            if count > len(stored) or (count and self._last != _place(stored[count - 1])):
                with self._lock:
                    self._names, self._rows, count = {}, [], 0
                    self.beginning += 1
            for at in range(count, len(stored)):
                self._add(stored[at])
        self._stamp = stamp

    def _add(self, step: StoredStep) -> None:
        there, scalars = numbers_of(step), step.scalars
        row = {name: float(scalars[name]) for name in there if name in scalars}
        with self._lock:
            self._names.update(dict.fromkeys(row))
            self._rows.append({"time": step.time, **row})
            self._last = _place(step)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def last(self) -> dict[str, float]:
        """The last row; empty if it has none."""
        with self._lock:
            return dict(self._rows[-1]) if self._rows else {}

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column."""
        with self._lock:
            return np.array([row.get(name, np.nan) for row in self._rows])


def _stamp(path: Path) -> list[tuple[str, int, int]]:
    """What changes when a series grows: the sizes and dates of its files."""
    files = sorted(path.iterdir()) if path.is_dir() else sorted(path.parent.glob(f"{glob.escape(path.name)}*"))
    about = [(one.name, one.stat()) for one in files]
    return [(name, one.st_size, one.st_mtime_ns) for name, one in about]


def _place(step: Any) -> tuple[int, float]:
    return step.index, step.time
