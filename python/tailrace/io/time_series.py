"""Time series of numbers: a CSV file that explains its columns and survives interruptions.

Columns are those of the volume averages of a run (`COLUMNS`), or whatever an analysis returns.

A row is written by one call. A run that is killed may leave an incomplete last line; going back to a checkpoint
(`rewind`) drops it together with every row after the checkpoint, so that no step has two rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..files import locks
from ..files.case_parts import CHANGES
from ..files.marks import TIME_SERIES, why_foreign
from ..files.provenance import comments, of_comments
from ..files.regular import open_regular, refuse_special
from ..files.whole import write_text

COLUMNS = (
    "step",
    "time",
    "dt",
    "kinetic_energy",
    "dissipation",
    "dissipation_laplacian",
    "enstrophy",
    "max_divergence",
    "cfl",
)
DEFINITIONS = """\
Volume averages <.> over the box, in units of the velocity scale U and the length scale L; nu = 1 / Re.
step, time: steps done, and the time of this state in L / U; dt: size of the last step
kinetic_energy = <u . u> / 2, in U^2
dissipation = 2 nu <S_ij S_ij>, S the rate of strain, in U^3 / L
dissipation_laplacian = -<u . d>, d what diffusion adds to du/dt in the solver, all kinds of it, in U^3 / L; without
  forces it is -d(kinetic_energy)/dt even where the flow is under-resolved; nodes whose velocity is given add nothing
enstrophy = <w . w> / 2, w the vorticity, in U^2 / L^2
max_divergence = max |div u| L / U on the cells of the pressure
cfl = max (|ux| / dx + |uy| / dy + |uz| / dz) dt"""

_DRAFT = ".new"  # ending of the name of a file with the rows that stay


class TimeSeriesError(ValueError):
    """A file that is not a time series, or rows in the wrong order."""


class TimeSeries:
    """A time series that is being written, by one rank.

    :param path: the file; an older time series of that name is replaced unless `resume_step` is given.
    :param title: lines about the run: its name, Reynolds number, grid.
    :param resume_step: continue the file after this step: rows after it are dropped.
    :param columns: names, the first two being step and time; the others are numbers.
    :param definitions: lines that explain the columns.
    :param provenance: the origin of the file, see `provenance`; a file that is continued keeps its own head, unless
        the case of its run was changed.
    :raises TimeSeriesError: the existing file is not a time series, or has other columns than the new rows.
    :raises OSError: the file cannot be written, or another program is writing it.
    """

    def __init__(
        self,
        path: str | Path,
        title: str = "",
        resume_step: int | None = None,
        *,
        columns: Sequence[str] = COLUMNS,
        definitions: str = DEFINITIONS,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.columns = tuple(columns)
        self._last_step: int | None = None
        refuse_special(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = locks.take(self.path)
        try:
            if resume_step is not None and self.path.exists():
                changed = CHANGES in (provenance or {})
                head = self._head(title, definitions, provenance) if changed else None
                self._last_step = rewind(self.path, resume_step, head)
                self._check_columns()
            else:
                check_replaceable(self.path)
                _replace(self.path, self._head(title, definitions, provenance))
            self._file: IO[str] = open_regular(self.path, "a", encoding="utf-8")
            self._size = os.fstat(self._file.fileno()).st_size
        except BaseException:  # a notebook keeps the error, which would keep the lock
            self._lock.release()
            raise

    def _head(self, title: str, definitions: str, provenance: Mapping[str, Any] | None) -> str:
        lines = (*title.splitlines(), *definitions.splitlines(), *comments(provenance or {}))
        head = [f"# {line}".rstrip() + "\n" for line in lines]
        return "".join([TIME_SERIES.start.decode(), *head, ",".join(self.columns), "\n"])

    def _check_columns(self) -> None:
        found = read_columns(self.path)
        if found != self.columns:
            raise TimeSeriesError(
                f"{self.path}: has the columns {','.join(found)}; the rows to come have {','.join(self.columns)}. "
                "To fix this, name another path in the case, where they will be written; or start again, with "
                "--overwrite"
            )

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row; the operating system has it when this returns.

        A row of the same step as the last row is ignored: a resumed run measures the state of its checkpoint again.

        :param row: a value for each of the columns.
        :raises TimeSeriesError: a column is missing or unknown, or the step is before the last.
        :raises OSError: the disk is full or gone, or the file is not at its path any more.
        """
        if set(row) != set(self.columns):
            missing, unknown = sorted(set(self.columns) - set(row)), sorted(set(row) - set(self.columns))
            raise TimeSeriesError(
                f"{self.path}: a row needs the columns of the file; missing {missing}, unknown {unknown}"
            )
        step = int(row["step"])
        if self._last_step is not None and step <= self._last_step:
            if step == self._last_step:
                return
            raise TimeSeriesError(f"{self.path}: step {step} comes after step {self._last_step}; rewind to it first")
        self._check_there()
        self._file.write(",".join([str(step), *(f"{float(row[name]):.17g}" for name in self.columns[1:])]) + "\n")
        self._file.flush()
        self._size = os.fstat(self._file.fileno()).st_size
        self._last_step = step

    def sync(self) -> None:
        """Wait until all rows are on the disk: a checkpoint must not be ahead of its time series.

        :raises OSError: the disk is full or gone, or the file is not at its path any more.
        """
        self._check_there()
        self._file.flush()
        os.fsync(self._file.fileno())

    def _check_there(self) -> None:
        """Check that the file is still at its path. Rows written to a removed file would be lost without an error."""
        ours = os.fstat(self._file.fileno())
        there = self.path.stat() if self.path.exists() else None
        if there is None or not os.path.samestat(ours, there):
            how = "removed" if there is None else "replaced"
        elif ours.st_size < self._size:
            how = "cut"
        else:
            return
        raise OSError(f"the file was {how} by somebody else while it was being written, so rows are missing")

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        try:
            self._file.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_replaceable(path: str | Path) -> None:
    """Check that a new time series at `path` would replace only a time series, or nothing.

    :raises TimeSeriesError: there is something else.
    :raises OSError: it cannot be read.
    """
    if reason := why_foreign(Path(path), TIME_SERIES):
        raise TimeSeriesError(reason)


