"""Curves of one quantity over another, in panels: time series, spectra, histograms and profiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.figure import Figure

from .style import COLOURS, STYLE, TITLE, Crop, PlotError, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

MOST_PANELS = 12
_DECADES = 16  # of a logarithmic axis below its largest value; lower values are rounding errors

TITLES = {
    "kinetic_energy": "Kinetic energy  ⟨u·u⟩/2",
    "dissipation": "Dissipation  2ν⟨S:S⟩",
    "dissipation_laplacian": "Dissipation  −ν⟨u·∇²u⟩",
    "enstrophy": "Enstrophy  ⟨ω·ω⟩/2",
}


@dataclass(frozen=True)
class Curve:
    """One line.

    :param panel: the quantity; curves of the same quantity are drawn over each other.
    :param x: the places of the values, or the edges of bins, one more than values.
    :param label: the file and the step, for the legend. It chooses the colour.
    :param note: the time, behind the title if all curves have the same, else behind the label.
    """

    panel: str
    x: NDArray[Any]
    y: NDArray[Any]
    x_label: str
    label: str
    note: str = ""

    @property
    def bins(self) -> bool:
        """Whether it is a histogram."""
        return len(self.x) == len(self.y) + 1


@dataclass(frozen=True)
class Scales:
    """How curves are drawn.

    :param log_x, log_y: logarithmic axes.
    :param slopes: exponents of reference lines, with their texts: ("-5/3", -1.667).
    :param limits: the ends of the axis of values; None: by the values.
    :param crop: the ends of both axes, left, right, bottom and top; None: by the values.
    """

    log_x: bool = False
    log_y: bool = False
    slopes: tuple[tuple[str, float], ...] = ()
    limits: tuple[float, float] | None = None
    crop: Crop | None = None


def slope(text: str) -> tuple[str, float]:
    """An exponent with its text, from a number or a fraction, as -5/3. Raises PlotError if it is neither."""
    above, _, below = text.partition("/")
    try:
        value = float(above) / (float(below) if "/" in text else 1.0)
        if not math.isfinite(value):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise PlotError(f"--slope {text}: expected a number or a fraction, as -5/3") from None
    return text.strip(), value


def draw_curves(curves: Sequence[Curve], scales: Scales) -> Figure:
    """A panel for each quantity, with the curves of all files and steps in it.

    :raises PlotError: there are too many panels, or no value can be drawn.
    """
    panels = list(dict.fromkeys(curve.panel for curve in curves))
    if len(panels) > MOST_PANELS:
        raise PlotError(
            f"there are {len(panels)} columns, and a picture has at most {MOST_PANELS}; choose some by --column: "
            f"{', '.join(panels)}"
        )
    if not any(_drawable(curve, scales).any() for curve in curves):
        raise PlotError(f"{', '.join(panels)}: there is no {_shown(scales)}")
    curves, note = _told(curves)
    labels = list(dict.fromkeys(curve.label for curve in curves))
    colours = dict(zip(labels, _colours(len(labels)), strict=True))
    columns = 1 if len(panels) <= 3 else 2 if len(panels) <= 8 else 3
    rows = -(-len(panels) // columns)
    with rc_context(STYLE):
        size = (7.0, 4.6) if len(panels) == 1 else ({1: 7.0, 2: 9.6, 3: 12.6}[columns], 2.7 * rows + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            own = [curve for curve in curves if curve.panel == panel]
            _draw_panel(axes, panel, own, colours, scales, note)
        for spare in grid[len(panels) :]:
            spare.remove()
        if len(labels) > 1:
            _legend(figure, grid[: len(panels)], labels)
    return figure


def _told(curves: Sequence[Curve]) -> tuple[list[Curve], str]:
    """The curves, and the time of all of them; where it differs, their labels tell it."""
    notes = {curve.note for curve in curves}
    if len(notes) == 1:
        return list(curves), notes.pop()
    told = [
        curve if curve.note in curve.label else replace(curve, label=f"{curve.label}, {curve.note}") for curve in curves
    ]
    return told, ""


def _colours(count: int) -> list[Any]:
    """Different colours; if there are many, from a colour scale, because they mostly belong to many steps."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return [colormaps["viridis"](0.92 * at / (count - 1)) for at in range(count)]


