"""The choices of a viewer: how they stand on the page, and what follows when they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.layouts import row


def on_change(model: Any, name: str, work: Callable[[], None]) -> None:
    """Call `work` when an attribute of a model of Bokeh changes, which wants functions of three arguments."""
    model.on_change(name, lambda attr, old, new: work())


def wrapped(*models: Any) -> Any:
    """Choices beside each other, in several lines on a narrow screen."""
    return row(*models, sizing_mode="stretch_width", styles={"flex-wrap": "wrap"})
