"""Slices: planes of a field as pictures."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.figure import Figure

from tailrace.io.placement import Box
from tailrace.pictures.colours import NO_SIGN, default_name

from .quantities import Quantity, quantity
from .stored import chosen_steps, open_stored
from .style import AXES, IMAGE_STYLE, TITLE, Crop, PlotError, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep

Coordinates = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]
_LONGEST = 12  # planes with a larger ratio of sides are not drawn in proportion: they would be a line


@dataclass(frozen=True)
class Plane:
    """A slice through a field: its values and its position. The rows are along the second of the two directions.

    :param axis, index: the direction normal to it, and its node in that direction.
    :param step: the position of the step in its series, which the option --step takes.
    :param coordinates: coordinates of the points in x, y, z; None if the series does not have them.
    """

    values: NDArray[Any]
    field: str
    axis: str
    index: int
    time: float
    step: int
    coordinates: Coordinates | None = None
    positive: bool = False
    units: str = ""


def read_plane(
    path: str | Path,
    field: str | None = None,
    *,
    axis: str | None = None,
    index: int | None = None,
    at: float | None = None,
    step: int | None = None,
    time: float | None = None,
    grid: Path | None = None,
) -> Plane:
    """A plane of a field. For a stored field only this plane is read from the file.

    :param field: a stored field, a vector (its magnitude), or a quantity derived from the velocity, see
        `quantities.DERIVED`; by default the vorticity if it is stored, else the first field.
    :param axis: the direction normal to it: x, y or z; by default the one with a single point, else z.
    :param index: the node along `axis`, negative from the end; by default the middle.
    :param at: instead of `index`, the coordinate along `axis`; the nearest node is taken.
    :param step: the position of the stored step, negative from the end; by default the last.
    :param time: instead of `step`, a time; the nearest step is taken.
    :raises PlotError: the field, plane or step does not exist; the message lists the existing ones.
    """
    if axis is not None and axis not in AXES:
        raise PlotError(f"axis must be x, y or z (found {axis!r})")
    with open_stored(Path(path), grid) as stored:
        (one,) = chosen_steps(stored, [] if step is None else [step], [] if time is None else [time])
        shown = quantity(one, field, stored.path)
        axis = axis or _thin(shown.shape)
        places = coordinates_of(one, shown)
        node = _node(stored.path, axis, index, at, shown, places, one)
        d = AXES.index(axis)
        start, count = [0, 0, 0], list(shown.shape)
        start[d], count[d] = node, 1
        box = Box((start[0], start[1], start[2]), (count[0], count[1], count[2]))
        values = np.squeeze(shown.read(box), axis=2 - d)
        units = str(one.attributes.get(f"{shown.name}/units", ""))
        position = stored.steps.position_of(one.index)
        return Plane(values, shown.name, axis, node, one.time, position, places, shown.positive, units)


def coordinates_of(step: StoredStep, shown: Quantity) -> Coordinates | None:
    """The coordinates of the points of a quantity in x, y, z; None if the series does not have them."""
    known = step.known.coordinates()
    if known is None or tuple(map(len, known)) != shown.shape:
        return None
    x, y, z = known
    return x, y, z


def _thin(shape: Sequence[int]) -> str:
    thin = [axis for axis, count in zip(AXES, shape, strict=True) if count == 1]
    return thin[0] if len(thin) == 1 else "z"


def _node(
    path: str,
    axis: str,
    index: int | None,
    at: float | None,
    shown: Quantity,
    places: Coordinates | None,
    step: StoredStep,
) -> int:
    d = AXES.index(axis)
    count = shown.shape[d]
    if at is None:
        if index is not None and not -count <= index < count:
            raise PlotError(f"{path}: there is no node {index} in {axis}; there are {count}, counted from 0")
        return count // 2 if index is None else index % count
    if index is not None:
        raise PlotError("the place of a slice is given by its index or its coordinate; leave one of them out")
    if places is None:
        raise PlotError(f"{path}: does not say the coordinates of '{shown.name}'; choose the slice by its index")
    along, low = places[d], float(places[d][0])
    known = step.known
    period = known.grid.lengths[d] if known.grid is not None and known.grid.boundaries[d] == "periodic" else None
    high = float(along[-1]) if period is None else low + period
    if not low - 1e-9 * abs(high) <= at <= high + 1e-9 * abs(high):
        raise PlotError(f"{path}: {axis} = {at:g} is outside: it goes from {low:g} to {high:.7g}")
    distance = np.abs(along - at)
    if period is not None:
        distance = np.minimum(distance, np.abs(along + period - at))
    return int(np.argmin(distance))


# ---- drawing ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Look:
    """What is shown of a plane, and how its values become colours.

    :param limits: the values of the first and the last colour; None: by the values.
    :param colours: a colour map of matplotlib; "": by the limits.
    :param crop: the part that is shown; None: all of it.
    :param compared: it is one of several pictures, whose bars look the same.
    """

    limits: tuple[float, float] | None = None
    colours: str = ""
    crop: Crop | None = None
    compared: bool = False


def draw_plane(plane: Plane, look: Look | None = None) -> Figure:
    """The figure of a plane, with its coordinates, its place and its time.

    :raises PlotError: it has no finite value, or there is no such colour map.
    """
    across, up = (name for name in AXES if name != plane.axis)
    known = plane.coordinates
    places = dict(zip(AXES, known, strict=True)) if known else {}
    where = f"{plane.axis} = {places[plane.axis][plane.index]:.4g}" if known else f"{plane.axis} node {plane.index}"
    unit = "" if known else " (node)"
    title = f"{plane.field} at {where}, t = {plane.time:.4g}"
    return draw_image(
        plane.values, *_edges(plane), (across + unit, up + unit), title, positive=plane.positive, units=plane.units,
        proportional=True, look=look,
    )  # fmt: skip


def _edges(plane: Plane) -> tuple[NDArray[Any], NDArray[Any]]:
    """Those of the pixels, across and up; without coordinates by the numbers of the nodes."""
    (across, columns), (up, rows) = zip(
        [axis for axis in AXES if axis != plane.axis], reversed(plane.values.shape), strict=True
    )
    if plane.coordinates is None:
        return np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    return edges_of(plane.coordinates[AXES.index(across)]), edges_of(plane.coordinates[AXES.index(up)])


def draw_image(
    values: NDArray[Any],
    across: NDArray[Any],
    up: NDArray[Any],
    labels: tuple[str, str],
    title: str,
    *,
    positive: bool = False,
    units: str = "",
    proportional: bool = False,
    look: Look | None = None,
) -> Figure:
    """A two-dimensional array as a picture.

    :param values: (rows, columns), the rows from the bottom up.
    :param across, up: the edges of the columns and of the rows, in rising order.
    :param positive: values cannot be negative.
    :param proportional: both directions are lengths.
    """
    look = look or Look()
    if look.crop is not None:
        values, across, up = _cropped(values, across, up, look.crop)
    colours, low, high, extend = _colours(values, title, positive, look)
    width, height = across[-1] - across[0], up[-1] - up[0]
    proportional = proportional and min(values.shape) > 1 and max(width, height) <= _LONGEST * min(width, height)
    with rc_context(IMAGE_STYLE):
        size = _figure_size(width, height) if proportional else (6.9, 5.0 if min(values.shape) > 4 else 2.4)
        figure = Figure(figsize=size, layout="constrained")
        axes: Axes = figure.subplots()
        options: dict[str, Any] = {"cmap": colours, "vmin": low, "vmax": high}
        if _is_uniform(across) and _is_uniform(up):
            image: Any = axes.imshow(
                values,
                origin="lower",
                extent=(across[0], across[-1], up[0], up[-1]),
                interpolation="bilinear" if proportional else "nearest",  # the fields are smooth between nodes
                **options,
            )
        else:
            image = axes.pcolormesh(across, up, values, rasterized=True, **options)
        axes.set_aspect("equal" if proportional else "auto")
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.set_title(plain(title), **TITLE)
        bar = figure.colorbar(image, ax=axes, extend=extend, shrink=0.85, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        if units:
            bar.set_label(units)
    return figure


def _cropped(
    values: NDArray[Any], across: NDArray[Any], up: NDArray[Any], crop: Crop
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The pixels whose middle is inside, and their edges."""
    kept = []
    for edges, first, last in ((across, *crop[:2]), (up, *crop[2:])):
        middle = 0.5 * (edges[1:] + edges[:-1])
        inside = np.flatnonzero((middle >= first) & (middle <= last))
        if not len(inside):
            there = " ".join(f"{end:.4g}" for one in (across, up) for end in (one[0], one[-1]))
            raise PlotError(f"--crop {' '.join(f'{end:g}' for end in crop)}: has no point; the whole is {there}")
        kept.append(slice(int(inside[0]), int(inside[-1]) + 1))
    columns, rows = kept
    return (
        values[rows, columns],
        across[columns.start : columns.stop + 1],
        up[rows.start : rows.stop + 1],
    )


