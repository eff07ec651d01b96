"""The cost of an output, as a table for the end of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailrace.io.series import PhaseSummary
from tailrace.text import is_terminal, size, visible


def output_table(title: str, phases: Iterable[PhaseSummary], notes: Iterable[str]) -> None:
    """Print a table of the time of an output, and the notes of its engine. Called on rank 0 only."""
    console = Console(file=sys.stdout, highlight=False, force_terminal=is_terminal(sys.stdout))
    table = Table(title=Text(visible(title), style="italic"), title_justify="left", box=None, padding=(0, 2))
    table.add_column("phase")
    for column in ("calls", "bytes", "min s", "mean s", "max s"):
        table.add_column(column, justify="right")
    for name, calls, moved, low, mean, high in phases:
        table.add_row(name, str(calls), size(moved) if moved else "", f"{low:.2f}", f"{mean:.2f}", f"{high:.2f}")
    console.print(table)
    for note in notes:
        console.print(Text(visible(f"  {note}")), soft_wrap=True)
