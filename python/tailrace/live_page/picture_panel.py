"""The pictures and films of the page: the newest that runs have drawn."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from bokeh.layouts import column
from bokeh.models import Div, Select

from tailrace.files.regular import open_regular

from .choices import on_change
from .stored_choice import plain

if TYPE_CHECKING:
    from pathlib import Path

    from .watched_run import WatchedRun

_NEWEST = "the newest"
_LARGEST = 20 * 1024**2  # bytes of a picture


class PicturePanel:
    """A picture, for one viewer; the newest is followed."""

    def __init__(self, runs: Sequence[WatchedRun]) -> None:
        self._runs = runs
        self._choice = Select(
            title="Picture", options=[_NEWEST], value=_NEWEST, sizing_mode="stretch_width", max_width=400
        )
        self._image = Div(text="no pictures yet", sizing_mode="stretch_width")
        self._shown: tuple[str, float] = ("", 0.0)
        self.root = column(self._choice, self._image, sizing_mode="stretch_both")
        on_change(self._choice, "value", self.update)

    def update(self) -> None:
        """Show the picture that is chosen, if it is another one or was drawn again."""
        there = {f"{run.name}: {path.relative_to(run.path)}": path for run in self._runs for path in run.pictures}
        films = {label: path for run in self._runs for label, path in run.films.items()}
        options = [_NEWEST, *there, *films]
        if options != self._choice.options:
            self._choice.options = options
        name = self._choice.value
        name = next(reversed(there), "") if name == _NEWEST else name
        if name in there:
            self._show(name, there[name])
        elif name in films or (films and not there):
            self._play(name if name in films else next(reversed(films)))

    def _play(self, name: str) -> None:
        """A film, of which a browser fetches what it shows."""
        if self._shown == (name, 0.0):
            return
        self._shown = (name, 0.0)
        address = f"film/{quote(name)}"
        self._image.text = (
            f'<video controls loop muted autoplay playsinline style="max-width: 100%; max-height: 80vh" '
            f'aria-label="{plain(name)}" src="{address}"></video><p><a href="{address}" download>{plain(name)}</a></p>'
        )

    def _show(self, name: str, path: Path) -> None:
        try:
            with open_regular(path, "rb") as file:
                about = os.fstat(file.fileno())
                if self._shown == (name, about.st_mtime) or about.st_size > _LARGEST:
                    return
                found = file.read(_LARGEST)
        except OSError:  # removed meanwhile, or no file
            return
        if not found.startswith(b"\x89PNG\r\n"):
            return
        data = b64encode(found).decode()
        self._shown = (name, about.st_mtime)
        text = plain(name)
        self._image.text = f'<img src="data:image/png;base64,{data}" alt="{text}" style="max-width: 100%"><p>{text}</p>'