def edges_of(points: NDArray[Any]) -> NDArray[Any]:
    """The edges of pixels that are centred on points: half a spacing beyond the first and the last."""
    if len(points) == 1:
        return np.array([points[0] - 0.5, points[0] + 0.5])
    middle = 0.5 * (points[1:] + points[:-1])
    return np.concatenate([[2 * points[0] - middle[0]], middle, [2 * points[-1] - middle[-1]]])


def _is_uniform(edges: NDArray[Any]) -> bool:
    return bool(np.allclose(np.diff(edges), (edges[-1] - edges[0]) / (len(edges) - 1), rtol=1e-6, atol=0.0))


def _figure_size(width: float, height: float) -> tuple[float, float]:
    """The size of a figure that fits on a page: the plane in its proportions, with colour bar and title."""
    scale = 5.6 / max(width, height)
    return max(3.2, width * scale) + 1.3, max(1.4, height * scale) + 0.8


def _colours(values: NDArray[Any], title: str, positive: bool, look: Look) -> tuple[str, float, float, str]:
    """Colour map and limits, and at which ends values are beyond them."""
    if look.colours and look.colours not in colormaps:
        near = difflib.get_close_matches(look.colours, list(colormaps), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise PlotError(f"--colours {look.colours}: is no colour map of matplotlib{hint}")
    if look.limits is None:
        colours, low, high, extend = _by_values(values, title, positive)
    else:
        low, high = look.limits
        colours = "inferno" if positive else default_name((low, high))
        finite = values[np.isfinite(values)]  # nothing, in a step of a film after a flow has blown up
        extend = "both" if look.compared else _extend(bool((finite < low).any()), bool((finite > high).any()))
    return look.colours or colours, low, high, extend


def limits_of(plane: Plane, crop: Crop | None = None) -> tuple[float, float] | None:
    """The values of the first and the last colour, where none are given; None if what is shown has no finite value."""
    values = plane.values if crop is None else _cropped(plane.values, *_edges(plane), crop)[0]
    if not np.isfinite(values).any():
        return None
    _, low, high, _ = _by_values(values, plane.field, plane.positive)
    return low, high


def _by_values(values: NDArray[Any], title: str, positive: bool) -> tuple[str, float, float, str]:
    """From zero, dark to bright, for values that cannot be negative; else white at zero, if they change their sign.

    A few extreme points would hide the contrast of all others, so the limits leave out 0.5 percent of the points.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise PlotError(f"{title}: has no finite value")
    lowest, highest = float(finite.min()), float(finite.max())
    top = float(np.percentile(np.abs(finite), 99.5)) or float(np.abs(finite).max()) or 1.0
    if positive:
        return "inferno", 0.0, top, "max" if highest > top else "neither"
    if min(-lowest, highest) <= NO_SIGN * max(-lowest, highest):  # an undershoot is no change of sign
        low, high = (float(end) for end in np.percentile(finite, [0.5, 99.5]))
        if low == high:  # but in a few points
            low, high = lowest, highest
        if low == high:
            low, high = low - (0.5 * abs(low) or 1.0), high + (0.5 * abs(high) or 1.0)
        return "viridis", low, high, _extend(lowest < low, highest > high)
    return "RdBu_r", -top, top, _extend(lowest < -top, highest > top)


def _extend(below: bool, above: bool) -> str:
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")
