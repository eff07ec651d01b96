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


class ExistingResult(NamedTuple):
    """An earlier result.

    :param named: the path that a user knows it by.
    :param files: all its files; None: unknown, because it is damaged.
    :param made_by, run: see `provenance`; "" if unknown.
    """

    named: str
    files: list[Path] | None
    made_by: str = ""
    run: str = ""


def of_table(path: Path) -> Iterator[ExistingResult]:
    """The time series at a path; one without a row is no result."""
    try:
        if path.is_file() and last_step(path) is not None:
            told = read_provenance(path)
            yield ExistingResult(str(path), [path], told.get("made_by", ""), told.get("run", ""))
    except (TimeSeriesError, OSError):  # of something else: whoever writes there says so
        return


def of_series(path: Path, *, guarded: bool = True) -> Iterator[ExistingResult]:
    """The series at a path, if it has a step.

    :param guarded: read all of a file in another process first, unless its checksums say that it is not damaged.
    :raises IoError: a program is replacing it.
    """
    finish_replacing(str(path))  # what a killed program began to replace is a result
    try:
        engine = engine_at(str(path))
        if not engine or (ENGINES[engine].one_file and is_foreign_file(str(path))):
            return
        with series.open(path, "r", guard=guarded and not guard.vouched(path, engine)) as stored:
            if not len(stored) and not stored.verify():
                return
            files = [Path(file) for file in stored.files]
            made_by, run = (str(stored.attributes.get(key, "")) for key in ("made_by", "run"))
    except (Error, OSError, ValueError):
        yield ExistingResult(str(path), None)
        return
    journal = Path(f"{path}{ENGINES[engine].journal}")
    all_files = [*files, *([journal] if journal != path and journal.exists() else [])]
    yield ExistingResult(str(path), all_files, made_by, run)


def files_of(found: Iterable[ExistingResult]) -> list[Path]:
    """All files of results.

    :raises InputError: one is damaged, so that its files are not known.
    """
    files: list[Path] = []
    for one in found:
        if one.files is None:
            raise InputError(
                f"{one.named} is damaged, so that it is not known which files belong to it; move it away or remove it"
            )
        files += one.files
    return files


def check_unlocked(found: Iterable[ExistingResult]) -> None:
    """Check that no program writes any of the results.

    :raises IoError: one does; the message says which.
    """
    for one in found:
        FileLock(one.named).release()


def listed(found: Sequence[ExistingResult]) -> str:
    """The names of results in a message."""
    names = [one.named for one in found]
    return ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
