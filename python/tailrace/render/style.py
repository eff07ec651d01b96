"""The style that all pictures share, and how they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure  # without pyplot: no window, and no shared state with plots of the user

from tailrace.files.regular import open_regular
from tailrace.files.whole import drafted
from tailrace.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

AXES = ("x", "y", "z")
Crop = tuple[float, float, float, float]  # left, right, bottom, top
FORMATS = (".png", ".pdf", ".svg")
# Colours that can be distinguished in grey and with every kind of colour vision (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE: dict[Any, Any] = {
    "figure.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
}
IMAGE_STYLE: dict[Any, Any] = {**STYLE, "axes.grid": False}
TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11}
_MARK = "Tailrace plot"  # in the metadata of a picture; identifies pictures that may be replaced


class PlotError(ValueError):
    """A picture cannot be drawn. The message says what is missing and what is available."""


def plain(text: str) -> str:
    """A name, escaped for matplotlib, which would take text between two dollar signs for a formula."""
    return visible(text).replace("$", r"\$")


def in_name(field: str) -> str:
    """A field in the name of a picture; of an expression its letters, digits and signs that a path may have."""
    return re.sub(r"[^\w.+=-]+", "_", field).strip("_")


def check_picture(out: str | Path) -> Path:
    """Check that a picture can be written to a path, before it is drawn.

    :raises PlotError: the ending is unknown, or the existing file is not a picture of ours.
    """
    out = Path(out)
    if out.suffix not in FORMATS:
        raise PlotError(f"{out}: a picture is a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file")
    if out.exists() and not _is_ours(out):
        raise PlotError(
            f"{out} is there already, and is no picture of tailrace plot; choose another name by -o, or move it away"
        )
    return out


def _is_ours(picture: Path) -> bool:
    if picture.is_dir():
        return False
    with open_regular(picture, "rb") as file:
        return _MARK.encode() in file.read()


def save(figure: Figure, out: str | Path) -> Path:
    """Write a picture. Missing directories are created. Raises PlotError: see `check_picture`."""
    out = check_picture(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    key = "Creator" if out.suffix == ".pdf" else "Source"
    with rc_context(STYLE), drafted(out) as draft:
        # "tight": the title may be wider than the image.
        figure.savefig(draft, bbox_inches="tight", pad_inches=0.1, metadata={key: _MARK})
    return out


def begin_at_zero(panel: Axes) -> None:
    """Begin the axis of values at zero where that leaves the curves most of the panel, and cuts none of them."""
    low, high = panel.dataLim.intervaly
    if -1e-9 * high <= low < 0.5 * high:
        panel.set_ylim(bottom=0)


def times_of(times: Sequence[float]) -> list[str]:
    """Times as texts of four digits, or of as many as tell them apart."""
    for digits in range(4, 17):
        texts = [f"{time:.{digits}g}" for time in times]
        if len(set(texts)) == len(set(times)):
            break
    return texts
