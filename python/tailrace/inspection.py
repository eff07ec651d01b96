"""What lies in a series on disk: its contents and its soundness, whatever the engine.

Behind `tailrace info` and `tailrace verify`. The engine is recognised by what is there, not by the name. Data are
read in pieces of bounded size.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, checkpoint, series

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .placement import Triple

PIECE_BYTES = 32 << 20  # read at once, or one row
_CHECKPOINT = re.compile(r"step-\d+")
_LONGEST_TEXT = 60  # of an attribute in a table; JSON has all of it


class NotASeriesError(ValueError):
    """There is nothing at a path that any engine wrote."""


def engine_of(path: Path) -> str:
    """The engine that wrote what lies at `path`.

    :raises NotASeriesError: nothing is there, or nothing that an engine wrote.
    """
    if str(path).startswith("sst:") or path.suffix == ".sst":
        raise NotASeriesError(
            f"{path}: a stream is not stored: its steps can be read once, while its writer runs. "
            "Read them with tailrace.open in Python, or have the writer store a series too"
        )
    if not path.exists():
        raise NotASeriesError(f"{path}: there is no such file or directory")
    engine = _core.engine_at(str(path)) or _engine_by_names(path)
    if engine:
        return engine
    if path.is_dir():
        raise NotASeriesError(
            f"{path}: this directory holds no series: neither series.jsonl (raw, mpiio, sion, adios_hdf5) nor md.idx "
            "(bp4, bp5)"
        )
    raise NotASeriesError(f"{path}: is no series: neither a directory nor an HDF5 file")


def _engine_by_names(path: Path) -> str | None:
    """Whose a damaged series in a directory was, whose sidecar or index is lost; None when no file tells."""
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if any(name.endswith(".sion") for name in names):
        return "sion"
    if names & {"series.jsonl", "series.xdmf"}:
        return "raw"
    if names & {"md.idx", "md.0", "data.0", "tailrace.json"}:
        return "bp4" if path.suffix == ".bp4" else "bp5"
    return None


def series_at(path: Path) -> list[Path]:
    """The series that a path means: itself, or all checkpoints of a directory of checkpoints, oldest first."""
    if not path.is_dir():
        return [path]
    checkpoints = sorted(entry for entry in path.iterdir() if entry.is_dir() and _CHECKPOINT.fullmatch(entry.name))
    return checkpoints or [path]


def size_on_disk(path: Path) -> int:
    """Bytes of a file, or of all files in a directory."""
    return sum(entry.stat().st_size for entry in (path.rglob("*") if path.is_dir() else [path]) if entry.is_file())


def boxes_of(shape: Triple, most: int) -> Iterator[series.Box]:
    """Boxes that make up a variable of `shape` (x, y, z): as many whole planes, or rows, as hold `most` points."""
    nx, ny, nz = shape
    rows = max(1, most // nx)
    planes = max(1, rows // ny)
    for k in range(0, nz, planes):
        for j in range(0, ny, rows):
            yield series.Box((0, j, k), (nx, min(rows, ny - j), min(planes, nz - k)))


@dataclass(frozen=True)
class Range:
    """Smallest and largest value of a variable, and how many values are not numbers and left out."""

    min: float
    max: float
    not_numbers: int = 0


def range_of(step: series.Step, name: str) -> Range:
    """The range of a whole variable; at most `PIECE_BYTES` of it are in memory at once."""
    dtype, shape, _ = step.variables[name]
    if 0 in shape:
        return Range(math.nan, math.nan)
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
    return Range(low, high, bad) if low <= high else Range(math.nan, math.nan, bad)


@dataclass(frozen=True)
class Variable:
    """A variable of the step that is looked at; `shape` is (z, y, x), or (rows, columns) of a list."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_list: bool
    range: Range | None = None


