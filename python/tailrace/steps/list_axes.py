"""Which list of a series is the axis of which others, by their names and lengths: `k` of `energy`, `y` of `mean_u`.

A list becomes an axis only where another one has no other choice: x, y and z of probes stay lists like the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .abscissae import fits, in_common, is_abscissa

_GRID_PAIRS = (("z", "y"), ("z", "x"), ("y", "x"))  # of the arrays over two directions, in the order of their indices


@dataclass
class ListAxes:
    """The axes of lists.

    :param of: list -> its axis, or its two axes: a name out of `lists`, of the grid, or of `centres`.
    :param lists: the lists that are axes of others.
    :param beside: list -> the axis that it is another measure of, as y_plus of y.
    :param centres: axis -> the list of the edges of bins, of which it is the middle.
    """

    of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)
    beside: dict[str, str] = field(default_factory=dict)
    centres: dict[str, str] = field(default_factory=dict)


def axes_of(shapes: Mapping[str, tuple[int, ...]], fixed: set[str], grid: Mapping[str, int]) -> ListAxes:
    """The axes of lists with these shapes: (rows,), or (rows, columns). Local.

    :param fixed: the lists that have the same values in all steps; no other can be an axis.
    :param grid: the points of each direction of the grid, where a list may be along one of them.
    """
    lengths = {name: shape[0] for name, shape in shapes.items() if len(shape) == 1}
    known = {name: n for name, n in lengths.items() if name in fixed and is_abscissa(name)}
    found = ListAxes()
    for name, n in lengths.items():
        base = next((one for one in known if re.fullmatch(f"{one}_?plus", name) and known[one] == n), None)
        if base is not None:
            found.beside[name] = base
    for name in found.beside:
        known.pop(name, None)
    for name, n in lengths.items():
        over = found.beside.get(name) or _only(name, n, known)
        if over is not None:
            found.of[name] = (_axis(over, n, known, found, lengths),)
    for name, shape in shapes.items():
        if len(shape) == 2 and (pair := _pair(shape, known) or _rows(name, shape, known)) is not None:
            found.of[name] = pair
            found.lists.update(set(pair) & known.keys())
    for name in found.lists:
        found.of[name] = (name,)
    for name, shape in shapes.items():
        if name not in found.of and (along := _along(shape, grid)):
            found.of[name] = along
    return found


def _only(name: str, count: int, known: Mapping[str, int]) -> str | None:
    """The axis of a list: the only one that fits, or that with the most letters in common; None: it is not clear."""
    fitting = {one: in_common(one, name) for one, n in known.items() if one != name and fits(one, n, count)}
    best = [one for one, common in fitting.items() if common == max(fitting.values())]
    return best[0] if len(best) == 1 and name not in known else None


def _axis(over: str, count: int, known: Mapping[str, int], found: ListAxes, lengths: Mapping[str, int]) -> str:
    """The axis that a list is; of edges, the middle of the bins."""
    if known[over] == count:
        found.lists.add(over)
        return over
    middle = re.sub(r"(bin_)?(edges|bins)", "centres", over)
    if middle in lengths or middle == over:
        middle = f"{over}_centre"
    found.centres[middle] = over
    return middle


def _pair(shape: tuple[int, ...], known: Mapping[str, int]) -> tuple[str, str] | None:
    pairs = [pair for pair in _GRID_PAIRS if shape == tuple(known.get(axis) for axis in pair)]
    return pairs[0] if len(pairs) == 1 else None


def _rows(name: str, shape: tuple[int, ...], known: Mapping[str, int]) -> tuple[str, str] | None:
    """The axis of the rows of a table, which its columns do not have."""
    over = _only(name, shape[0], {axis: n for axis, n in known.items() if n == shape[0]})
    return None if over is None else (over, f"{name}_column")


def _along(shape: tuple[int, ...], grid: Mapping[str, int]) -> tuple[str, ...] | None:
    """The directions of the grid, where only one or one pair has as many points."""
    if len(shape) == 2:
        return _pair(shape, grid)
    along = [axis for axis, n in grid.items() if n == shape[0] > 1]
    return (along[0],) if len(along) == 1 else None
