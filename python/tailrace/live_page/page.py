"""The page of a viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bokeh.layouts import column
from bokeh.models import Div, TabPanel, Tabs
from jinja2 import Template

from tailrace.render.style import COLOURS

from .curve_panel import CurvePanel
from .picture_panel import PicturePanel
from .profile_panel import ProfilePanel
from .slice_panel import SlicePanel
from .state_panel import StatePanel

if TYPE_CHECKING:
    from bokeh.document import Document

    from .watched_run import WatchedRun

_TEMPLATE = Template(
    """{% extends base %}
{% block postamble %}
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


class Page:
    """Everything that a viewer sees."""

    def __init__(self, document: Document, runs: Sequence[WatchedRun]) -> None:
        theme = _theme(document)
        paper, ink, name = _LOOKS[theme]
        later = document.add_next_tick_callback
        colours = _BRIGHT if theme == "dark" else COLOURS
        parts: dict[str, Any] = {
            "Curves": CurvePanel(runs, colours),
            "Slices": SlicePanel(runs, later),
            "Profiles": ProfilePanel(runs, later, colours[0]),
            "Pictures": PicturePanel(runs),
            "State": StatePanel(runs),
        }
        self._parts: list[Any] = list(parts.values())
        panels = [TabPanel(child=part.root, title=title, name=title) for title, part in parts.items()]
        for panel in panels:
            for text in panel.select({"type": Div}):
                text.styles = {"color": ink}
        document.add_root(
            column(Tabs(tabs=panels, name="tabs", sizing_mode="stretch_both"), sizing_mode="stretch_both")
        )
        document.title = " ".join(run.name for run in runs)
        document.template = _TEMPLATE
        document.template_variables.update(paper=paper, ink=ink, other="light" if theme == "dark" else "dark")
        if name is not None:
            document.theme = name
        self.update()

    def update(self) -> None:
        """Show what is new."""
        for part in self._parts:
            part.update()


def _theme(document: Document) -> str:
    context = document.session_context
    given = context.request.arguments.get("theme", [b""]) if context is not None and context.request else [b""]
    return "dark" if given[-1:] == [b"dark"] else "light"