@dataclass(frozen=True)
class Contents:
    """What a series holds. The variables and scalars are those of the step at position `looked_at`, if it has steps."""

    path: Path
    engine: str
    bytes: int
    attributes: dict[str, Any]
    grid: series.UniformGrid | None
    steps: list[tuple[int, float]]
    looked_at: int | None
    variables: list[Variable]
    scalars: dict[str, float | int | str]


def contents(path: Path, step: int = -1, minmax: bool = False) -> Contents:
    """Look into the series at `path`; `step` is a position, from 0, or from the end when negative.

    :raises NotASeriesError: see `engine_of`.
    :raises IoError: the series is damaged.
    :raises InputError: there is no such step.
    """
    engine = engine_of(path)
    with series.open(path, engine=engine) as stored:
        steps = stored.steps
        looked_at, variables, scalars = None, [], {}
        if steps:
            if not -len(steps) <= step < len(steps):
                raise _core.InputError(
                    f"{path}: there is no step number {step}: it has {len(steps)}, counted from 0; -1 is the last"
                )
            looked_at = step % len(steps)
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
        )


@dataclass(frozen=True)
class Soundness:
    """Whether a series is what was written."""

    path: Path
    steps: int
    damage: list[str]  # one line each, with step, variable and box where they are known
    unchecked: list[str]  # what has no checksums, one line each

    def lines(self) -> list[str]:
        """What `tailrace verify` prints."""
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        lines = [f"{self.path}: damaged: {line}" for line in self.damage]
        lines += [f"{self.path}: not checked: {line}" for line in self.unchecked]
        if not self.damage:
            lines.append(f"{self.path}: {steps}, {'no damage found' if self.unchecked else 'all well'}")
        return lines


def verify(path: Path) -> Soundness:
    """Compare every step with its checksums, in pieces of bounded size.

    :raises NotASeriesError: see `engine_of`.
    """
    engine = engine_of(path)
    damage, unchecked, without, count = [], [], [], 0
    if engine == "raw" and _CHECKPOINT.fullmatch(path.name):
        try:
            checkpoint.check_sidecar(path)
        except (_core.Error, OSError) as error:
            damage.append(str(error))
    try:
        with series.open(path, engine=engine) as stored:
            steps = stored.steps
            count = len(steps)
            damage += stored.verify()
            unchecked += stored.notes
            for step in steps:
                missing = step.unchecked
                if missing:
                    without.append(f"step {step.index} has no checksums of {', '.join(sorted(missing))}")
    except (_core.Error, OSError) as error:
        damage.append(str(error))
    if len(without) == count > 1:  # written without them: one line says it
        without = [f"none of the {count} steps has checksums of all its variables"]
    return Soundness(path, count, damage, unchecked + without)


# ---- output ------------------------------------------------------------------------------------


def to_json(found: list[Contents]) -> str:
    """A JSON array, an object for each series; what is no finite number is null."""
    return json.dumps([_finite(_as_dict(one)) for one in found], indent=1, allow_nan=False)


