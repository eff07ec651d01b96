"""What a browser fetches beside the page itself: surfaces and their viewer, films, curves as numbers."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tornado.web import HTTPError, RequestHandler, StaticFileHandler

from .curve_table import curve_table

if TYPE_CHECKING:
    from .watched_run import WatchedRun

_ICONS = b"https://kitware.github.io/vtk-js/icon/favicon-"  # which the viewer would fetch from another host
_KEPT = 16  # surfaces; a viewer has each of them soon


class Scenes:
    """The surfaces that were made last, by names that nobody can guess."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, bytes] = OrderedDict()

    def add(self, scene: bytes) -> str:
        """Keep a surface for a viewer; returns its name."""
        name = f"{secrets.token_urlsafe(12)}.vtksz"
        self._all[name] = scene
        while len(self._all) > _KEPT:
            self._all.popitem(last=False)
        return name

    def get(self, name: str) -> bytes | None:
        """The surface with this name; None if it is not kept."""
        return self._all.get(name)


class _Scene(RequestHandler):
    def initialize(self, scenes: Scenes) -> None:
        self._scenes = scenes

    def get(self, name: str) -> None:
        found = self._scenes.get(name)
        if found is None:
            raise HTTPError(404)
        self.set_header("Content-Type", "application/zip")
        self.write(found)


class _Viewer(RequestHandler):
    def get(self) -> None:
        page = _viewer()
        if page is None:
            raise HTTPError(404)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", "default-src 'self' 'unsafe-inline' data: blob:")
        self.write(page)


@cache
def _viewer() -> bytes | None:
    """The page of vtk.js that trame-vtk brings."""
    found = find_spec("trame_vtk")
    places = [] if found is None else found.submodule_search_locations or []
    path = next((path for place in places if (path := Path(place) / "tools/static_viewer.html").is_file()), None)
    return None if path is None else path.read_bytes().replace(_ICONS, b"data:,")


class _Film(StaticFileHandler):
    """A film of a run, in pieces as a browser asks for them."""

    def initialize(self, runs: Sequence[WatchedRun]) -> None:  # type: ignore[override]
        self._runs = runs
        super().initialize(path="/")

    @classmethod
    def get_absolute_path(cls, root: str, path: str) -> str:
        return path

    def validate_absolute_path(self, root: str, absolute_path: str) -> str:
        films = {label: path for run in self._runs for label, path in run.films.items()}
        if absolute_path not in films:
            raise HTTPError(404)
        return str(films[absolute_path])


class _Curve(RequestHandler):
    def initialize(self, runs: Sequence[WatchedRun]) -> None:
        self._runs = runs

    def get(self) -> None:
        found = curve_table(self._runs, self.get_query_argument("column", ""))
        if not found:
            raise HTTPError(404)
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", 'attachment; filename="curve.csv"')
        self.write(found)


def patterns(runs: Sequence[WatchedRun], scenes: Scenes) -> list[Any]:
    """The addresses of all this below that of the page."""
    return [
        (r"/scene/([\w.-]+)", _Scene, {"scenes": scenes}),
        (r"/viewer", _Viewer),
        (r"/film/(.+)", _Film, {"runs": runs}),
        (r"/curve\.csv", _Curve, {"runs": runs}),
    ]
