"""A part of a field with few points: chosen on all ranks, so that little travels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.fields.field import Field

    from .wanted import Wanted

PLANE, BOX = 600, 96  # points in a direction: a screen shows no more, and a surface needs no more


@dataclass(frozen=True)
class Part:
    """Values at some nodes of a field.

    :param values: (nz, ny, nx), single precision.
    :param places: the coordinates of the nodes in x, y and z.
    :param node: of a plane, along its normal.
    :param count: nodes of the whole field along the normal.
    """

    values: NDArray[np.float32]
    places: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
    node: int
    count: int
    step: int
    time: float


def part_of(field: Field, wanted: Wanted, step: int, time: float) -> Part | None:
    """The part of a field that is wanted, on rank 0; None on the others. Collective."""
    operators = field.operators
    along = [np.asarray(operators.grid.coordinates(d, field.centred[d]), np.float64) for d in range(3)]
    picks = picked(along, wanted)
    values = _gathered(field, picks)
    return None if values is None else part_at(values, along, picks, wanted, step, time)


def picked(along: Sequence[NDArray[Any]], wanted: Wanted) -> list[NDArray[np.int64]]:
    """The nodes of a part in x, y and z. Local.

    :param along: the coordinates of the whole field.
    """
    picks = [chosen(one, BOX if wanted.kind == "box" else PLANE) for one in along]
    if wanted.kind == "plane":
        normal = "xyz".index(wanted.axis)
        count = len(along[normal])
        picks[normal] = np.array([count // 2 if wanted.node is None else min(wanted.node, count - 1)])
    return picks


def part_at(
    values: NDArray[np.float32],
    along: Sequence[NDArray[Any]],
    picks: Sequence[NDArray[np.int64]],
    wanted: Wanted,
    step: int,
    time: float,
) -> Part:
    """The part with these values at the nodes that `picked` has found. Local."""
    x, y, z = (one[pick] for one, pick in zip(along, picks, strict=True))
    normal = "xyz".index(wanted.axis)
    return Part(values, (x, y, z), int(picks[normal][0]), len(along[normal]), step, time)


def chosen(along: NDArray[Any], most: int) -> NDArray[np.int64]:
    """At most so many nodes, which are about equally far apart, from the first to the last; of few all."""
    if len(along) <= most:
        return np.arange(len(along))
    wanted = np.linspace(along[0], along[-1], most)
    return np.unique(np.searchsorted(0.5 * (along[1:] + along[:-1]), wanted))


def _gathered(field: Field, picks: Sequence[NDArray[np.int64]]) -> NDArray[np.float32] | None:
    """The values at nodes that are chosen in x, y and z, on rank 0."""
    comm = field.operators.comm
    start, count = field.operators.box(field.centred)
    spans = [np.searchsorted(one, (first, first + n)) for one, first, n in zip(picks, start, count, strict=True)]
    inside = [one[low:high] - first for one, (low, high), first in zip(picks, spans, start, strict=True)]
    mine = None
    if all(map(len, inside)):
        mine = np.asarray(field.data[np.ix_(inside[2], inside[1], inside[0])], np.float32)
    found = comm.gather(None if mine is None else (spans, mine), root=0)
    if found is None:
        return None
    whole = np.empty([len(one) for one in reversed(picks)], np.float32)
    for one in found:
        if one is not None:
            (x, y, z), values = one
            whole[z[0] : z[1], y[0] : y[1], x[0] : x[1]] = values
    return whole
