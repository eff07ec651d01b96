"""The slices of the page: planes of stored fields, read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.layouts import column
from bokeh.models import ColorBar, ColumnDataSource, LinearColorMapper, Select, Slider
from bokeh.plotting import figure

from tailrace.pictures.colours import table_of
from tailrace.render.quantities import known_names, quantity
from tailrace.render.slices import Plane, limits_of, read_plane
from tailrace.render.stored import open_stored

from .choices import on_change, wrapped
from .stored_choice import StoredChoice, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .stored_choice import Later
    from .watched_run import WatchedRun

_MOST = 600  # points of a plane in a direction that travel: a screen shows no more


class SlicePanel:
    """A plane of a field with its choices, for one viewer."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later) -> None:
        self._stored = StoredChoice(runs, later, "Field", known_names, lambda other: self._show(whole=other))
        self._axis = Select(title="Across", options=["x", "y", "z"], value="z", width=80)
        self._place = Slider(title="Node", start=0, end=1, value=0, step=1, width=260)
        self._colours = LinearColorMapper(palette="Viridis256", low=0, high=1)
        self._source = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []}, name="plane")
        self._figure = self._made()
        choices = wrapped(*self._stored.models, self._axis, self._place)
        self.root = column(choices, self._stored.told, self._figure, sizing_mode="stretch_both")
        on_change(self._axis, "value", lambda: self._show(whole=True))
        on_change(self._place, "value_throttled", self._show)

    def _made(self) -> Any:
        plot = figure(
            tools="pan,box_zoom,wheel_zoom,reset,save", match_aspect=True, sizing_mode="stretch_both", min_height=320,
            x_axis_label="x", y_axis_label="y", tooltips=[("value", "@image")],
        )  # fmt: skip
        plot.image(
            image="image", x="x", y="y", dw="dw", dh="dh", source=self._source, color_mapper=self._colours,
        )  # fmt: skip
        plot.add_layout(ColorBar(color_mapper=self._colours, width=14), "right")
        return plot

    def update(self) -> None:
        """Offer what is there now."""
        self._stored.update()

    def _show(self, *, whole: bool = False) -> None:
        """Read the plane that is chosen, and draw it.

        :param whole: another direction or field: begin in its middle.
        """
        path, field, axis, step = self._stored.path, self._stored.name, self._axis.value, self._stored.step
        node = None if whole else int(self._place.value)
        if path is not None and field:
            self._stored.ask(lambda: _plane(path, field, axis, step, node), self._draw)

    def _draw(self, found: tuple[Plane, int]) -> None:
        plane, count = found
        self._place.end, self._place.value = max(count - 1, 1), plane.index
        across, up = (name for name in "xyz" if name != plane.axis)
        values, (x, width), (y, height) = _image(plane)
        limits = limits_of(plane) or (0.0, 1.0)
        table = table_of("inferno" if plane.positive else "", limits)
        self._colours.palette = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b, _ in table]
        self._colours.low, self._colours.high = limits
        self._figure.xaxis.axis_label, self._figure.yaxis.axis_label = across, up
        known = plane.coordinates
        where = f"{known['xyz'.index(plane.axis)][plane.index]:.4g}" if known else f"node {plane.index}"
        self._stored.told.text = f"{plain(plane.field)} at {plane.axis} = {where}, t = {plane.time:.4g}"
        self._source.data = {"image": [values], "x": [x], "y": [y], "dw": [width], "dh": [height]}


def _plane(path: Path, field: str, axis: str, step: int, node: int | None) -> tuple[Plane, int]:
    """A plane, and how many there are in its direction."""
    with open_stored(path) as stored:
        count = quantity(stored[step], field, str(path)).shape["xyz".index(axis)]
    at = None if node is None else min(node, count - 1)
    return read_plane(path, field, axis=axis, index=at, step=step), count


def _image(plane: Plane) -> tuple[NDArray[np.float32], tuple[float, float], tuple[float, float]]:
    """Values on equal distances, and where they begin and how far they reach, across and up."""
    values, ends = plane.values, []
    for side, name in zip((1, 0), [one for one in "xyz" if one != plane.axis], strict=True):
        count = values.shape[side]
        along = plane.coordinates["xyz".index(name)] if plane.coordinates else np.arange(count, dtype=float)
        wanted = np.linspace(along[0], along[-1], min(count, _MOST))
        values = np.take(values, np.searchsorted(0.5 * (along[1:] + along[:-1]), wanted), axis=side)
        apart = (along[-1] - along[0]) / max(len(wanted) - 1, 1) or 1.0
        ends.append((float(along[0] - apart / 2), float(apart * len(wanted))))
    return np.ascontiguousarray(values, np.float32), ends[0], ends[1]
