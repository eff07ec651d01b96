"""Whose results lie where an analysis writes: the head of its table tells it, and the attribute of its series.

A series has attributes from its first step on. So that one without a step has an owner too, a table with a head only,
the claim, lies beside it until then.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailrace.core import Error, InputError, is_foreign_file
from tailrace.files.failures import io_errors
from tailrace.files.marks import TIME_SERIES
from tailrace.files.paths import EARLIER, holds_something
from tailrace.files.regular import open_regular
from tailrace.files.whole import write_text
from tailrace.io import series
from tailrace.io.engines import default_path
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

Owner = Literal["ours", "foreign", "nobody"]


def title_of(name: str) -> str:
    """The title of the table of an analysis, and the mark of its pictures."""
    return f"analysis {name}"


def check_results(directory: Path, name: str, engine: str, comm: MPI.Comm) -> bool:
    """Check that the results of an analysis would replace only earlier ones of it, or nothing. Collective.

    :returns: whether there is a series that does not tell itself whose it is, because it has no step.
    :raises InputError: there are files of something else.
    :raises IoError: they cannot be read.
    """
    table, path = directory / f"{name}.csv", directory / default_path(name, engine)
    owner, there = on_root(comm, lambda: (_owner(table, name), holds_something(path)))
    foreign, untold = table if owner == "foreign" else None, False
    if owner != "foreign" and there:
        try:
            with series.open(path, "r", comm=comm) as stored:
                untold = stored.attributes.get("analysis") != name
                if untold and (len(stored) or owner == "nobody"):
                    foreign = path
        except (Error, OSError, ValueError):  # beside our table: a program was killed as it began
            untold = True
            if owner == "nobody" or on_root(comm, lambda: is_foreign_file(str(path))):
                foreign = path
    if foreign is not None:
        raise InputError(
            f"{foreign} is there already, and is no result of an analysis '{name}'; choose another directory "
            "by -o (of the command) or out (of the case), or move it away"
        )
    return untold


def _owner(table: Path, name: str) -> Owner:
    """Whose the results beside a table are; one that is set aside tells it too, because what it owns may be left."""
    found = _owner_by(table, name)
    return _owner_by(table.with_name(table.name + EARLIER), name) if found == "nobody" else found


def _owner_by(table: Path, name: str) -> Owner:
    with io_errors(f"{table} cannot be read"):
        try:
            with open_regular(table, encoding="utf-8", errors="replace") as file:
                return "ours" if f"# {title_of(name)}\n" in [file.readline(), file.readline()] else "foreign"
        except FileNotFoundError:
            return "nobody"


class Claim:
    """The claim of an analysis on the series that it begins. Local.

    :param table: the table of its results.
    """

    def __init__(self, table: Path, name: str) -> None:
        self._table, self._text = table, f"{TIME_SERIES.start.decode()}# {title_of(name)}\n"
        self._held = False

    def make(self) -> None:
        """Write the claim, unless there is a table."""
        if not self._table.exists():
            self.replace()
        self._held = self._held or self.is_left()

    def replace(self) -> None:
        """Write the claim in the place of a table."""
        with io_errors(f"cannot write {self._table}"):
            write_text(self._table, self._text, TIME_SERIES)
        self._held = True

    def drop(self) -> None:
        """Remove the claim, because the series has a step; a table with columns stays."""
        if self._held and self.is_left():
            with io_errors(f"cannot remove {self._table}"):
                self._table.unlink()
        self._held = False

    def is_left(self) -> bool:
        """Whether the table is a claim only, perhaps of a program that has failed."""
        with io_errors(f"{self._table} cannot be read"):
            try:
                with open_regular(self._table, encoding="utf-8", errors="replace") as file:
                    return bool(file.read(len(self._text) + 1) == self._text)
            except FileNotFoundError:
                return False
