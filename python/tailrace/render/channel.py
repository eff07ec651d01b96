"""The picture of the statistics of a channel: its mean velocity, fluctuations and stresses.

It shows the results of the ready-made analysis `channel`, recognised by the names of its profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .arrays import lists
from .style import COLOURS, STYLE, TITLE, PlotError, begin_at_zero, plain
from .tables import read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep

_NEEDED = ("y", "y_plus", "u_plus", "total_stress_plus", "straight_stress_plus", "viscous_stress_plus",
           "turbulent_stress_plus")  # fmt: skip
_KAPPA, _B = 0.41, 5.2  # constants of the law of the wall, u+ = ln(y+) / kappa + B
_LINES = ("-", "--", ":", "-.")  # styles of several files or steps
_FLUCTUATIONS = {"u_rms_plus": "u", "v_rms_plus": "v", "w_rms_plus": "w", "p_rms_plus": "p"}
_STRESSES = {"viscous": "ν dU/dy", "turbulent": "−⟨u′v′⟩", "total": "their sum"}
_COMPARED = (1.0, 0.85)  # with a reference: from y+ = 1 to this part of half the height, beyond which stresses vanish
_MIDDLE = 1e-4  # a shear stress that is smaller than this share of the wall's is that in the middle of the channel
_THIN: dict[str, Any] = {"color": "#707070", "lw": 0.8}
_DOTS: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 3.0, "mfc": "white", "mew": 0.7, "zorder": 1.5}


@dataclass(frozen=True)
class Profiles:
    """The profiles of one step of one file, and its numbers. `label`: the file and the step, for the legend."""

    label: str
    arrays: Mapping[str, NDArray[Any]]
    numbers: Mapping[str, Any]

    @property
    def height(self) -> NDArray[Any]:
        """The distance from the wall over half the height of the channel."""
        return self.arrays["y"] / float(self.numbers.get("half_height", self.arrays["y"][-1]))


def is_channel(step: StoredStep) -> bool:
    """Whether a step has the profiles of a channel."""
    there = lists(step, 1)
    return all(name in there for name in _NEEDED)


def read_channel(step: StoredStep, path: str, label: str) -> Profiles:
    """The profiles of a step. Raises PlotError if it has none."""
    missing = [name for name in _NEEDED if name not in lists(step, 1)]
    if missing:
        raise PlotError(f"{path}: has no {', '.join(missing)}; draw the results of the analysis 'channel' at its end")
    wanted = [*_NEEDED, *_FLUCTUATIONS, "uv_plus"]
    found = {name: np.asarray(step.read(name), dtype=float) for name in wanted if name in lists(step, 1)}
    if not np.isfinite(found["y_plus"]).all():
        raise PlotError(f"{path}: the flow exerts no friction on the walls, so that there are no wall units")
    return Profiles(label, found, step.scalars)


def draw_channel(several: Sequence[Profiles], reference: Path | None = None) -> Figure:
    """Mean velocity and fluctuations over y+, and the budget of the mean momentum over y / h.

    :param reference: a table with y_plus as its first column, and some of u_plus, u_rms_plus, v_rms_plus, w_rms_plus,
        p_rms_plus, uv_plus; drawn as dots.
    :raises PlotError: there are more profiles than styles of lines, or the table has none of these columns.
    """
    if len(several) > len(_LINES):
        raise PlotError(f"a picture shows at most {len(_LINES)} channels over each other; there are {len(several)}")
    table = {} if reference is None else _read_reference(reference)
    with rc_context(STYLE):
        figure = Figure(figsize=(9.6, 8.0), layout="constrained")
        panels = figure.subplot_mosaic([["mean", "rms"], ["budget", "budget"]], height_ratios=[1.15, 1])
        _draw_mean(panels["mean"], several, table)
        _draw_fluctuations(panels["rms"], several, table)
        _draw_budget(panels["budget"], several)
        handles = [Line2D([], [], color="black", ls=ls, label=one.label)
                   for one, ls in zip(several, _LINES, strict=False)]  # fmt: skip
        handles = handles if len(several) > 1 else []
        if reference is not None:
            label = "\n".join([plain(reference.stem.replace("_", " ")), *_said(several, table)])
            handles.append(Line2D([], [], color="black", label=label, **_DOTS))
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
    return figure


def _read_reference(path: Path) -> dict[str, NDArray[Any]]:
    columns = read_table(path)
    drawn = [name for name in ("u_plus", "uv_plus", *_FLUCTUATIONS) if name in columns]
    if "y_plus" not in columns or not drawn:
        raise PlotError(
            f"{path}: is no reference for a channel: expected columns y_plus and some of u_plus, uv_plus, "
            f"{', '.join(_FLUCTUATIONS)}; found {', '.join(columns)}"
        )
    return columns


def deviations(profiles: Profiles, table: Mapping[str, NDArray[Any]]) -> dict[str, float]:
    """The largest relative difference of each profile from a table, at the points of the table from y+ = 1 to 85 % of
    half the height; between nodes by polynomials of degree three. Empty if the table has no point there.

    For the shear stress, its share of the total stress 1 - y / h is compared, if the table reaches the middle of its
    channel, because the straight lines of two friction Reynolds numbers differ far from the wall.
    """
    y, at = profiles.arrays["y_plus"], table["y_plus"]
    middle = min(y[-1], float(profiles.numbers.get("re_tau", y[-1])))  # profiles of both halves go to twice that
    chosen = (at >= max(_COMPARED[0], y[0])) & (at <= _COMPARED[1] * min(middle, at.max()))
    if len(y) < 4:
        return {}
    found = {}
    for name in ("u_plus", *_FLUCTUATIONS, "uv_plus"):
        if name in table and name in profiles.arrays:
            used = chosen & (table[name] != 0)
            if used.any():
                parts = _between(y, profiles.arrays[name], at[used]) / table[name][used]
                if name == "uv_plus" and abs(table[name][np.argmax(at)]) < _MIDDLE:
                    parts *= (1 - at[used] / at.max()) / (1 - at[used] / middle)
                found[name] = float(np.max(np.abs(parts - 1)))
    return found


def _between(x: NDArray[Any], y: NDArray[Any], at: NDArray[Any]) -> NDArray[Any]:
    """Interpolate by Lagrange polynomials through the four nodes around each place."""
    first = np.clip(np.searchsorted(x, at) - 2, 0, len(x) - 4)
    near = first[:, None] + np.arange(4)
    weights = np.ones(near.shape)
    for one in range(4):
        for other in {0, 1, 2, 3} - {one}:
            weights[:, one] *= (at - x[near[:, other]]) / (x[near[:, one]] - x[near[:, other]])
    return np.asarray(np.sum(weights * y[near], axis=1))


def _said(several: Sequence[Profiles], table: Mapping[str, NDArray[Any]]) -> list[str]:
    """A line on the differences of a single channel from the table."""
    letters = {"u_plus": "U", **_FLUCTUATIONS, "uv_plus": "⟨u′v′⟩"}
    found = deviations(several[0], table) if len(several) == 1 else {}
    parts = [f"{letters[name]} {100 * part:.2g} %" for name, part in found.items()]
    least, most = _COMPARED
    return [f"largest difference between $y^+$ = {least:g} and {most:g} h: {', '.join(parts)}"] if parts else []


def _dots(axes: Axes, table: Mapping[str, NDArray[Any]], name: str, colour: str, sign: float = 1.0) -> None:
    if name in table:
        axes.plot(table["y_plus"], sign * table[name], color=colour, **_DOTS)


def _draw_mean(axes: Axes, several: Sequence[Profiles], table: Mapping[str, NDArray[Any]]) -> None:
    top = max(float(one.arrays["y_plus"].max()) for one in several)
    least = min(float(one.arrays["y_plus"][one.arrays["y_plus"] > 0].min()) for one in several)
    near, far = np.geomspace(least, min(14.0, max(top, least)), 60), np.geomspace(7.0, max(top, 10.0), 60)
    axes.plot(near, near, label=f"$y^+$ and ln $y^+$ / {_KAPPA} + {_B}", **_THIN)
    axes.plot(far, np.log(far) / _KAPPA + _B, **_THIN)
    for one, ls in zip(several, _LINES, strict=False):
        y = one.arrays["y_plus"]
        axes.plot(y[y > 0], one.arrays["u_plus"][y > 0], color=COLOURS[0], ls=ls)
    shown = {name: values[table["y_plus"] >= least] for name, values in table.items()}
    _dots(axes, shown, "u_plus", COLOURS[0])
    axes.set_xscale("log")
    begin_at_zero(axes)
    axes.legend(loc="upper left")
    title = "Mean velocity  $U^+$"
    if len(several) == 1 and "re_tau" in several[0].numbers:
        title += f",  Re$_τ$ = {float(several[0].numbers['re_tau']):.1f}"
    axes.set_title(title, **TITLE)
    axes.set_xlabel("$y^+$")


def _draw_fluctuations(axes: Axes, several: Sequence[Profiles], table: Mapping[str, NDArray[Any]]) -> None:
    for (name, letter), colour in zip(_FLUCTUATIONS.items(), COLOURS, strict=False):
        label: str | None = f"{letter} rms"
        for one, ls in zip(several, _LINES, strict=False):
            if name in one.arrays:
                axes.plot(one.arrays["y_plus"], one.arrays[name], color=colour, ls=ls, label=label)
                label = None
        _dots(axes, table, name, colour)
    for one, ls in zip(several, _LINES, strict=False):
        label = "−⟨u′v′⟩" if ls == _LINES[0] else None
        axes.plot(one.arrays["y_plus"], one.arrays["turbulent_stress_plus"], color=COLOURS[4], ls=ls, label=label)
    _dots(axes, table, "uv_plus", COLOURS[4], -1.0)
    axes.set_title("Fluctuations and shear stress, in wall units", **TITLE)
    axes.set_xlabel("$y^+$")
    axes.margins(x=0.02)
    axes.legend()


def _draw_budget(axes: Axes, several: Sequence[Profiles]) -> None:
    for (name, text), colour in zip(_STRESSES.items(), (COLOURS[2], COLOURS[4], COLOURS[0]), strict=True):
        for one, ls in zip(several, _LINES, strict=False):
            label = text if ls == _LINES[0] else None
            axes.plot(one.height, one.arrays[f"{name}_stress_plus"], color=colour, ls=ls, label=label)
    for at, one in enumerate(several):
        label = None if at else "straight line"
        axes.plot(one.height, one.arrays["straight_stress_plus"], color="black", lw=0.8, ls=(0, (6, 4)), label=label)
    worst = [float(one.numbers["stress_deviation"]) for one in several if "stress_deviation" in one.numbers]
    said = ", ".join(f"{100 * part:.2g} %" for part in worst)
    axes.set_title(
        "Stress over $u_τ^2$" + (f":  converged within {said} of its straight line" if said else ""), **TITLE
    )
    axes.set_xlabel("y / h")
    axes.margins(x=0.01)
    axes.legend()
