"""A figure of curves whose axes a viewer can make logarithmic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.layouts import column
from bokeh.models import Toggle
from bokeh.plotting import figure

from .choices import on_change


class CurveFigure:
    """It is made again when an axis changes, which Bokeh wants.

    :param add_lines: adds the curves to a figure.
    :param labels: the names of its axes; they can be changed before `draw_again`.
    :param toggles, root: what the page shows.
    """

    def __init__(self, add_lines: Callable[[Any], None], labels: tuple[str, str] = ("", "")) -> None:
        self._add_lines, self.labels = add_lines, labels
        self._log = [Toggle(label=f"log {axis}", width=70) for axis in "xy"]
        self.toggles = list(self._log)
        self.root = column(self._made(), sizing_mode="stretch_both")
        for toggle in self._log:
            on_change(toggle, "active", self.draw_again)

    def _made(self) -> Any:
        x, y = ("log" if toggle.active else "linear" for toggle in self._log)
        plot = figure(
            x_axis_type=x, y_axis_type=y, x_axis_label=self.labels[0], y_axis_label=self.labels[1],
            tools="pan,box_zoom,wheel_zoom,reset,save", active_scroll="wheel_zoom", tooltips=[("x", "$x"), ("y", "$y")],
            sizing_mode="stretch_both", min_height=320,
        )  # fmt: skip
        self._add_lines(plot)
        return plot

    def draw_again(self) -> None:
        """Show the curves with the labels and axes that are chosen now."""
        self.root.children = [self._made()]
