"""A curve as numbers: the table that has it, all of its rows as text, how steady it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .growing_table import Table
    from .watched_run import WatchedRun

_ENOUGH = 5  # points of a quarter


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


def steadiness(x: NDArray[Any], y: NDArray[Any]) -> str:
    """How steady a curve has become: its mean and deviation in the last half of time, and how its quarters differ.

    Means are over x, whose distances may differ. Empty where the half has too few points.
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 2:
        return ""
    middle, late = x[0] + 0.5 * (x[-1] - x[0]), x[0] + 0.75 * (x[-1] - x[0])
    half = x >= middle
    earlier, later = half & (x <= late), x >= late
    if min(np.count_nonzero(earlier), np.count_nonzero(later)) < _ENOUGH:
        return ""
    mean = _mean(x[half], y[half])
    deviation = np.sqrt(max(_mean(x[half], (y[half] - mean) ** 2), 0.0))
    apart = _mean(x[later], y[later]) - _mean(x[earlier], y[earlier])
    share = f" ({abs(apart / mean):.1%} of it)" if abs(mean) > 1e-3 * np.abs(y[half]).max() else ""
    return (
        f"from {x[half][0]:.4g} to {x[-1]:.4g}: mean {mean:.4g}, deviation {deviation:.2g}; "
        f"from the third to the last quarter the mean changes by {apart:.2g}{share}"
    )


def _mean(x: NDArray[Any], y: NDArray[Any]) -> float:
    return float(np.trapezoid(y, x) / (x[-1] - x[0]))
