"""The arrays and numbers that analyses return, as curves: spectra, histograms, profiles, time series.

An array is drawn over another one of its length (edges of bins: one more) with the name of an abscissa, see
`abscissae`; else over the coordinate along which the grid has as many points; else over its index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailrace.steps.abscissae import KINDS, Kind, fits, in_common, is_abscissa, kind_of, label_of

from .curves import Curve
from .quantities import unknown
from .slices import Look, draw_image, edges_of
from .style import AXES, PlotError
from .thin import points

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailrace.steps.series import Series
    from tailrace.steps.stored_step import StoredStep


_UNSURE = "|"  # mark behind a direction: other directions fit as well


class Ordinate(NamedTuple):
    """An array to draw, and its abscissa: another array, a direction of the grid, or its index."""

    name: str
    kind: Kind
    over: str


def lists(step: StoredStep, dimensions: int) -> dict[str, tuple[int, ...]]:
    """The arrays that an analysis returned, of one or two dimensions, with their shapes."""
    found: dict[str, tuple[int, ...]] = {}
    for name, (_, (columns, rows, _), is_list) in step.variables.items():
        if is_list and (dimensions == 1) == (columns == 1):
            found[name] = (rows,) if columns == 1 else (rows, columns)
    return found


def ordinates(step: StoredStep, path: str, names: Sequence[str], x: str | None, axis: str | None) -> list[Ordinate]:
    """The arrays of one dimension that can be drawn, or those of `names`, if it is not empty.

    :raises PlotError: no array has that name or length, or its direction is not known.
    """
    there = lists(step, 1)
    for name in (*([x] if x else []), *names):
        if name not in there:
            raise PlotError(f"{path}: {unknown('array of one dimension', name, list(there))}")
    if x is not None:
        fits = [name for name in there if name != x and there[x][0] - there[name][0] in (0, 1)]
        wrong = next((name for name in names if name not in fits), None)
        if wrong or not fits:
            what = f"'{wrong}' has {there[wrong][0]} values" if wrong else "no other array has as many values"
            raise PlotError(f"{path}: {what}, and '{x}' has {there[x][0]}")
        edges = there[x][0] == there[(names or fits)[0]][0] + 1
        kind: Kind = kind_of(x) if is_abscissa(x) else "histogram" if edges else "profile"
        return [Ordinate(name, kind, x) for name in names or fits]
    shown = names or [name for name in there if not is_abscissa(name)] or list(there)
    return [_ordinate(step, path, name, there, axis, asked=bool(names)) for name in shown]


def _ordinate(
    step: StoredStep, path: str, name: str, there: dict[str, tuple[int, ...]], axis: str | None, *, asked: bool
) -> Ordinate:
    count = there[name][0]
    fitting = [one for one, (length,) in there.items() if one != name and fits(one, length, count)]
    if fitting and (
        axis is None or not asked
    ):  # of several, that whose name has the same beginning, as q_edges and q_density
        best = max(fitting, key=lambda one: in_common(one, name))
        return Ordinate(name, kind_of(best), best)
    points = step.known.coordinates() or ()
    along = [one for one, places in zip(AXES, points, strict=False) if len(places) == count]
    if axis is not None and (asked or axis in along):
        if axis not in along:
            raise PlotError(f"{path}: '{name}' has {count} values, and the grid not as many points in {axis}")
        return Ordinate(name, "profile", axis)
    if not along:
        return Ordinate(name, "profile", "")
    first, *others = (points[AXES.index(one)] for one in along)
    if asked and not all(np.allclose(first, one) for one in others):
        raise PlotError(f"{path}: '{name}' may be along {' or '.join(along)}; choose by --axis")
    return Ordinate(name, "profile", along[0] if not others else along[0] + _UNSURE)


def chosen(
    path: str, found: Sequence[Ordinate], kind: Kind | None, names: Sequence[str]
) -> tuple[Kind, list[Ordinate]]:
    """The arrays of one kind: the wanted kind, else the first one that exists.

    :raises PlotError: no array is of that kind, or the requested arrays are of several kinds.
    """
    kinds = [one for one in KINDS if any(ordinate.kind == one for ordinate in found)]
    if names and len(kinds) > 1 and kind is None:
        told = ", ".join(f"{ordinate.name} ({ordinate.kind})" for ordinate in found)
        raise PlotError(f"{path}: one picture shows one kind of curve, and these are of several: {told}")
    wanted = kind or kinds[0]
    if names:  # --kind overrides the kind of the arrays
        return wanted, list(found)
    same = [ordinate for ordinate in found if ordinate.kind == wanted]
    if not same:
        told = ", ".join(f"{ordinate.name} ({ordinate.kind})" for ordinate in found) or "none"
        raise PlotError(f"{path}: has no array that is drawn as a {wanted}; its arrays are {told}")
    return wanted, same


def stored_curves(step: StoredStep, found: Sequence[Ordinate], label: str, note: str) -> list[Curve]:
    """The curves of arrays of one dimension."""
    curves = []
    for name, kind, over in found:
        y = np.asarray(step.read(name), dtype=float)
        x, x_label = _abscissa(step, over, len(y))
        title = name + _units(step, name)
        if kind == "spectrum":  # a logarithmic axis cannot show the mean, at k = 0
            x_label = label_of(over)
        curves.append(Curve(title, x, y, x_label, label, note))
    return curves


def _abscissa(step: StoredStep, over: str, count: int) -> tuple[NDArray[Any], str]:
    if not over:
        return np.arange(count, dtype=float), "index"
    if over in lists(step, 1):
        return np.asarray(step.read(over), dtype=float), label_of(over) + _units(step, over)
    points = step.known.coordinates() or ()
    return points[AXES.index(over[0])], over if len(over) == 1 else "coordinate"


def _units(step: StoredStep, name: str) -> str:
    units = step.attributes.get(f"{name}/units")
    return f"  [{units}]" if units else ""


def numbers(stored: Series) -> list[str]:
    """The names of the numbers of the steps of a series."""
    found: dict[str, None] = {}
    for step in stored.steps:
        found.update(dict.fromkeys(numbers_of(step)))
    return list(found)


def numbers_of(step: StoredStep) -> list[str]:
    """The names of the numbers of a step, and of its fields of one point."""
    return [*(name for name, one in step.scalars.items() if not isinstance(one, str)), *points(step)]


def number_curves(stored: Series, names: Sequence[str], label: str) -> list[Curve]:
    """Numbers of the steps of a series over their time. Raises PlotError if there is none of that name."""
    there = numbers(stored)
    for name in names:
        if name not in there:
            raise PlotError(f"{stored.path}: {unknown('number', name, there)}")
    rows = [_row(step, names or there) for step in stored.steps]
    return [Curve(name, stored.times, np.array([row[name] for row in rows]), "time", label) for name in names or there]


def _row(step: StoredStep, names: Sequence[str]) -> dict[str, float]:
    """Numbers of a step; NaN for those that it does not have."""
    there, scalars = numbers_of(step), step.scalars
    return {
        name: np.nan if name not in there else float(scalars[name] if name in scalars else step.read(name)[0, 0, 0])
        for name in names
    }


def draw_table(step: StoredStep, name: str, look: Look) -> Figure:
    """An array of two dimensions as a picture, over coordinates with as many points, or over its indices."""
    values = np.asarray(step.read(name), dtype=float)
    points = step.known.coordinates()
    pairs = [
        (up, across)
        for up, across in (("z", "y"), ("z", "x"), ("y", "x"))
        if points and values.shape == (len(points[AXES.index(up)]), len(points[AXES.index(across)]))
    ]
    title = f"{name}, t = {step.time:.4g}"
    units = str(step.attributes.get(f"{name}/units", ""))
    if points and len(pairs) == 1:
        ((up, across),) = pairs
        columns, rows = (edges_of(points[AXES.index(one)]) for one in (across, up))
        return draw_image(values, columns, rows, (across, up), title, units=units, proportional=True, look=look)
    rows, columns = values.shape
    return draw_image(
        values, np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, ("second index", "first index"), title,
        positive=bool((values >= 0).all()), units=units, look=look,
    )  # fmt: skip
