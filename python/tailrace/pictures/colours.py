"""Ranges of values and their colours. Collective where told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpi4py.MPI import Comm
    from numpy.typing import NDArray

    from tailrace.fields.field import Field

Range = tuple[float, float]
_BINS = 2048
_BLOCK = 65536  # values that are counted together, so that they stay in the cache
_LEFT_OUT = 0.005  # the share of the points at each end that a range leaves out: a few hide the contrast of all others
_LARGE, _FEW = 1_000_000, 32  # points of a field that is sampled, and of the sample in each direction at least
_CALM = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
NO_SIGN = 0.05  # of the largest size: an undershoot of less is no change of sign


def range_of(comm: Comm, values: NDArray[Any]) -> Range:
    """The range of the values of all ranks, without a few extremes; symmetric where they change sign. Collective.

    Both ends are the same where the values are.
    """
    from mpi4py import MPI

    finite = (values if all_finite(values) else values[np.isfinite(values)]).ravel()
    ends = np.array([-finite.min(initial=np.inf), finite.max(initial=-np.inf)], np.float64)
    comm.Allreduce(MPI.IN_PLACE, ends, op=MPI.MAX)
    low, high = -float(ends[0]), float(ends[1])
    if not low < high:
        return (low, low) if np.isfinite(low) else (0.0, 0.0)
    counts = _counts(finite, low, high)
    comm.Allreduce(MPI.IN_PLACE, counts)
    share, width = np.cumsum(counts) / counts.sum(), high / _BINS - low / _BINS
    first, last = (int(np.searchsorted(share, one)) for one in (_LEFT_OUT, 1 - _LEFT_OUT))
    return signed(low + first * width, min(low + (last + 1) * width, high))


def sampled(field: Field) -> NDArray[Any]:
    """The values of a field, of a large one those at every second node of the whole: a range needs no more. Local."""
    shape = field.operators.shape(field.centred)
    start, _ = field.operators.box(field.centred)
    if int(np.prod(shape)) < _LARGE or min(shape) < 2 * _FEW:
        return field.data
    z, y, x = (slice(start[d] % 2, None, 2) for d in (2, 1, 0))
    return np.ascontiguousarray(field.data[z, y, x])


def _counts(values: NDArray[Any], low: float, high: float) -> NDArray[np.int64]:
    """How many values are in each of the equal bins between two ends; numpy's histogram takes twice the time. Local."""
    counts = np.zeros(_BINS + 1, np.int64)
    part = 1.0 if np.isfinite(high - low) else 0.5  # a difference that is too large is taken of halves
    for first in range(0, values.size, _BLOCK):
        block = values[first : first + _BLOCK].astype(np.float64)
        shares = (part * block - part * low) / (part * high - part * low)
        counts += np.bincount((_BINS * shares).astype(np.intp), minlength=_BINS + 1)
    counts[_BINS - 1] += counts[_BINS]  # the upper end itself
    return counts[:-1]


def all_finite(values: NDArray[Any]) -> bool:
    """Whether no value is infinite or none. A sum takes less time, and finds nearly always that they are. Local."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def signed(low: float, high: float) -> Range:
    """A range that is symmetric if it has both signs, and begins at zero if it hardly leaves it. Local."""
    largest = max(abs(low), abs(high))
    if low < -NO_SIGN * largest and high > NO_SIGN * largest:
        return -largest, largest
    if low < -1e-6 * largest and high > 1e-6 * largest:
        return low, high
    if abs(low) < 0.1 * high:
        return 0.0, high
    if abs(high) < 0.1 * -low:
        return low, 0.0
    return low, high


def wider(known: Range | None, limits: Range) -> Range:
    """A range that holds both, with calm ends: a bar of colours should not change from picture to picture. Local."""
    low, high = limits if known is None else (min(known[0], limits[0]), max(known[1], limits[1]))
    return known if known == (low, high) else signed(-_calm(-low), _calm(high))


def _calm(end: float) -> float:
    """The number of `_CALM` that is not below an upper end; for a negative one, as of an upper end below zero."""
    if end == 0 or not np.isfinite(end):
        return end
    scale = 10.0 ** np.floor(np.log10(abs(end)))
    steps = [one * scale for one in _CALM] if end > 0 else [-one * scale for one in reversed(_CALM)]
    return float(next(one for one in steps if one >= end * (1 - 1e-9 * np.sign(end))))


def table_of(name: str, limits: Range) -> NDArray[np.uint8]:
    """256 colours, (256, 4): by default white between blue and red where the range has both signs, else viridis. Local.

    :param name: a colour map of matplotlib; "": by the range.
    """
    from matplotlib import colormaps

    chosen = colormaps[name or default_name(limits)]
    return np.asarray(chosen(np.linspace(0, 1, 256)) * 255.999, np.uint8)


def default_name(limits: Range) -> str:
    """The colour map of a range; both can be told apart with every kind of colour vision. Local."""
    return "RdBu_r" if limits[0] == -limits[1] else "viridis"
