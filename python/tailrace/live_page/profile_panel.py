"""The spectra, histograms and profiles of the page: arrays that analyses have stored, by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bokeh.layouts import column
from bokeh.models import ColumnDataSource, Toggle
from bokeh.plotting import figure

from tailrace.render.arrays import chosen, lists, ordinates, stored_curves
from tailrace.render.curves import Curve
from tailrace.render.stored import open_stored

from .choices import on_change, wrapped
from .stored_choice import StoredChoice, plain

if TYPE_CHECKING:
    from tailrace.steps.stored_step import StoredStep

    from .stored_choice import Later
    from .watched_run import WatchedRun


class ProfilePanel:
    """An array of a step over its abscissa, for one viewer."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later, colour: str) -> None:
        self._stored = StoredChoice(runs, later, "Array", _names, lambda _: self._show())
        self._log_x, self._log_y = Toggle(label="log x", width=70), Toggle(label="log y", width=70)
        self._source = ColumnDataSource({"x": [], "y": []}, name="profile")
        self._label, self._colour = "", colour
        choices = wrapped(*self._stored.models, self._log_x, self._log_y)
        self.root = column(choices, self._stored.told, self._made(), sizing_mode="stretch_both")
        for toggle in (self._log_x, self._log_y):
            on_change(toggle, "active", self._make_again)

    def _made(self) -> Any:
        plot = figure(
            x_axis_type="log" if self._log_x.active else "linear",
            y_axis_type="log" if self._log_y.active else "linear",
            tools="pan,box_zoom,wheel_zoom,reset,save", x_axis_label=self._label, tooltips=[("x", "$x"), ("y", "$y")],
            sizing_mode="stretch_both", min_height=320,
        )  # fmt: skip
        plot.line("x", "y", source=self._source, color=self._colour, line_width=2)
        return plot

    def _make_again(self) -> None:
        self.root.children = [*self.root.children[:2], self._made()]

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
        if curve.x_label != self._label:
            self._label = curve.x_label
            self.root.children[2].xaxis.axis_label = self._label


def _names(step: StoredStep) -> list[str]:
    return list(lists(step, 1))


def _curve(path: Path, name: str, step: int) -> Curve:
    with open_stored(path) as stored:
        one = stored[step]
        found = ordinates(one, str(path), [name], None, None)
        return stored_curves(one, chosen(str(path), found, None, [name])[1], path.name, f"t = {one.time:.4g}")[0]
