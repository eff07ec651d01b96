"""Earlier results: the name by which the user knows them, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tailrace.core import Error, FileLock, InputError, engine_at, finish_replacing, is_foreign_file

from . import guard, series
from .engines import ENGINES
from .time_series import TimeSeriesError, last_step, read_provenance

_MOST_NAMED = 4  # results that a message names at most


class Found(NamedTuple):
    """An earlier result.

    :param named: the path that a user knows it by.
    :param files: all its files; None: unknown, because it is damaged.
    :param made_by: see `provenance`; "" if unknown.
    """

    named: str
    files: list[Path] | None
    made_by: str = ""


def of_table(path: Path) -> Iterator[Found]:
    """The time series at a path, if it has a row."""
    try:
        if path.is_file() and last_step(path) is not None:
            yield Found(str(path), [path], read_provenance(path).get("made_by", ""))
    except (TimeSeriesError, OSError):  # not a time series: the code that writes there reports it
        return


def of_series(path: Path) -> Iterator[Found]:
    """The series at a path, if it has a step. Raises IoError if a program is replacing it."""
    finish_replacing(str(path))  # what a killed program began to replace is a result
    try:
        engine = engine_at(str(path))
        if not engine or (ENGINES[engine].one_file and is_foreign_file(str(path))):
            return
        with series.open(path, "r", guard=not guard.vouched(path, engine)) as stored:
            if not len(stored) and not stored.verify():
                return
            files, made_by = [Path(file) for file in stored.files], str(stored.attributes.get("made_by", ""))
    except (Error, OSError, ValueError):
        yield Found(str(path), None)
        return
    journal = Path(f"{path}{ENGINES[engine].journal}")
    yield Found(str(path), [*files, *([journal] if journal != path and journal.exists() else [])], made_by)


def files_of(found: Iterable[Found]) -> list[Path]:
    """All files of results. Raises InputError if one is damaged, so that its files are not known."""
    files: list[Path] = []
    for one in found:
        if one.files is None:
            raise InputError(
                f"{one.named} is damaged, so that it is not known which files belong to it; move it away or remove it"
            )
        files += one.files
    return files


def check_unlocked(found: Iterable[Found]) -> None:
    """Check that no program writes any of the results. Raises IoError if one does; the message says which."""
    for one in found:
        FileLock(one.named).release()


def listed(found: Sequence[Found]) -> str:
    """The names of results in a message."""
    names = [one.named for one in found]
    return ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
