"""The page of a viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bokeh.events import ConnectionLost, DocumentReady
from bokeh.layouts import column
from bokeh.models import CustomJS, Div, TabPanel, Tabs
from jinja2 import Template

from tailrace.render.style import COLOURS

from .choices import on_change
from .curve_panel import CurvePanel
from .picture_panel import PicturePanel
from .profile_panel import ProfilePanel
from .run_state import RunState
from .slice_panel import SlicePanel
from .state_panel import StatePanel
from .stored_choice import plain
from .surface_panel import SurfacePanel

if TYPE_CHECKING:
    from bokeh.document import Document

    from .scenes import Scenes
    from .watched_run import WatchedRun

_TEMPLATE = Template(
    """{% extends base %}
{% block postamble %}
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  html, body { height: 100%; margin: 0; }
  body { font-family: sans-serif; background: {{ paper }}; color: {{ ink }}; }
  nav { position: absolute; right: 0.8rem; top: 0.3rem; z-index: 1; }
  a { color: inherit; }
</style>
{% endblock %}
{% block contents %}
<nav><a href="?theme={{ other }}">{{ other }}</a></nav>
{{ super() }}
{% endblock %}
"""
)
_LOOKS = {"light": ("#ffffff", "#1a1a1a", None), "dark": ("#15181c", "#e8e8e8", "dark_minimal")}
_BRIGHT = ("#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#D55E00", "#0072B2")  # of COLOURS, first those seen on dark


_WHOLE: dict[str, Any] = {"sizing_mode": "stretch_both", "styles": {"height": "100vh"}}
_REST = {"flex": "1 1 0", "min-height": "0"}  # what the line on top leaves of the window
# A page whose program was away for long asks for it again and again, as after a laptop has slept.
_COME_BACK = """
if (cb_obj.timeout == null && !window.comes_back) {
  window.comes_back = setInterval(() => {
    const asked = fetch("static/js/bokeh.min.js", {method: "HEAD"})
    asked.then((answer) => { if (answer.ok) location.reload() }).catch(() => {})
  }, 5000)
}
"""


class Page:
    """Everything that a viewer sees."""

    def __init__(self, document: Document, runs: Sequence[WatchedRun], scenes: Scenes) -> None:
        theme = _theme(document)
        paper, ink, name = _LOOKS[theme]
        later = document.add_next_tick_callback
        colours = _BRIGHT if theme == "dark" else COLOURS
        self._runs, self._states = runs, [RunState(run) for run in runs]
        self._head = Div(
            text="", sizing_mode="stretch_width", styles={"color": ink, "padding-right": "3.5rem"}, name="headline"
        )
        slices = SlicePanel(runs, later)
        document.js_on_event(DocumentReady, slices.got)
        parts: dict[str, Any] = {
            "Curves": CurvePanel(runs, colours),
            "Slices": slices,
            "Surface": SurfacePanel(runs, later, scenes, dark=theme == "dark"),
            "Profiles": ProfilePanel(runs, later, colours[0]),
            "Pictures": PicturePanel(runs),
            "State": StatePanel(runs, self._states),
        }
        self._parts: list[Any] = list(parts.values())
        panels = [TabPanel(child=part.root, title=title, name=title) for title, part in parts.items()]
        for part in parts.values():
            part.root.update(sizing_mode="stretch_both", styles={"overflow": "auto", "min-height": "0"})
        for panel in panels:
            for text in panel.select({"type": Div}):
                text.styles = {"color": ink}
        self._tabs = Tabs(tabs=panels, name="tabs", sizing_mode="stretch_both", styles=_REST)
        document.add_root(column(self._head, self._tabs, **_WHOLE))
        on_change(self._tabs, "active", self._update_shown)
        document.js_on_event(ConnectionLost, CustomJS(code=_COME_BACK))
        document.title = " ".join(run.name for run in runs)
        document.template = _TEMPLATE
        document.template_variables.update(paper=paper, ink=ink, other="light" if theme == "dark" else "dark")
        if name is not None:
            document.theme = name
        self.update()

    def update(self) -> None:
        """Show what is new."""
        for state in self._states:
            state.look()
        lines = [
            f"<p><b>{plain(run.name)}</b> {plain(state.headline())}</p>"
            + "".join(f"<p role=alert>{plain(line)}</p>" for line in state.warnings())
            for run, state in zip(self._runs, self._states, strict=True)
        ]
        text = f'<div role="status">{"".join(lines)}</div>'
        if text != self._head.text:
            self._head.text = text
        self._update_shown()

    def _update_shown(self) -> None:
        """Update what is looked at: a slow line has enough to carry, and no run need be asked for the rest."""
        if 0 <= self._tabs.active < len(self._parts):
            self._parts[self._tabs.active].update()


def _theme(document: Document) -> str:
    context = document.session_context
    given = context.request.arguments.get("theme", [b""]) if context is not None and context.request else [b""]
    return "dark" if given[-1:] == [b"dark"] else "light"
