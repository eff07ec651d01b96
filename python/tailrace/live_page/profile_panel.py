"""The spectra, histograms and profiles of the page: arrays that analyses have stored, by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from tailrace.render.arrays import chosen, lists, ordinates, stored_curves
from tailrace.render.curves import Curve
from tailrace.render.stored import open_stored

from .choices import wrapped
from .curve_figure import CurveFigure
from .stored_choice import StoredChoice, plain

if TYPE_CHECKING:
    from tailrace.steps.stored_step import StoredStep

    from .stored_choice import Later
    from .watched_run import WatchedRun


class ProfilePanel:
    """An array of a step over its abscissa, for one viewer."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later, colour: str) -> None:
        self._stored = StoredChoice(runs, later, "Array", _names, lambda _: self._show())
        self._source = ColumnDataSource({"x": [], "y": []}, name="profile")
        self._colour = colour
        self._figure = CurveFigure(self._add_lines)
        choices = wrapped(*self._stored.models, *self._figure.toggles)
        self.root = column(choices, self._stored.told, self._figure.root, sizing_mode="stretch_both")

    def _add_lines(self, plot: Any) -> None:
        plot.line("x", "y", source=self._source, color=self._colour, line_width=2)

    def update(self) -> None:
        """Offer what is there now."""
        self._stored.update()

    def _show(self) -> None:
        path, name, step = self._stored.path, self._stored.name, self._stored.step
        if path is not None and name:
            self._stored.ask(lambda: _curve(path, name, step), self._draw)

    def _draw(self, curve: Curve) -> None:
        x = 0.5 * (curve.x[1:] + curve.x[:-1]) if curve.bins else curve.x
        self._stored.told.text = f"{plain(curve.panel)}, {plain(curve.note)}"
        self._source.data = {"x": x, "y": curve.y}
        if curve.x_label != self._figure.labels[0]:
            self._figure.labels = (curve.x_label, "")
            self._figure.draw_again()


def _names(step: StoredStep) -> list[str]:
    return list(lists(step, 1))


def _curve(path: Path, name: str, step: int) -> Curve:
    with open_stored(path) as stored:
        one = stored[step]
        found = ordinates(one, str(path), [name], None, None)
        return stored_curves(one, chosen(str(path), found, None, [name])[1], path.name, f"t = {one.time:.4g}")[0]
