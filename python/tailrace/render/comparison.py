"""Draw the same quantities, computed in several ways, in one picture with their differences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tailrace.io.time_series import read_time_series

from .curves import TITLES as QUANTITIES
from .style import COLOURS, STYLE, PlotError, save

_MARKS: tuple[dict[str, Any], ...] = (
    {"ls": "-", "lw": 4, "alpha": 0.35},
    {"ls": "--", "lw": 1.6},
    {"ls": ":", "lw": 2.2},
    {"ls": "", "marker": "o", "ms": 5, "mfc": "none"},
)


def plot_comparison(histories: Mapping[str, Path], out: Path, bound: float) -> dict[str, float]:
    """Draw four quantities of several histories, and their relative differences from the first history, to `out`.

    :param histories: time series by name; the first is the reference for the others.
    :param bound: drawn as a line; the differences should be smaller.
    :returns: the largest relative difference of each history except the first, over all quantities and common steps.
    :raises PlotError, TimeSeriesError: a history is empty, or has no step in common with the first.
    """
    columns = {name: read_time_series(path) for name, path in histories.items()}
    names = list(columns)
    differences = {name: _differences(columns[names[0]], columns[name], histories[name]) for name in names[1:]}
    with rc_context(STYLE):
        figure = Figure(figsize=(9.0, 8.5), layout="constrained")
        grid = figure.subplot_mosaic([list("ab"), list("cd"), list("ee")], height_ratios=[1, 1, 0.8])
        for panel, (quantity, title) in zip("abcd", QUANTITIES.items(), strict=True):
            for at, name in enumerate(names):
                colour = COLOURS[at % len(COLOURS)]
                look = _MARKS[at % len(_MARKS)]
                grid[panel].plot(columns[name]["time"], columns[name][quantity], color=colour, label=name, **look)
            grid[panel].set_title(title, loc="left", fontsize=11)
            grid[panel].set_ylim(bottom=0)
        grid["a"].legend()
        for at, (name, (time, worst)) in enumerate(differences.items(), 1):
            shown = np.maximum(worst, 1e-17)  # equal values have the difference 0, which is drawn on the axis
            grid["e"].semilogy(time, shown, color=COLOURS[at % len(COLOURS)], marker=".", lw=0.8, label=name)
        grid["e"].axhline(bound, color="black", lw=1, ls="--")
        grid["e"].annotate(f"{bound:g}", (0.01, bound), xycoords=("axes fraction", "data"), va="bottom")
        grid["e"].set_ylim(5e-18, 30 * bound)
        grid["e"].set_title(f"Largest relative difference from {names[0]}", loc="left", fontsize=11)
        grid["e"].set_xlabel("time  t U / L")
        save(figure, out)
    return {name: float(worst.max()) for name, (_, worst) in differences.items()}


def _differences(
    first: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]], path: Path
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Times of the common steps, and the largest relative difference at each."""
    _, ours, theirs = np.intersect1d(first["step"], other["step"], return_indices=True)
    if not len(ours):
        raise PlotError(f"{path}: has no step in common with the history it is compared with")
    missing = [name for name in QUANTITIES if name not in other]
    if missing:
        raise PlotError(f"{path}: has no {', '.join(missing)}")
    relative = [np.abs(other[name][theirs] - first[name][ours]) / np.abs(first[name][ours]) for name in QUANTITIES]
    return first["time"][ours], np.max(relative, axis=0)