def _as_dict(found: Contents) -> dict[str, Any]:
    grid = found.grid
    variables = []
    for variable in found.variables:
        entry: dict[str, Any] = {"name": variable.name, "type": variable.dtype, "shape": variable.shape}
        if variable.is_list:
            entry["list"] = True
        if variable.range is not None:
            entry |= {"min": variable.range.min, "max": variable.range.max, "not_numbers": variable.range.not_numbers}
        variables.append(entry)
    return {
        "path": str(found.path),
        "engine": found.engine,
        "bytes": found.bytes,
        "attributes": found.attributes,
        "grid": grid and {"points": grid.points, "origin": grid.origin, "spacing": grid.spacing, "axes": "x, y, z"},
        "steps": [{"index": index, "time": time} for index, time in found.steps],
        "step": found.looked_at,
        "variables": variables,
        "scalars": found.scalars,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


@dataclass(frozen=True)
class Table:
    """Rows of text under a heading; numbers stand at the right."""

    columns: list[str]
    rows: list[list[str]]
    right: frozenset[int] = frozenset()

    def plain(self) -> list[str]:
        """Lines with aligned columns."""
        lines = [self.columns, *self.rows] if any(self.columns) else self.rows
        widths = [max((len(line[at]) for line in lines), default=0) for at in range(len(self.columns))]
        return [
            "  ".join(
                text.rjust(width) if at in self.right else text.ljust(width)
                for at, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]

    def rich(self) -> RenderableType:
        """The same for a terminal."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD if any(self.columns) else None, show_header=any(self.columns))
        for at, column in enumerate(self.columns):
            table.add_column(column, justify="right" if at in self.right else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(text, style="" if at else "bold") for at, text in enumerate(row)))
        return table


def tables_of(found: Contents, all_steps: bool = False) -> list[Table]:
    """What `tailrace info` shows of a series."""
    facts = [["engine", found.engine], ["size", human_size(found.bytes)]]
    if found.grid is not None:
        grid = found.grid
        facts += [
            ["grid", f"{_by(grid.points)} points (x, y, z)"],
            ["", f"origin {_list(grid.origin)}, spacing {_list(grid.spacing)}"],
        ]
    facts.append(["steps", _steps_line(found.steps)])
    tables = [Table(["", ""], facts)]
    if found.attributes:
        rows = [[name, _short(value)] for name, value in sorted(found.attributes.items())]
        tables.append(Table(["attribute", "value"], rows))
    if all_steps and found.steps:
        rows = [[str(at), str(index), f"{time:.10g}"] for at, (index, time) in enumerate(found.steps)]
        tables.append(Table(["number", "index", "time"], rows, frozenset({0, 1, 2})))
    if found.variables:
        tables.append(_variables_table(found))
    if found.scalars:
        rows = [[name, _scalar(value)] for name, value in sorted(found.scalars.items())]
        tables.append(Table(["scalar", "value"], rows))
    return tables


def _variables_table(found: Contents) -> Table:
    columns = ["variable", "type", "shape (z, y, x)"]
    rows = [
        [variable.name, variable.dtype, _by(variable.shape) + (" (list)" if variable.is_list else "")]
        for variable in found.variables
    ]
    ranges = [variable.range for variable in found.variables]
    if any(entry is not None for entry in ranges):
        columns += ["min", "max"]
        with_nan = any(entry.not_numbers for entry in ranges if entry is not None)
        if with_nan:
            columns.append("not numbers")
        for row, entry in zip(rows, ranges, strict=True):
            assert entry is not None
            row += [f"{entry.min:.6g}", f"{entry.max:.6g}"] + ([str(entry.not_numbers)] if with_nan else [])
    return Table(columns, rows, frozenset(range(3, len(columns))))


def show(found: Contents, all_steps: bool = False) -> None:
    """Print what a series holds: tables on a terminal, plain lines elsewhere."""
    import sys

    heading = str(found.path)
    if found.looked_at is not None and found.looked_at != len(found.steps) - 1:
        heading += f": variables of step number {found.looked_at}, index {found.steps[found.looked_at][0]}"
    tables = tables_of(found, all_steps)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        console.print(Text(heading, style="bold cyan"), soft_wrap=True)
        for table in tables:
            console.print(table.rich())
        return
    print(heading)
    for table in tables:
        print(*(f"  {line}" for line in table.plain()), sep="\n")


def human_size(size: float) -> str:
    """ "12.5 MiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _steps_line(steps: list[tuple[int, float]]) -> str:
    if not steps:
        return "none"
    (first, begin), (last, end) = steps[0], steps[-1]
    if len(steps) == 1:
        return f"1: index {first}, time {begin:.10g}"
    return f"{len(steps)}: index {first} to {last}, time {begin:.10g} to {end:.10g}"


def _scalar(value: float | int | str) -> str:
    return f"{value:.10g}" if isinstance(value, float) else _short(value)


def _by(numbers: tuple[int, ...]) -> str:
    return " x ".join(str(number) for number in numbers)


def _list(numbers: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{number:.6g}" for number in numbers) + ")"


def _short(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."