def rewind(path: str | Path, step: int, head: str | None = None) -> int | None:
    """Drop every row after `step`, and an incomplete last line; the file is replaced as a whole or not at all.

    :param head: a new head for the same columns.
    :returns: the step of the last row that stays; None if no row stays.
    :raises TimeSeriesError: the file is not a time series.
    """
    path = Path(path)
    old, rows = _split(path)
    check_replaceable(path)
    kept = [(number, line) for number, line in rows if _step(path, number, line) <= step]
    same = head is not None and head.endswith("\n" + old[-1])  # else the columns differ, which is an error later
    _replace(path, (head if head and same else "".join(old)) + "".join(line for _, line in kept))
    return _step(path, *kept[-1]) if kept else None


def read_columns(path: str | Path) -> tuple[str, ...]:
    """The names of the columns. Raises TimeSeriesError if the file is not a time series."""
    head, _ = _split(Path(path))
    return tuple(head[-1].strip().split(","))


def read_provenance(path: str | Path) -> dict[str, str]:
    """The origin of a time series, see `provenance`; empty if the file does not have it.

    :raises TimeSeriesError: the file is not a time series.
    """
    head, _ = _split(Path(path))
    return of_comments(line.rstrip("\n").removeprefix("#").removeprefix(" ") for line in head[:-1])


def last_step(path: str | Path) -> int | None:
    """The step of the last complete row; None if the file has no row.

    :raises TimeSeriesError: the file is not a time series.
    """
    _, rows = _split(Path(path))
    return _step(Path(path), *rows[-1]) if rows else None


def read_time_series(path: str | Path) -> dict[str, NDArray[Any]]:
    """The columns of a time series by name: `step` as int64, the others as float64.

    An incomplete last line is left out.

    :raises TimeSeriesError: the file is not a time series, or a line is damaged.
    :raises OSError: the file cannot be read.
    """
    path = Path(path)
    head, rows = _split(path)
    names = head[-1].strip().split(",")
    values = np.empty((len(rows), len(names)))
    for at, (number, line) in enumerate(rows):
        words = line.split(",")
        try:
            if len(words) != len(names):
                raise ValueError
            values[at] = [float(word) for word in words]
        except ValueError:
            raise TimeSeriesError(
                f"{path}, line {number}: expected {len(names)} numbers, found: {line.strip()[:60]}"
            ) from None
    columns: dict[str, NDArray[Any]] = {name: values[:, at].copy() for at, name in enumerate(names)}
    columns["step"] = columns["step"].astype(np.int64)
    return columns


def _split(path: Path) -> tuple[list[str], list[tuple[int, str]]]:
    """The head (comments and column names) and the complete rows with their line numbers."""
    # A power failure may leave zero bytes at the end: a line with them counts as incomplete.
    with open_regular(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines(keepends=True)
    if lines and (not lines[-1].endswith("\n") or "\0" in lines[-1]):
        lines.pop()
    at = next((at for at, line in enumerate(lines) if not line.startswith("#")), None)
    names = [] if at is None else lines[at].strip().split(",")
    if at is None or names[:2] != ["step", "time"]:
        raise TimeSeriesError(f"{path}: is not a time series of Tailrace: there is no line of columns 'step,time,...'")
    return lines[: at + 1], [(number, line) for number, line in enumerate(lines[at + 1 :], at + 2) if line.strip()]


def _step(path: Path, number: int, line: str) -> int:
    try:
        return int(line.split(",", 1)[0])
    except ValueError:
        raise TimeSeriesError(
            f"{path}, line {number}: expected a row that begins with a step, found: {line[:60]}"
        ) from None


def _replace(path: Path, text: str) -> None:
    target = path.resolve()  # a link to the file stays a link
    check_replaceable(target.with_name(target.name + _DRAFT))
    write_text(target, text, ending=_DRAFT)