def _legend(figure: Figure, panels: Iterable[Axes], labels: Sequence[str]) -> None:
    handles = {label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    seen = [label for label in labels if label in handles]
    wide = max(len(label) for label in seen)
    columns = min(1 if wide > 45 else 2 if wide > 25 else 4, len(seen))
    figure.legend([handles[label] for label in seen], seen, loc="outside lower center", ncols=columns)


def _draw_panel(
    axes: Axes, panel: str, curves: Sequence[Curve], colours: dict[str, Any], scales: Scales, note: str
) -> None:
    name = TITLES.get(panel, panel)
    axes.set_title(plain(name) + (f",  {note}" if note else ""), **TITLE)
    axes.set_xlabel(plain(curves[0].x_label))
    if not any(_drawable(curve, scales).any() for curve in curves):
        axes.text(0.5, 0.5, f"no {_shown(scales)}", transform=axes.transAxes, ha="center", va="center")
        axes.set(xticks=[], yticks=[])
        return
    for curve in curves:
        look: dict[str, Any] = {"color": colours[curve.label], "label": curve.label}
        if curve.bins:
            axes.stairs(curve.y, curve.x, lw=1.6, **look)
        else:
            alone = _alone(_drawable(curve, scales))
            axes.plot(curve.x, curve.y, marker="o" if alone else None, ms=5, markevery=alone, **look)
    if scales.log_x:
        axes.set_xscale("log", nonpositive="mask")
    if scales.log_y:
        axes.set_yscale("log", nonpositive="mask")
        _limit_decades(axes, curves, scales)
    axes.margins(x=0.02)
    if scales.limits is not None:
        axes.set_ylim(scales.limits)
    if scales.crop is not None:
        axes.set(xlim=scales.crop[:2], ylim=scales.crop[2:])
    elif scales.slopes:
        axes.set_ylim(top=axes.get_ylim()[1] * 10)  # room for the lines, which are above the curves
    for text, exponent in scales.slopes:
        _draw_slope(axes, curves, scales, text, exponent)


def _alone(seen: NDArray[np.bool_]) -> list[int]:
    """The points without neighbours, which a line does not show."""
    beside = np.pad(seen, 1)
    return [int(at) for at in np.flatnonzero(seen & ~beside[:-2] & ~beside[2:])]


def _shown(scales: Scales) -> str:
    return "value that a logarithmic axis can show" if scales.log_x or scales.log_y else "finite value"


def _drawable(curve: Curve, scales: Scales) -> NDArray[np.bool_]:
    x = 0.5 * (curve.x[1:] + curve.x[:-1]) if curve.bins else curve.x
    found = np.isfinite(x) & np.isfinite(curve.y)
    return found & ~((x <= 0) & scales.log_x) & ~((curve.y <= 0) & scales.log_y)


def _limit_decades(axes: Axes, curves: Sequence[Curve], scales: Scales) -> None:
    seen = np.concatenate([curve.y[_drawable(curve, scales)] for curve in curves])
    if seen.min() < seen.max() * 10.0**-_DECADES:
        axes.set_ylim(seen.max() * 10.0**-_DECADES, seen.max() * 3)


def _draw_slope(axes: Axes, curves: Sequence[Curve], scales: Scales, text: str, exponent: float) -> None:
    """Draw a straight line of a slope above the curves, in the middle of their range."""
    points = []
    for curve in curves:
        seen = _drawable(curve, scales)
        x = 0.5 * (curve.x[1:] + curve.x[:-1]) if curve.bins else curve.x
        points.append(np.stack([x[seen], curve.y[seen]]))
    x, y = np.concatenate(points, axis=1)
    lowest, highest = np.log10(x.min()), np.log10(x.max())
    first, last = (10 ** (lowest + part * (highest - lowest)) for part in (0.2, 0.65))
    inside = (x >= first) & (x <= last)
    if not inside.any():
        raise PlotError(f"--slope {text}: there are too few points for it")
    factor = 2.0 * float((y[inside] / x[inside] ** exponent).max())
    ends = np.array([first, last])
    axes.plot(ends, factor * ends**exponent, color="black", lw=1, ls="--", label=f"_slope {text}")
    symbol = "k" if curves[0].x_label.startswith("wave number") else curves[0].x_label.split()[0]
    words = rf"${symbol}^{{{text}}}$" if len(symbol) == 1 else f"slope {text}"
    place = (float(last), factor * float(last) ** exponent)
    axes.annotate(words, place, xytext=(4, -2), textcoords="offset points")
