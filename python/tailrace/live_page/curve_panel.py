"""The curves of the page: a column of every run over time, which grow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, Div, Select

from .choices import on_change, wrapped
from .curve_figure import CurveFigure
from .curve_table import table_with
from .steadiness import steadiness
from .stored_choice import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .growing_table import Table
    from .watched_run import WatchedRun

_MOST = 4000  # points of a curve that travel: more than a screen shows


class CurvePanel:
    """A figure with a choice of the column and of the axes, for one viewer.

    :param root: the model that the page shows.
    """

    def __init__(self, runs: Sequence[WatchedRun], colours: Sequence[str]) -> None:
        self._runs, self._colours = runs, colours
        self._column = Select(title="Curve", options=[], width=320, name="column")
        self._sources = [ColumnDataSource({"x": [], "y": []}, name=f"curve {at}") for at in range(len(runs))]
        self._sent: list[tuple[int, int]] = [(-1, 0) for _ in runs]  # of each run: which beginning, how many rows
        self._figure = CurveFigure(self._add_lines, ("time", ""))
        self._told = Div(text="", sizing_mode="stretch_width", name="how steady")
        self._texts: dict[str, str] = {}  # of each run
        self._link = Div(text="", name="numbers of the curve")
        choices = wrapped(self._column, *self._figure.toggles, self._link)
        self.root = column(choices, self._told, self._figure.root, sizing_mode="stretch_both")
        on_change(self._column, "value", self._draw_again)

    def _add_lines(self, plot: Any) -> None:
        for number, (run, source) in enumerate(zip(self._runs, self._sources, strict=True)):
            colour = self._colours[number % len(self._colours)]
            plot.line("x", "y", source=source, color=colour, line_width=2, legend_label=run.name)
        plot.legend.visible = len(self._runs) > 1
        plot.legend.click_policy = "hide"

    def _draw_again(self) -> None:
        self._link.text = f'<a href="curve.csv?column={quote(self._column.value)}" download>save as CSV</a>'
        self._figure.labels = ("time", self._column.value.rpartition(": ")[2])
        self._figure.draw_again()
        self._sent = [(-1, 0) for _ in self._runs]
        self._texts = {}
        for source in self._sources:  # a run may not have this column
            source.data = {"x": [], "y": []}
        self.update()

    def update(self) -> None:
        """Show the rows that were added."""
        self._offer()
        for number, run in enumerate(self._runs):
            table, name = table_with(self._runs, run, self._column.value or "")
            if table is None:
                continue
            (beginning, count), now = self._sent[number], table.beginning
            if beginning == now and count == len(table):
                continue
            x, y = table.column("time"), table.column(name)
            n = min(len(x), len(y))  # a row may have come between
            x, y = x[:n], y[:n]
            self._texts[run.name] = steadiness(x, y)
            source = self._sources[number]
            added, there = slice(count, n), len(source.data["x"])
            if beginning == now and there + n - count <= 2 * _MOST:  # else all of it would travel with each row
                source.stream({"x": x[added], "y": y[added]})
            else:
                x, y = thinned(x, y)
                source.data = {"x": x, "y": y}
            self._sent[number] = (now, n)
        self._tell()

    def _tell(self) -> None:
        names = [run.name for run in self._runs if self._texts.get(run.name)]
        heads = [f"<b>{plain(name)}</b> " if len(self._runs) > 1 else "" for name in names]
        text = "<br>".join(f"{head}{self._texts[name]}" for head, name in zip(heads, names, strict=True))
        if text != self._told.text:
            self._told.text = text

    def _offer(self) -> None:
        """All columns of the tables of all runs."""
        names = [f"{name}: {one}" for run in self._runs for name, table in run.tables.items() for one in _shown(table)]
        options = list(dict.fromkeys(names))
        if options != self._column.options:
            self._column.options = options
            if self._column.value not in options and options:
                usual = [name for name in options if name.endswith(": kinetic_energy")]
                self._column.value = (usual or options)[0]


def _shown(table: Table) -> list[str]:
    return [name for name in table.columns if name not in ("time", "step")] if "time" in table.columns else []


def thinned(x: NDArray[Any], y: NDArray[Any], most: int = _MOST) -> tuple[NDArray[Any], NDArray[Any]]:
    """A curve of at most so many points that looks the same: its ends, and of each part the least and largest value."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2).astype(int)
    kept = {0, len(x) - 1}
    for first, last in pairwise(edges):
        part = y[first:last]
        if not np.isnan(part).all():
            kept |= {first + int(np.nanargmin(part)), first + int(np.nanargmax(part))}
    at = np.array(sorted(kept))
    return x[at], y[at]
