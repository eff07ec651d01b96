"""The spectra, histograms and profiles of the page: arrays that analyses have stored, by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from tailrace.render.arrays import chosen, lists, ordinates, stored_curves
from tailrace.render.curves import Curve
from tailrace.render.stored import open_stored

from .choices import wrapped
from .curve_figure import CurveFigure
from .stored_choice import StoredChoice, plain

if TYPE_CHECKING:
    from .stored_choice import Later
    from .watched_run import WatchedRun


class ProfilePanel:
    """An array of a step over its abscissa, for one viewer."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later, colour: str) -> None:
        self._stored: StoredChoice[_StoredLists] = StoredChoice(
            runs, later, "Array", _StoredLists.of, lambda _: self._show()
        )
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
        source, name, step = self._stored.source, self._stored.name, self._stored.step
        if source is not None and name:
            self._stored.ask(lambda: source.curve(name, step), self._draw)

    def _draw(self, curve: Curve) -> None:
        x = 0.5 * (curve.x[1:] + curve.x[:-1]) if curve.bins else curve.x
        self._stored.told.text = f"{plain(curve.panel)}, {plain(curve.note)}"
        self._source.data = {"x": x, "y": curve.y}
        if curve.x_label != self._figure.labels[0]:
            self._figure.labels = (curve.x_label, "")
            self._figure.draw_again()


class _StoredLists:
    """The arrays of a series that are curves."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, run: WatchedRun) -> dict[str, Self]:
        """Those of a run."""
        return {name: cls(path) for name, path in sorted(run.series.items())}

    def about(self) -> tuple[int, list[str]]:
        """How many steps there are, and the names of the arrays of the last one."""
        with open_stored(self._path) as stored:
            return len(stored), list(lists(stored[-1], 1)) if len(stored) else []

    def curve(self, name: str, step: int) -> Curve:
        """An array over its abscissa."""
        with open_stored(self._path) as stored:
            one, path = stored[step], str(self._path)
            found = ordinates(one, path, [name], None, None)
            return stored_curves(one, chosen(path, found, None, [name])[1], self._path.name, f"t = {one.time:.4g}")[0]
