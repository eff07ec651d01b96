"""A curve as numbers: the table that has it, and all of its rows as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .growing_table import Table
    from .watched_run import WatchedRun


def table_with(runs: Sequence[WatchedRun], run: WatchedRun, label: str) -> tuple[Table | None, str]:
    """The table of a run that has a curve, and its column there; None if it has not.

    :param label: "TABLE: COLUMN".
    """
    name, _, wanted = label.rpartition(": ")
    table = run.tables.get(name)
    if table is None and len(run.tables) == 1 == len(runs[0].tables):  # files of other names
        table = next(iter(run.tables.values()))
    return (table, wanted) if table is not None and wanted in table.columns else (None, "")


def curve_table(runs: Sequence[WatchedRun], label: str) -> str:
    """The rows of a curve of all runs as CSV: run, time, value. Empty if no run has this curve."""
    lines = []
    for run in runs:
        table, name = table_with(runs, run, label)
        if table is not None:
            quoted = '"' + run.name.replace('"', '""') + '"'
            pairs = zip(table.column("time").tolist(), table.column(name).tolist(), strict=False)
            lines += [f"{quoted},{time!r},{value!r}" for time, value in pairs]
    return "\n".join(["run,time,value", *lines, ""]) if lines else ""
