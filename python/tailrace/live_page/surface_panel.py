"""The surface of the page: where a field has a level, to be turned in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bokeh.layouts import column
from bokeh.models import Button, Div, NumericInput, Select

from tailrace.live_run.wanted import Wanted
from tailrace.text import size as size_of

from .choices import wrapped
from .field_source import FieldSource, sources_of
from .stored_choice import StoredChoice, plain
from .surface import Surface, surface_of

if TYPE_CHECKING:
    from .scenes import Scenes
    from .stored_choice import Later
    from .watched_run import WatchedRun

_SAME = "the field itself"


class SurfacePanel:
    """A surface for one viewer, made when it is asked for: it is larger than everything else on the page."""

    def __init__(self, runs: Sequence[WatchedRun], later: Later, scenes: Scenes, *, dark: bool) -> None:
        self._scenes, self._dark = scenes, dark
        self._stored: StoredChoice[FieldSource] = StoredChoice(
            runs, later, "Surface of", sources_of, lambda other: self._changed(other=other)
        )
        self._level = NumericInput(title="Level (empty: mean + one sigma)", mode="float", width=210, name="level")
        self._colour = Select(title="Coloured by", options=[_SAME], value=_SAME, width=180, name="coloured by")
        self._button = Button(label="Show the surface", button_type="primary", width=170, name="show surface")
        self._view = Div(text="", sizing_mode="stretch_both", min_height=320, name="surface view")
        self._asked: Wanted | None = None  # what a run was asked for and has not answered yet
        choices = wrapped(*self._stored.models, self._colour, self._level, self._button)
        self.root = column(choices, self._stored.told, self._view, sizing_mode="stretch_both")
        self._button.on_click(self._begin)

    def _changed(self, *, other: bool) -> None:
        if other:
            options = [_SAME, *self._stored.names]
            if options != self._colour.options:
                self._colour.options = options
        self._stored.told.text = ""

    def update(self) -> None:
        """Offer what is there now, and look whether a run has answered."""
        self._stored.update()
        wanted, self._asked = self._asked, None
        if wanted is not None:
            self._show(wanted)

    def _begin(self) -> None:
        if self._stored.name:
            self._stored.told.text = "the surface is being made"
            self._show(Wanted("box", self._stored.name))

    def _show(self, wanted: Wanted) -> None:
        source, step = self._stored.source, self._stored.step
        if source is None:
            return
        tint = self._colour.value if self._colour.value in self._stored.names else ""
        level, dark = self._level.value, self._dark

        def work() -> Surface | None:
            values = source.part(wanted, step)
            colour = source.part(replace(wanted, field=tint), step) if tint else values
            if values is None or colour is None or colour.step != values.step:
                return None
            if colour.values.shape != values.values.shape:
                raise ValueError(f"'{tint}' is on other points than '{wanted.field}'")
            return surface_of(values, level, colour, dark, name=wanted.field)

        self._stored.ask(work, lambda found: self._draw(found, wanted))

    def _draw(self, found: Surface | None, wanted: Wanted) -> None:
        if found is None:
            self._asked = wanted
            self._stored.told.text = "the run was asked; its answer comes with one of the next steps"
            return
        low, high = found.limits
        self._stored.told.text = (
            f"{plain(wanted.field)} = {found.level:.4g}, colours from {low:.4g} to {high:.4g}; {found.triangles} "
            f"triangles, {size_of(len(found.scene))}. Drag to turn, wheel to come nearer"
        )
        name = self._scenes.add(found.scene)
        self._view.text = (
            f'<iframe src="viewer?fileURL=scene/{name}" title="surface of {plain(wanted.field)}" '
            'style="border:0; width:calc(100vw - 2rem); height:max(20rem, calc(100vh - 19rem))"></iframe>'
        )
