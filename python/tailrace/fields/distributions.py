"""Histograms and joint probability densities of distributed fields, weighted by volume. All collective.

Each point counts with its share of the volume (the trapezoidal rule, as in `mean`). Values that are not a number are in
no bin; their share is `missing`. Infinite ones are outside of every range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.parallel import extreme

from .field import Field, check_real, same_points

Bins = int | Sequence[float] | NDArray[np.float64]
Range = tuple[float, float] | None


@dataclass(frozen=True)
class Histogram:
    """Probability density of one quantity.

    :param edges: of the bins, one more than there are bins; all but the last bin exclude their upper edge.
    :param density: of each bin, such that sum(density * widths) + outside + missing = 1.
    :param outside: share of the volume whose values are outside the edges.
    :param missing: share of the volume whose values are not a number.
    """

    edges: NDArray[np.float64]
    density: NDArray[np.float64]
    outside: float
    missing: float

    @property
    def centres(self) -> NDArray[np.float64]:
        """Midpoints of the bins."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    @property
    def probability(self) -> NDArray[np.float64]:
        """Share of the volume in each bin."""
        return self.density * np.diff(self.edges)

    def mean(self) -> float:
        """Mean of the values in the bins, to within half a bin; near the mean of the field if nothing is outside."""
        return float(self.probability @ self.centres / self.probability.sum())


@dataclass(frozen=True)
class JointHistogram:
    """Joint probability density of two quantities.

    :param edges: those of the first and those of the second quantity.
    :param density: (bins of the first, bins of the second), such that the integral + outside + missing = 1.
    :param outside: share of the volume where one of them is outside its edges.
    :param missing: share of the volume where one of them is not a number.
    """

    edges: tuple[NDArray[np.float64], NDArray[np.float64]]
    density: NDArray[np.float64]
    outside: float
    missing: float

    @property
    def centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Midpoints of the bins of both."""
        first, second = (0.5 * (edges[1:] + edges[:-1]) for edges in self.edges)
        return first, second

    @property
    def probability(self) -> NDArray[np.float64]:
        """Share of the volume in each bin."""
        return self.density * np.outer(*(np.diff(edges) for edges in self.edges))

    def mean(self) -> tuple[float, float]:
        """Means of both quantities over the bins, to within half a bin."""
        total = self.probability.sum()
        first, second = self.centres
        return float(first @ self.probability.sum(1) / total), float(second @ self.probability.sum(0) / total)


def histogram(f: Field, bins: Bins = 100, range: Range = None) -> Histogram:
    """Probability density of the values of a field.

    :param bins: the number of bins of equal width, or their edges.
    :param range: the lower and the upper edge; by default the range of all finite values.
    :raises InputError: there are no bins, or the edges or the range do not increase.

    >>> ops = tr.Operators((16, 12, 8), (4.0, 3.0, 2.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.where(x < 1.0, 5.0, 9.0))
    >>> found = tr.histogram(f, bins=2, range=(4.0, 10.0))
    >>> found.centres, found.probability  # 5 in a quarter of the volume, 9 elsewhere
    (array([5.5, 8.5]), array([0.25, 0.75]))
    """
    check_real(f)
    edges = _edges(f, bins, range)
    shares, missing = _shares([f], [edges])
    probability = shares[1:-1]
    return Histogram(edges, probability / np.diff(edges), float(shares[0] + shares[-1]), missing)


def joint_histogram(
    f: Field,
    g: Field,
    bins: Bins | tuple[Bins, Bins] = 100,
    range: tuple[Range, Range] | None = None,
) -> JointHistogram:
    """Joint probability density of the values of two fields at the same points.

    :param bins: as in `histogram`: the same for both fields, or a tuple with one for each field.
    :param range: one range for each field; by default that of all its finite values.

    >>> ops = tr.Operators((16, 12, 8), (4.0, 3.0, 2.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.where(x < 1.0, 1.0, -1.0))
    >>> g = tr.Field.from_function(ops, lambda x, y, z: np.where(z < 1.0, 1.0, -1.0))
    >>> tr.joint_histogram(f, g, bins=[-2.0, 0.0, 2.0]).probability
    array([[0.375, 0.375],
           [0.125, 0.125]])
    """
    same_points(f, g)
    check_real(f, g)
    of_f, of_g = bins if isinstance(bins, tuple) else (bins, bins)
    range_f, range_g = range or (None, None)
    edges = (_edges(f, of_f, range_f), _edges(g, of_g, range_g))
    shares, missing = _shares([f, g], list(edges))
    probability = shares[1:-1, 1:-1]
    outside = float(shares.sum() - probability.sum())
    return JointHistogram(edges, probability / np.outer(*map(np.diff, edges)), outside, missing)


def _edges(f: Field, bins: Bins, given: Range) -> NDArray[np.float64]:
    if not isinstance(bins, int | np.integer):
        edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise InputError("the edges of bins must be at least two growing numbers")
        return edges
    if bins < 1:
        raise InputError(f"{bins} bins: at least one is needed")
    low, high = given or _finite_range(f)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise InputError(f"range is {low} to {high}; expected two finite numbers, the smaller first")
    least = 4 * int(bins) * np.spacing(max(abs(low), abs(high)))  # edges nearer to each other would be equal
    if high - low < least:
        middle, half = 0.5 * (low + high), max(0.5, least) if low == high else 0.5 * least
        low, high = middle - half, middle + half
    return np.linspace(low, high, int(bins) + 1)


def _finite_range(f: Field) -> tuple[float, float]:
    finite = f.data[np.isfinite(f.data)]
    own = np.array([-finite.min(), finite.max()] if finite.size else [-np.inf, -np.inf], np.float64)
    below, high = extreme(f.operators.comm, own, largest=True).tolist()
    low = -below
    return (low, high) if low <= high else (0.0, 1.0)  # nothing is finite: any bins are right, and stay empty


def _shares(fields: list[Field], edges: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
    """Share of the volume per bin, with a bin below and one above in each quantity, and of what is not a number."""
    operators, centred = fields[0].operators, fields[0].centred
    x, y, z = (operators.weights(d, centred) / operators.grid.lengths[d] for d in (0, 1, 2))
    shape = tuple(len(one) + 1 for one in edges)
    shares = np.zeros(int(np.prod(shape)) + 1)  # the last is what is missing
    plane = np.outer(y, x).ravel()
    for k, weight in enumerate(z):  # one plane after another, which needs little memory
        values = [np.asarray(f.data[k], dtype=np.float64).ravel() for f in fields]
        places = [_places(one, of) for one, of in zip(values, edges, strict=True)]
        flat = np.ravel_multi_index(tuple(places), shape)
        flat[np.isnan(values).any(axis=0)] = len(shares) - 1
        shares += weight * np.bincount(flat, plane, len(shares))
    whole = np.asarray(operators.comm.allreduce(shares))
    return whole[:-1].reshape(shape), float(whole[-1])


def _places(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """The number of the bin of each value: 0 below, 1 to bins, bins + 1 above. The last edge is in the last bin."""
    places = np.searchsorted(edges, values, side="right")
    places[values == edges[-1]] = len(edges) - 1
    return places
