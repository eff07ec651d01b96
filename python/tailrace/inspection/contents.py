"""The contents of a series on disk, and its damage, for every engine.

`tailrace info` and `tailrace verify` use this module. The engine is found from the files, not from the name. Data are
read in pieces of limited size. If a library could crash on metadata without checksums of ours, a child process reads
the series (see `tailrace.io.guard`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.core import Error, InputError, IoError, engine_at
from tailrace.files.marks import TIME_SERIES, is_ours
from tailrace.files.missing import nothing_at
from tailrace.flow import checkpoint
from tailrace.formats.joined import JoinedDataset, files_at
from tailrace.formats.known import known_and_not_read
from tailrace.formats.patterns import is_pattern, matches
from tailrace.formats.recognise import (
    format_in_child,
    is_series_of_ours,
    open_dataset,
    series_of_run,
)
from tailrace.io import guard, series
from tailrace.io.engines import ENGINES, engine_of_remains, is_stream
from tailrace.io.handle import Handle
from tailrace.io.placement import boxes_of
from tailrace.io.time_series import read_provenance, read_time_series

PIECE_BYTES = 32 << 20  # largest piece that is read at once, unless one row is larger
_MOST_NAMED = 5  # entries of a directory in a message
_CHECKPOINT = re.compile(r"step-\d+")


class NotASeriesError(ValueError):
    """There is no series at a path."""


class DamagedError(OSError):
    """Files of another program are damaged, so that not even their format can be read."""


def engine_of(path: Path) -> str:
    """The engine of the series at `path`, or the format of another program; of many files that of the first one.

    :raises NotASeriesError: the path does not exist, or contains no series.
    :raises DamagedError: it cannot be read.
    """
    if is_stream(path):
        raise NotASeriesError(
            f"{path}: a stream is not stored: its steps can be read once, while its writer runs. "
            "Read them with tailrace.open in Python, or have the writer store a series too"
        )
    if not path.exists() and not is_pattern(path):
        raise NotASeriesError(f"{path}: {nothing_at(path)}")
    engine = engine_at(str(path)) or engine_of_remains(path)
    if engine and is_series_of_ours(path):
        return engine
    try:
        found = format_in_child(path)
    except IoError as error:
        raise DamagedError(str(error)) from None
    if found:
        return found
    if engine:
        return engine
    if path.is_dir():
        if within := _series_in(path):
            raise NotASeriesError(f"{path}: is no series, but a directory with {within}; name what you want to see")
        raise NotASeriesError(
            f"{path}: this directory holds no series: neither series.jsonl (raw, mpiio, sion, adios_hdf5) nor md.idx "
            "(bp4, bp5), nor files of another program that can be read; docs/formats.md says which can"
        )
    unknown = f"{path}: is no series, nor a file of another program that can be read; docs/formats.md says which can"
    raise NotASeriesError(known_and_not_read(path) or unknown)


def _series_in(directory: Path) -> str:
    """The first series and checkpoints in a directory, for a message."""
    entries = sorted(one for one in directory.iterdir() if not one.name.startswith("."))
    found = [
        one.name
        for one in entries
        if (engine_at(str(one)) and is_series_of_ours(one)) or any(one.glob("step-*/series.jsonl"))
    ]
    return ", ".join(found[:_MOST_NAMED]) + (", ..." if len(found) > _MOST_NAMED else "")


def _is_one_series(path: Path, engine: str) -> bool:
    """Whether an engine of ours wrote all that is at a path, as one series; many series can be read as one too."""
    return engine in ENGINES and (engine_at(str(path)) or engine_of_remains(path)) == engine


def _is_vouched(path: Path, engine: str) -> bool:
    """Whether no child process has to read it first: checksums of ours cover all metadata."""
    if _is_one_series(path, engine):
        return guard.vouched(path, engine)
    if engine not in ENGINES:
        return False
    return all(is_series_of_ours(one) and guard.vouched(one, engine_at(str(one))) for one in files_at(path))


def series_at(path: Path) -> list[Path]:
    """The path itself, or the series that a run has written there; of a directory of checkpoints all, oldest first."""
    if not path.is_dir():
        return [path]
    checkpoints = [entry for entry in path.iterdir() if entry.is_dir() and _CHECKPOINT.fullmatch(entry.name)]
    return sorted(checkpoints, key=lambda entry: int(entry.name[5:])) or [series_of_run(path)]


def size_on_disk(path: Path) -> int:
    """The bytes of a file, of all files in a directory, or of those that a glob names."""
    if is_pattern(path):
        return sum(map(size_on_disk, matches(path)))
    return sum(entry.stat().st_size for entry in (path.rglob("*") if path.is_dir() else [path]) if entry.is_file())


@dataclass(frozen=True)
class ValueRange:
    """Smallest and largest value of a variable without NaN values, and the number of NaN values."""

    min: float
    max: float
    not_numbers: int = 0


def range_of(step: series.ArrayStep, name: str) -> ValueRange:
    """The range of a whole variable. At most `PIECE_BYTES` of the variable are in memory at the same time."""
    dtype, shape, _ = step.variables[name]
    if 0 in shape or np.dtype(dtype).kind == "c":  # complex numbers have no order
        return ValueRange(math.nan, math.nan)
    low, high, bad = math.inf, -math.inf, 0
    for box in boxes_of(shape, PIECE_BYTES // np.dtype(dtype).itemsize):
        values = step.read(name, box).ravel()
        smallest, largest = float(values.min()), float(values.max())
        if math.isnan(smallest) or math.isnan(largest):
            known = values[~np.isnan(values)]
            bad += values.size - known.size
            if not known.size:
                continue
            smallest, largest = float(known.min()), float(known.max())
        low, high = min(low, smallest), max(high, largest)
    return ValueRange(low, high, bad) if low <= high else ValueRange(math.nan, math.nan, bad)


@dataclass(frozen=True)
class Variable:
    """A variable of the chosen step. `shape` is (z, y, x), or (rows, columns) for a list."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_list: bool
    range: ValueRange | None = None


