"""The slices of the page: planes of fields, stored or in the memory of a run, made when they are asked for."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.layouts import column
from bokeh.models import ColorBar, ColumnDataSource, CustomJS, LinearColorMapper, NumericInput, Select, Slider
from bokeh.plotting import figure

from tailrace.live_run.part import PLANE
from tailrace.live_run.wanted import Wanted
from tailrace.pictures.colours import table_of
from tailrace.render.slices import Plane, limits_of

from .choices import on_change, wrapped
from .field_source import FieldSource, sources_of
from .stored_choice import StoredChoice, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.live_run.part import Part

    from .stored_choice import Later
    from .watched_run import WatchedRun

_PATIENCE = 30.0  # seconds until a picture that a browser does not have yet is replaced by the next one
_POSITIVE = ("u", "vorticity")  # sizes of vectors


class SlicePanel:
    """A plane of a field with its choices, for one viewer."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later) -> None:
        self._stored: StoredChoice[FieldSource] = StoredChoice(
            runs, later, "Field", sources_of, lambda other: self._show(whole=other)
        )
        self._axis = Select(title="Across", options=["x", "y", "z"], value="z", width=80)
        self._place = Slider(title="Node", start=0, end=1, value=0, step=1, width=260, name="node")
        self._ends = [NumericInput(title=title, mode="float", width=90) for title in ("Colours from", "to")]
        self._colours = LinearColorMapper(palette="Viridis256", low=0, high=1)
        self._source = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": [], "number": []}, name="plane")
        # The browser says that it has a picture, also the first one, which came with the page.
        self.got = CustomJS(args={"source": self._source}, code="source.tags = Array.from(source.data.number)")
        self._since = 0.0  # when the last one went
        self._sent = self._seen = 0  # pictures that went to the browser, and those that it has said to have
        self._figure = self._made()
        self._middle = True  # of another direction or field the middle is shown first
        self._shown: tuple[Any, ...] = ()
        choices = wrapped(*self._stored.models, self._axis, self._place, *self._ends)
        self.root = column(choices, self._stored.told, self._figure, sizing_mode="stretch_both")
        on_change(self._axis, "value", lambda: self._show(whole=True))
        on_change(self._place, "value_throttled", self._moved)
        self._source.js_on_change("data", self.got)
        on_change(self._source, "tags", self._got)
        for end in self._ends:
            on_change(end, "value", self._recolour)

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
        """Offer what is there now, and follow a run."""
        self._stored.update()
        self._show()

    def _moved(self) -> None:
        self._middle = False
        self._show()

    def _got(self) -> None:
        self._seen = self._sent

    def _recolour(self) -> None:
        self._shown = ()
        self._show()

    def _show(self, *, whole: bool = False) -> None:
        """Get the plane that is chosen, and draw it.

        :param whole: another direction or field: begin in its middle.
        """
        self._middle = self._middle or whole
        source, field, axis, step = self._stored.source, self._stored.name, self._axis.value, self._stored.step
        if source is None or not field or axis not in ("x", "y", "z"):
            return
        wanted = Wanted("plane", field, axis, None if self._middle else int(self._place.value))
        if source.is_live:
            if (
                self._sent != self._seen and clock.monotonic() - self._since < _PATIENCE
            ):  # a slow line: the browser does not have the last one yet
                return
        elif (source, wanted, step) == self._shown:
            return
        else:
            self._shown = (source, wanted, step)
        self._stored.ask(lambda: source.part(wanted, step), lambda part: self._draw(part, wanted, source))

    def _draw(self, part: Part | None, wanted: Wanted, source: FieldSource) -> None:
        if part is None:
            self._stored.told.text = "the run was asked; its answer comes with one of the next steps"
            return
        if source.is_live and (source, wanted, part.step) == self._shown:
            return
        if source.is_live:
            self._shown = (source, wanted, part.step)
        self._place.end = max(part.count - 1, 1)
        if self._middle:
            self._place.value = part.node
        across, up = (d for d in range(3) if "xyz"[d] != wanted.axis)
        values = part.values.squeeze(axis=2 - "xyz".index(wanted.axis))
        limits = self._limits(values, wanted)
        table = table_of("inferno" if wanted.field in _POSITIVE else "", limits)
        self._colours.palette = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b, _ in table]
        self._colours.low, self._colours.high = limits
        self._figure.xaxis.axis_label, self._figure.yaxis.axis_label = "xyz"[across], "xyz"[up]
        where = f"{float(part.places['xyz'.index(wanted.axis)][0]):.4g}"
        self._stored.told.text = f"{plain(wanted.field)} at {wanted.axis} = {where}, t = {part.time:.4g}"
        image, (x, width), (y, height) = _image(values, part.places[across], part.places[up])
        self._sent, self._since = self._sent + 1, clock.monotonic()
        self._source.data = {
            "image": [image], "x": [x], "y": [y], "dw": [width], "dh": [height], "number": [self._sent]
        }  # fmt: skip

    def _limits(self, values: NDArray[Any], wanted: Wanted) -> tuple[float, float]:
        """The values of the first and the last colour: those that the viewer has given, else by the plane."""
        plane = Plane(values, wanted.field, wanted.axis, 0, 0.0, 0, positive=wanted.field in _POSITIVE)
        low, high = limits_of(plane) or (0.0, 1.0)
        given = [end.value for end in self._ends]
        low, high = low if given[0] is None else given[0], high if given[1] is None else given[1]
        return (low, high) if low < high else (low, low + 1.0)


def _image(
    values: NDArray[Any], across: NDArray[Any], up: NDArray[Any]
) -> tuple[NDArray[np.float32], tuple[float, float], tuple[float, float]]:
    """Values on equal distances, and where they begin and how far they reach, across and up."""
    ends = []
    for side, along in ((1, across), (0, up)):
        apart = np.diff(along)
        even = not len(apart) or np.ptp(apart) <= 1e-6 * abs(apart[0])
        count = len(along) if even else PLANE
        wanted = np.linspace(along[0], along[-1], count)
        values = np.take(values, np.searchsorted(0.5 * (along[1:] + along[:-1]), wanted), axis=side)
        width = (along[-1] - along[0]) / max(count - 1, 1) or 1.0
        ends.append((float(along[0] - width / 2), float(width * count)))
    return np.ascontiguousarray(values, np.float32), ends[0], ends[1]
