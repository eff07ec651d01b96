"""What the page looks at: the directory of a run, a series, or a table."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tailrace.core import Error, engine_at
from tailrace.files.marks import FILM, TIME_SERIES, is_ours
from tailrace.formats.recognise import format_in_child
from tailrace.io.time_series import read_provenance
from tailrace.live_run.board import BoardReader, board_of
from tailrace.live_run.facts import Facts

from .growing_table import GrowingTable, NumbersOfSteps, Table

_DEEP = 2  # directories below that of a run, in which its results are
_MOST = 400  # files that are looked at
_REST = 2.0  # seconds between two looks at the directory
# Seconds that rows may be newer than what a run tells: while it computes, and at its end.
_LATE, _LAST_WORDS = 60.0, 5.0


class WatchedRun:
    """A run, whose results are found again and again as they appear.

    :param path: a directory, a series of any engine or format, or a .csv table.
    :param name: that no other run of the page has.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.tables: dict[str, Table] = {}
        self.series: dict[str, Path] = {}
        self.pictures: list[Path] = []
        self.films: dict[str, Path] = {}  # by names that no other film of the page has
        self.board: BoardReader | None = None  # of a run that shows itself
        self.facts: Facts | None = None  # what that has told last
        self.sizes: dict[str, int] = {}  # of the series, in bytes
        self.case = ""  # the text of its case, where a table tells it
        self.problems: dict[str, str] = {}  # files that cannot be read, and why
        self._looked = 0.0
        self._told = 0  # the beginning of the table that told the case
        found = path.is_file() or engine_at(str(path)) or format_in_child(path)
        self._alone = bool(found)  # it is no directory of results

    def update(self) -> None:
        """Look for results, and read what tables have more; in another thread than the pages, which see whole dicts."""
        if clock.monotonic() - self._looked > _REST:
            self._try(self.name, self._look)
            self._looked = clock.monotonic()
        for name, table in self.tables.items():
            self._try(name, table.update)
        if self.board is not None:
            self._try("what viewers ask of the run", self.board.renew)
            self.facts = self._told_now(self.board)

    def _told_now(self, board: BoardReader) -> Facts | None:
        """What the run has told; None if it is of an earlier run, after which another one has written the table."""
        main, facts = self.main(), board.facts()
        if facts is None or main is None:
            return facts
        late = _date(main.path) - board.date()
        return None if late > (_LATE if facts.state == "running" else _LAST_WORDS) else facts

    def _try(self, name: str, work: Callable[[], None]) -> None:
        told = {other: text for other, text in self.problems.items() if other != name}
        try:
            work()
        except (Error, OSError, ValueError, RuntimeError) as error:
            told[name] = str(error)
        if told != self.problems:
            self.problems = told

    def _look(self) -> None:
        pictures, films = [], {}
        for path in self._files():
            name = self.path.name if path == self.path else str(path.relative_to(self.path))
            if path.suffix in (".png", ".mp4", ".webm"):
                if not self._holds(path):
                    continue
                if path.suffix == ".png":
                    pictures.append(path)
                elif is_ours(path, FILM):
                    films[f"{self.name}: {name}"] = path
            elif name not in self.tables and name not in self.series:
                self._try(name, partial(self._take, name, path))
        self.pictures, self.films = sorted(pictures, key=_date), films
        self.sizes = {name: _size(path) for name, path in self.series.items()}
        main = self.main()
        if not isinstance(main, GrowingTable):
            return
        if self.board is None and board_of(main.path).is_dir():
            self.board = BoardReader(board_of(main.path))
        if main.beginning != self._told:
            self.case, self._told = read_provenance(main.path).get("case", ""), main.beginning

    def _holds(self, path: Path) -> bool:
        """Whether a file is in the directory of the run, and no link out of it."""
        return path.is_file() and path.resolve().is_relative_to(self.path.resolve())

    def _files(self) -> list[Path]:
        if self._alone:
            return [self.path]
        found: list[Path] = []
        inside = [(self.path, 0)]
        while inside and len(found) < _MOST:
            directory, depth = inside.pop()
            for path in sorted(directory.iterdir()):
                if path.name.startswith(".") or path.name == "checkpoints":
                    continue
                if path.is_dir() and not engine_at(str(path)):
                    if depth < _DEEP:
                        inside.append((path, depth + 1))
                else:
                    found.append(path)
        return found

    def _take(self, name: str, path: Path) -> None:
        if path.is_file() and path.suffix == ".csv":
            if is_ours(path, TIME_SERIES):
                self.tables = {**self.tables, name: GrowingTable(path)}
        elif path == self.path or engine_at(str(path)):
            self.series = {**self.series, name: path}
            self.tables = {**self.tables, name: NumbersOfSteps(path)}

    def main(self) -> Table | None:
        """The time series of the run, or what comes first."""
        first = [table for name, table in self.tables.items() if name == "time_series.csv"]
        return next(iter([*first, *self.tables.values()]), None)


def _date(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")) if one.is_file())
