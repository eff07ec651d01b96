"""HTML of objects in notebooks: a table and a small picture. All functions are local."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tailrace.text import visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST = 200  # characters of a value
_POINTS = 400  # of a picture, in each direction


def card(title: str, rows: Iterable[tuple[str, Any]], pictures: Sequence[str] = ()) -> str:
    """A table under a title, with pictures beside it.

    :param rows: a name and a value, which is written as text.
    :param pictures: made by `picture`.
    """
    cells = "".join(
        f'<tr><th style="text-align:left;font-weight:normal;opacity:0.7;padding-right:1em">{_text(name)}</th>'
        f'<td style="text-align:left">{_text(value)}</td></tr>'
        for name, value in rows
    )
    images = "".join(f'<div style="margin-left:1em">{one}</div>' for one in pictures)
    return (
        f'<div><div style="font-weight:bold">{_text(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start"><table>{cells}</table>{images}</div></div>'
    )


def picture(
    values: NDArray[Any],
    places: tuple[NDArray[np.float64], NDArray[np.float64]],
    labels: tuple[str, str],
    title: str = "",
) -> str:
    """A small picture of a plane, as an image in the page itself.

    :param values: (rows, columns), drawn from the bottom up.
    :param places: coordinates of the columns and of the rows.
    :param labels: of the columns' axis and of the rows' axis.
    """
    from matplotlib.figure import Figure

    rows, columns = values.shape
    up, across = slice(None, None, max(1, rows // _POINTS)), slice(None, None, max(1, columns // _POINTS))
    figure = Figure(figsize=(3.4, 2.8), dpi=90, layout="constrained")
    axes = figure.subplots()
    image = axes.pcolormesh(places[0][across], places[1][up], values[up, across], shading="nearest", cmap="viridis")
    axes.set_aspect("equal")
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.set_title(visible(title), fontsize="small")
    axes.tick_params(labelsize="small")
    figure.colorbar(image, ax=axes, shrink=0.8).ax.tick_params(labelsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(visible(title))}" src="data:image/png;base64,{data}">'


def _text(value: Any) -> str:
    text = visible(value, lines=True)
    return html.escape(text if len(text) <= _MOST else text[: _MOST - 3] + "...")
