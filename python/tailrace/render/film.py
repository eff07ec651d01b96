"""A film of a slice: the same plane of all stored steps, in the same colours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tailrace.files.marks import FILM
from tailrace.files.whole import drafted
from tailrace.pictures.colours import Range, wider
from tailrace.pictures.film import FORMATS, Film
from tailrace.pictures.painter import PainterError

from .slices import Look, Plane, draw_plane, limits_of
from .style import PlotError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

_DPI = 160


def film_of(planes: Callable[[], Iterable[Plane]], look: Look, out: Path, rate: int) -> int:
    """Draw planes as the frames of a film, which is whole or not there; returns how many.

    :param planes: returns the planes, of one size; it is called twice where `look` has no limits.
    :param out: .mp4 or .webm; an earlier film of ours is replaced.
    :raises PlotError: the ending is another one, there are no planes, or what makes films is missing.
    """
    if out.suffix[1:] not in FORMATS:
        raise PlotError(f"--film {out}: a film is a {' or '.join(f'.{form}' for form in FORMATS)} file")
    look = replace(look, limits=look.limits or _range(planes(), look), compared=True)
    count = 0
    try:
        with drafted(out, FILM, out.suffix) as draft:
            film = None
            try:
                for plane in planes():
                    image = _pixels(plane, look)
                    film = film or Film(draft, (image.shape[1], image.shape[0]), rate)
                    film.add(image)
            finally:
                if film is not None:
                    film.close()
                    count = film.frames
    except PainterError as error:
        raise PlotError(str(error)) from None
    return count


def _range(planes: Iterable[Plane], look: Look) -> Range:
    """One that holds those of all planes."""
    found: Range | None = None
    for plane in planes:
        limits = limits_of(plane, look.crop)
        if limits is not None:
            found = wider(found, limits)
    if found is None:
        raise PlotError("no step has a finite value")
    return found


def _pixels(plane: Plane, look: Look) -> NDArray[np.uint8]:
    """The figure of a plane as a picture with even numbers of columns and rows, which films need."""
    figure = draw_plane(plane, look)
    figure.set_dpi(_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())[..., :3]
    rows, columns = (n - n % 2 for n in image.shape[:2])
    return np.ascontiguousarray(image[:rows, :columns])
