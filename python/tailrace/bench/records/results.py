"""Files of results: lines of JSON, whole at every moment, and tables for other programs."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tailrace.files.regular import is_there, open_regular, refuse_special
from tailrace.text import counted

from .records import End, Failure, Interruption, Measurement, Record, Run, parse


class ResultError(ValueError):
    """A file is not a file of results, or cannot be written. The message has the file and what to do."""


def check_place(path: Path, *, append: bool) -> None:
    """Check that a `ResultFile` may be written, before anything is measured.

    :raises ResultError: the file exists and `append` is False, or it is not a file of results.
    :raises OSError: there is a named pipe, a socket or a device.
    """
    if not append and is_there(path):
        raise ResultError(f"{path}: exists; expected a new file. To add to it, use --append; or give another -o")
    refuse_special(path)
    if path.exists() and path.stat().st_size:
        read_results(path)


class ResultFile:
    """A file of results, written line by line. If the program is killed, only the last line may be incomplete.

    A new file without records is removed at the end.

    :param path: a new file; an existing one is an error unless `append`.
    :raises ResultError: as `check_place`.
    :raises OSError: the file cannot be made.
    """

    def __init__(self, path: Path, *, append: bool = False) -> None:
        check_place(path, append=append)
        self.path, self._new = path, not append
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_EXCL)
        # Not buffered: after a full disk, closing the file would write the buffer again.
        self._file = os.fdopen(os.open(path, flags, 0o666), "ab", buffering=0)
        if append and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self._write(b"\n")  # end the line of a run that was killed while it wrote

    def add(self, record: Record) -> None:
        """Write one record at once, as a whole or not at all.

        :raises ResultError: it cannot be written, for example on a full disk. It is no OSError, because that would
            count as a failure of the cell, and measuring would go on.
        """
        self._write(json.dumps(record.to_json(), allow_nan=False).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(before)
            raise ResultError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()
        with suppress(OSError):
            if self._new and not self.path.stat().st_size:
                self.path.unlink()


class BenchResults:
    """The records of one or several files."""

    def __init__(self, records: Iterable[Record], notes: Iterable[str] = ()) -> None:
        records = list(records)
        self.runs = [one for one in records if isinstance(one, Run)]
        self.measurements = [one for one in records if isinstance(one, Measurement)]
        self.failures = [one for one in records if isinstance(one, Failure)]
        self.ended = {one.run for one in records if isinstance(one, End)}
        self.interruptions = {one.run: one for one in records if isinstance(one, Interruption)}
        self.notes = list(notes)  # lines that could not be read

    @property
    def interrupted(self) -> list[Run]:
        """The runs that have no end."""
        return [run for run in self.runs if run.run not in self.ended]

    def interrupted_words(self) -> list[str]:
        """A sentence for each run that was interrupted: by what, and what is missing."""
        said = []
        for run in self.interrupted:
            told = self.interruptions.get(run.run)
            if told is None:
                said.append(f"The run of {run.began} was interrupted: measurements may be missing.")
            else:
                said.append(f"The run of {run.began} was interrupted by {told.by}. Missing: {told.missing}.")
        return said


def read_results(*paths: Path) -> BenchResults:
    """Read files of results. A last line that is not whole is left out with a note.

    :raises ResultError: a file cannot be read or another line is wrong; the message has file and line.
    """
    records: list[Record] = []
    notes: list[str] = []
    seen: set[str] = set()
    for path in paths:
        records += _records_of(path, notes, seen)
    return BenchResults(records, notes)


def _records_of(path: Path, notes: list[str], seen: set[str]) -> Iterator[Record]:
    """The records of a file.

    :param notes: gets what is said of it.
    :param seen: the lines of the files before, to which those of this one are added. A record that comes again is of a
        copy, and no other round.
    """
    own: set[str] = set()
    again = 0
    try:
        with open_regular(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path}: cannot be read as text: {error}") from None
    begun = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse(line)
        except ValueError as error:
            if begun and (number == len(lines) or _starts_run(lines[number:])):
                notes.append(f"{path}:{number}: the line is not whole and is left out; the run was interrupted there")
                continue
            raise ResultError(
                f"{path}:{number}: no record of a benchmark: {error}. Expected a file that tailrace bench wrote"
            ) from None
        if not begun and not isinstance(record, Run):
            raise ResultError(f'{path}:{number}: expected a record of the kind "run" first')
        begun = True
        own.add(line)
        again += line in seen
        if record is not None and line not in seen:
            yield record
    if not begun:
        raise ResultError(f"{path}: is empty; expected a file that tailrace bench wrote")
    seen |= own
    if again:
        notes.append(f"{path}: {counted(again, 'record')} of a file that was given before: counted once")


def _starts_run(rest: list[str]) -> bool:
    """Whether the next line begins another run; then an interruption cut the line before it."""
    following = next((line for line in rest if line.strip()), "")
    try:
        return isinstance(parse(following), Run)
    except ValueError:
        return False


COLUMNS = (
    "run", "bench", "operation", "name", "engine", "role", "directory", "ranks", "nodes", "decomposition", "shape",
    "halo", "variables", "steps", "precision", "cache", "source", "parameters", "round", "order", "seconds", "bytes",
    "verified", "disturbed", "error",
)  # fmt: skip


def write_csv(results: BenchResults, path: Path) -> None:
    """Write one row per measurement or failure; phases have columns `phase_NAME`, counts `count_NAME`."""
    rows = [one.to_json() for one in results.measurements] + [one.to_json() for one in results.failures]
    for row in rows:
        row |= {f"phase_{name}": value for name, value in row.pop("phases", {}).items()}
        row |= {f"count_{name}": value for name, value in row.pop("counts", {}).items()}
        row |= {f"ranks_{name}": value for name, value in row.pop("per_rank", {}).items()}
        row["parameters"] = json.dumps(row["parameters"])
        row["shape"], row["decomposition"] = ("x".join(map(str, row[key])) for key in ("shape", "decomposition"))
    more = sorted({key for row in rows for key in row if key.startswith(("phase_", "count_", "ranks_"))})
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*COLUMNS, *more], extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