@dataclass(frozen=True)
class Contents:
    """The contents of a series. Variables and scalars are those of the step at position `looked_at`, if any."""

    path: Path
    engine: str
    bytes: int
    attributes: dict[str, Any]
    grid: series.UniformGrid | None
    steps: list[tuple[int, float]]
    looked_at: int | None
    variables: list[Variable]
    scalars: dict[str, float | int | str]
    notes: list[str] = field(default_factory=list)  # why it has no steps; for files of other programs, assumptions
    auxiliary: list[str] = field(default_factory=list)  # paths with more data of the same program, which can be opened
    derived: list[str] = field(default_factory=list)  # variables that are computed when they are read
    has_table: bool = False  # the blocks of the step are in a table of numbers


def contents(path: Path, step: int = -1, minmax: bool = False) -> Contents:
    """The contents of the series at `path`. `step` is a position from 0; negative numbers count from the end.

    :raises NotASeriesError: see `engine_of`.
    :raises IoError: the series is damaged.
    :raises InputError: the step does not exist.
    """
    if _is_time_series(path):
        return _table_contents(path, step)
    engine = engine_of(path)
    # Then no library opens its files.
    sidecar_only = _is_one_series(path, engine) and ENGINES[engine].sidecar and not minmax
    if sidecar_only or _is_vouched(path, engine):
        return read_contents(path, engine, step, minmax)
    found: Contents = guard.call(path, engine, f"{__name__}:read_contents", path, engine, step, minmax)
    return found


