"""The contents of a series as text, for `tailrace info`: tables on a terminal, plain lines elsewhere, or JSON.

The module `inspection` reads the contents.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.files.case_parts import CHANGES, PARTS
from tailrace.grids import StretchedGrid
from tailrace.text import size, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tailrace.grids import UniformGrid

    from ..inspection.contents import Contents

_COLUMNS = 100  # of a line, where the output is no terminal
_LEAST = 30  # of the last column
_MOST_AUXILIARY = 12  # paths of other data in a table; JSON has all
_MOST_PLACES = 8  # coordinates in a table; JSON has all
_LONGEST_TEXT = 60  # characters of an attribute in a table; JSON has the whole text


def to_json(found: list[Contents]) -> str:
    """A JSON array with one object per series. Numbers that are not finite become null."""
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
        "grid": grid and _grid_as_dict(grid),
        "steps": [{"index": index, "time": time} for index, time in found.steps],
        "step": found.looked_at,
        "variables": variables,
        "scalars": found.scalars,
        "derived": found.derived,
        "table": found.has_table,
        "notes": found.notes,
        "others": found.auxiliary,
    }


def _grid_as_dict(grid: UniformGrid) -> dict[str, Any]:
    found: dict[str, Any] = {"points": grid.points, "origin": grid.origin, "spacing": grid.spacing, "axes": "x, y, z"}
    if not isinstance(grid, StretchedGrid):
        return found
    own = zip("xyz", grid.uneven, strict=True)
    found["coordinates"] = {axis: [float(one) for one in along] for axis, along in own if len(along)}
    return found


def _stretched_rows(grid: UniformGrid) -> list[str]:
    rows = []
    for axis, along in zip("xyz", grid.uneven, strict=True):
        if len(along) > 1:
            apart = [b - a for a, b in itertools.pairwise(along)]
            rows.append(f"{axis} = {_some(along)} ({min(apart):.4g} to {max(apart):.4g} apart)")
    return rows


def _some(numbers: Sequence[float]) -> str:
    shown = [f"{one:.5g}" for one in numbers]
    return ", ".join(shown if len(shown) <= _MOST_PLACES else [*shown[:3], "...", *shown[-2:]])


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


@dataclass(frozen=True)
class TextTable:
    """Rows of text with a heading. The columns in `right` are aligned to the right."""

    columns: list[str]
    rows: list[list[str]]
    right: frozenset[int] = frozenset()

    def plain(self, most: int = _COLUMNS) -> list[str]:
        """Lines with aligned columns, of at most `most` letters: the last column has several lines where it must."""
        shown = [[visible(text) for text in row] for row in self.rows]
        before = [
            max((len(row[at]) for row in [self.columns, *shown]), default=0) for at in range(len(self.columns) - 1)
        ]
        room = max(_LEAST, most - sum(before) - 2 * len(before))
        rows: list[list[str]] = []
        for *first, last in shown:
            wrapped = textwrap.wrap(last, room, break_long_words=False, break_on_hyphens=False) or [""]
            lines = [last] if len(last) <= room else wrapped
            rows += [[*first, lines[0]], *([*([""] * len(first)), line] for line in lines[1:])]
        if any(self.columns):
            rows.insert(0, self.columns)
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(len(self.columns))]
        return [
            "  ".join(
                text.rjust(width) if at in self.right else text.ljust(width)
                for at, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]

    def rich(self) -> RenderableType:
        """The same table for a terminal."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD if any(self.columns) else None, show_header=any(self.columns))
        for at, column in enumerate(self.columns):
            table.add_column(column, justify="right" if at in self.right else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(visible(text), style="" if at else "bold") for at, text in enumerate(row)))
        return table


def tables_of(found: Contents, all_steps: bool = False) -> list[TextTable]:
    """The tables that `tailrace info` prints for a series."""
    facts = [["engine", found.engine], ["size", size(found.bytes)]]
    if found.grid is not None:
        grid = found.grid
        facts += [
            ["grid", f"{_by(grid.points)} points (x, y, z)"],
            ["", f"origin {_list(grid.origin)}, spacing {_list(grid.spacing)}"],
            *(["", row] for row in _stretched_rows(grid)),
        ]
    facts.append(["steps", _steps_line(found.steps)])
    if found.has_table:
        facts.append(["blocks", "in a table, as of many ranks"])
    facts += [["" if at else "case", line] for at, line in enumerate(_changes(found.attributes))]
    facts += [["", note] for note in found.notes]
    if found.derived:
        facts.append(["computed", ", ".join(found.derived)])
    facts += [["" if at else "more", path] for at, path in enumerate(found.auxiliary[:_MOST_AUXILIARY])]
    if found.auxiliary[_MOST_AUXILIARY:]:
        facts.append(["", f"and {len(found.auxiliary) - _MOST_AUXILIARY} more; --json lists all"])
    tables = [TextTable(["", ""], facts)]
    if found.attributes:
        rows = [[name, _short(value)] for name, value in sorted(found.attributes.items()) if name not in PARTS]
        tables.append(TextTable(["attribute", "value"], rows))
    if all_steps and found.steps:
        rows = [[str(at), str(index), f"{time:.10g}"] for at, (index, time) in enumerate(found.steps)]
        tables.append(TextTable(["number", "index", "time"], rows, frozenset({0, 1, 2})))
    if found.variables:
        tables.append(_variables_table(found))
    if found.scalars:
        rows = [[name, _scalar(value)] for name, value in sorted(found.scalars.items())]
        tables.append(TextTable(["scalar", "value"], rows))
    return tables


def _changes(attributes: dict[str, Any]) -> list[str]:
    return [f"changed {line}" for line in str(attributes[CHANGES]).split("; ")] if CHANGES in attributes else []


def _variables_table(found: Contents) -> TextTable:
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
    return TextTable(columns, rows, frozenset(range(3, len(columns))))


def show(found: Contents, all_steps: bool = False) -> None:
    """Print the contents of a series: tables on a terminal, plain lines elsewhere."""
    heading = visible(found.path)
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
        print(*(f"  {line}" for line in table.plain(_COLUMNS - 2)), sep="\n")


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