def _is_time_series(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0 and is_ours(path, TIME_SERIES)


def _table_contents(path: Path, step: int) -> Contents:
    columns = read_time_series(path)
    rows = list(zip(columns["step"].tolist(), columns["time"].tolist(), strict=True))
    at = _position(path, step, len(rows)) if rows else None
    numbers = {} if at is None else {name: float(values[at]) for name, values in columns.items()}
    return Contents(
        path=path,
        engine="time series (CSV)",
        bytes=size_on_disk(path),
        attributes=dict(read_provenance(path)),
        grid=None,
        steps=rows,
        looked_at=at,
        variables=[],
        scalars={name: number for name, number in numbers.items() if name not in ("step", "time")},
    )


def _position(path: Path, step: int, count: int) -> int:
    if not -count <= step < count:
        raise InputError(f"{path}: there is no step number {step}: it has {count}, counted from 0; -1 is the last")
    return step % count


def case_of(path: Path) -> str:
    """The text of the case that a series, a checkpoint or a time series was made from; "" if the file has none.

    :raises NotASeriesError, IoError, TimeSeriesError: see `contents`.
    """
    return str(contents(series_at(path)[-1]).attributes.get("case", ""))


def read_contents(path: Path, engine: str, step: int, minmax: bool) -> Contents:
    """As `contents`, in this process."""
    with _open(path, engine) as stored:
        dataset = stored.dataset
        steps = stored.steps
        looked_at, variables, scalars = None, [], {}
        if steps:
            looked_at = _position(path, step, len(steps))
            one = steps[looked_at]
            scalars = one.scalars
            for name, (dtype, shape, is_list) in sorted(one.variables.items()):
                nx, ny, nz = shape
                extent: tuple[int, ...] = (ny, nx) if is_list else (nz, ny, nx)
                variables.append(Variable(name, dtype, extent, is_list, range_of(one, name) if minmax else None))
        return Contents(
            path=path,
            engine=engine,
            bytes=size_on_disk(path),
            attributes=stored.attributes,
            grid=stored.grid,
            steps=[(found.index, found.time) for found in steps],
            looked_at=looked_at,
            variables=variables,
            scalars=scalars,
            notes=stored.notes if dataset is not None or not len(steps) else [],
            auxiliary=dataset.auxiliary if dataset is not None else [],
            derived=list(dataset.derived(looked_at)) if dataset is not None and looked_at is not None else [],
            has_table=looked_at is not None and steps[looked_at].has_table,
        )


def _open(path: Path, engine: str) -> series.ArraySeries:
    if not _is_one_series(path, engine):
        from mpi4py import MPI

        found = open_dataset(path, MPI.COMM_SELF, None, {}, guard=False)
        if found is not None:
            return series.ArraySeries(Handle(found), "r", MPI.COMM_SELF)
    return series.open(path, engine=engine)


@dataclass(frozen=True)
class Soundness:
    """The result of comparing a series with its checksums."""

    path: Path
    steps: int
    damage: list[str]  # one line per damage, with step, variable and box if they are known
    unchecked: list[str]  # one line per part without checksums
    variables: int = 0  # in all steps together, with single numbers and texts
    not_finite: list[str] = field(default_factory=list)  # one line per variable with such values, which are no damage

    def lines(self) -> list[str]:
        """The lines that `tailrace verify` prints."""
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        lines = [f"{self.path}: damaged: {line}" for line in self.damage]
        lines += [f"{self.path}: not finite: {line}" for line in self.not_finite]
        lines += [f"{self.path}: not checked: {line}" for line in self.unchecked]
        if not self.damage and not self.variables:
            lines.append(f"{self.path}: {steps} without a variable that can be read: nothing was checked")
        elif not self.damage:
            lines.append(f"{self.path}: {steps}, {'no damage found' if self.unchecked else 'all well'}")
        return lines


def verify(path: Path) -> Soundness:
    """Compare every step with its checksums, in pieces of limited size. Raises NotASeriesError: see `engine_of`."""
    try:
        engine = engine_of(path)
    except DamagedError as error:
        return Soundness(path, 0, [str(error)], [])
    if _is_vouched(path, engine):
        return read_all(path, engine)
    try:
        found: Soundness = guard.call(path, engine, f"{__name__}:read_all", path, engine)
    except IoError as error:
        return Soundness(path, 0, [str(error)], [])
    return found


def read_all(path: Path, engine: str) -> Soundness:
    """As `verify`, in this process."""
    damage, unchecked, without, not_finite, count, variables = [], [], [], [], 0, 0
    if engine == checkpoint.ENGINE and _CHECKPOINT.fullmatch(path.name):
        try:
            checkpoint.check_sidecar(path)
        except (Error, OSError) as error:
            damage.append(str(error))
    try:
        with _open(path, engine) as stored:
            steps = stored.steps
            count = len(steps)
            damage += stored.verify()
            unchecked += stored.notes if stored.dataset is None else []
            not_finite = stored.dataset.not_finite if stored.dataset is not None else []
            for position, step in enumerate(steps):
                variables += len(step.names) + len(step.scalars)
                missing = _unchecked(stored, position)
                if missing:
                    without.append(f"step {step.index} has no checksums of {', '.join(sorted(missing))}")
    except (Error, OSError) as error:
        damage.append(str(error))
    if len(without) == count > 1:  # no step has checksums: one line is enough
        without = [f"none of the {count} steps has checksums of all its variables"]
    return Soundness(path, count, damage, unchecked + without, variables, not_finite)


def _unchecked(stored: series.ArraySeries, position: int) -> list[str]:
    """The variables of a step that have no checksum."""
    if isinstance(stored.dataset, JoinedDataset):
        return stored.dataset.unchecked(position)
    return list(stored.steps[position].unchecked)
