"""Parts of fields: planes, lines, and values at any point; profiles as fields. All collective but `spread`.

Between the points of the grid values come from the polynomial of degree five through the six nearest in each direction.
It continues beyond periodic and free-slip boundaries as the field does; at a wall it is one-sided. Where y is stretched
it is a polynomial in y itself. The error is of sixth order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailrace.core import Grid, InputError
from tailrace.parallel import agree

from .averages import join_parts, kept_directions, sum_over_ranks
from .field import Field, check_real, known_parity
from .operators import Operators
from .parity import Signs
from .points import Centred, axis_names
from .vector import Vector

_STENCIL = 6  # points per direction
_POINTS_AT_ONCE = 4096


def spread(profile: ArrayLike, f: Field, axes: str) -> Field:
    """A field that equals a profile over the directions `axes`, and does not vary in the others.

    Fluctuations are `u - tr.spread(u.mean("xz"), u, "y")`. No memory is used: the values are a view of the profile, and
    must not be changed. The parity is that of `f` in `axes`. Local.

    :param profile: the whole profile, as `mean` returns it: its directions in the order z, y, x.
    :raises InputError: the profile does not have the points of `f` along `axes`.

    >>> ops = tr.Operators((16, 13, 8), (2 * np.pi, 2.0, 1.0), ("periodic", "free-slip", "periodic"))
    >>> u = tr.Field.from_function(ops, lambda x, y, z: np.sin(x) + y * y)
    >>> fluctuation = u - tr.spread(u.mean("xz"), u, "y")
    >>> np.allclose(fluctuation, np.sin(u.coordinates()[0]))
    True
    """
    kept = [d for d in (2, 1, 0) if "xyz"[d] in axis_names(axes)]
    shape = f.operators.shape(f.centred)
    values, expected = np.asarray(profile), tuple(shape[d] for d in kept)
    if values.shape != expected:
        raise InputError(
            f"the profile has shape {values.shape}; over {axes!r} the field has {expected} points in z, y, x"
        )
    start, count = f.operators.box(f.centred)
    own = values[tuple(slice(start[d], start[d] + count[d]) for d in kept)]
    own = own.reshape([count[d] if d in kept else 1 for d in (2, 1, 0)])
    parity: Signs = tuple(sign if d in kept else 1 for d, sign in enumerate(f.parity))  # type: ignore[assignment]
    return f.like(np.broadcast_to(own, f.shape), parity=parity, name=f.name)


def plane(f: Field, axis: str, index: int | None = None, *, position: float | None = None) -> NDArray[Any]:
    """The values on a plane normal to a direction. Every rank gets the whole plane, and needs memory for it.

    :param axis: the direction of the normal, "x", "y" or "z".
    :param index: number of the point along it; negative ones count from the end.
    :param position: coordinate instead of `index`; between points the values are interpolated.
    :returns: an array over the other two directions, in the order z, y, x; for "y" (nz, nx).
    :raises InputError: no such direction, index or position.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> tr.plane(f, "y", 0).shape  # (nz, nx)
    (8, 16)
    >>> np.allclose(tr.plane(f, "x", position=0.3), np.sin(0.3), atol=1e-4)
    True
    """
    return _section(f, axis_names(axis), None if index is None else (index,), None if position is None else (position,))


def line(
    f: Field, axis: str, index: Sequence[int] | None = None, *, position: Sequence[float] | None = None
) -> NDArray[Any]:
    """The values on a line along a direction. Every rank gets the whole line.

    :param axis: the direction, "x", "y" or "z".
    :param index: numbers of the point in the other two directions, in the order x, y, z.
    :param position: coordinates instead of `index`; between points the values are interpolated.
    :returns: as many values as the field has along `axis`.
    :raises InputError: no such direction, index or position.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x) + y)
    >>> x, y, z = ops.coordinates()
    >>> np.allclose(tr.line(f, "x", (6, 0)), np.sin(x) + 1.0)  # y = 1 at node 6
    True
    """
    if len(axis_names(axis)) != 1:
        raise InputError(f"axis {axis!r}: a line goes along one direction")
    return _section(f, "xyz".replace(axis_names(axis), ""), index, position)


class Probes:
    """Values at arbitrary points, by tensor products of polynomials of degree five (six points per direction).

    Every rank gets all values. Each rank sums weights times values of its own points, and the sums of all ranks are
    added: no ghost points are needed.

    :param points: n x 3 coordinates x, y, z, the same on every rank. They wrap around periodic directions.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> probes = tr.Probes([(np.pi / 2, 0.5, 0.5), (0.3, 0.5, 0.5)])
    >>> np.allclose(probes(f), [1.0, np.sin(0.3)], atol=1e-4)
    True
    """

    def __init__(self, points: ArrayLike) -> None:
        self.points = np.atleast_2d(np.array(points, dtype=np.float64))
        if self.points.ndim != 2 or self.points.shape[1] != 3:
            raise InputError(f"probes need n x 3 coordinates, not an array of shape {np.shape(points)}")
        self._operators: Operators | None = None
        self._plans: dict[tuple[Centred, Signs], _SamplingPlan] = {}

    def __call__(self, f: Field | Vector) -> NDArray[np.float64]:
        """The values of a field, (n,), or of the components of a vector, (n, 3). Collective.

        :raises InputError: a point is outside the box in a direction that is not periodic, or not a number, or the
            ranks have different points.
        """
        if isinstance(f, Vector):
            return np.stack([self(one) for one in f], axis=1)
        check_real(f)
        if self._operators is not f.operators:
            self._operators, self._plans = f.operators, {}
        key = (f.centred, f.parity)
        if key not in self._plans:
            self._plans[key] = self._plan(f)
        values = np.zeros(len(self.points))
        self._plans[key].evaluate(f.data, values)
        return sum_over_ranks(f.operators.comm, values)

    def _plan(self, f: Field) -> _SamplingPlan:
        comm = f.operators.comm
        first = comm.bcast(self.points)

        def prepare() -> _SamplingPlan:
            if not np.array_equal(first, self.points, equal_nan=True):
                raise InputError("the ranks have different probes; all of them need the same points")
            self._check(f)
            return _SamplingPlan(f, self.points)

        return agree(comm, prepare)

    def _check(self, f: Field) -> None:
        grid = f.operators.grid
        for d in range(3):
            outside = ~_inside(grid, d, self.points[:, d])
            if outside.any():
                number = int(np.argmax(outside))
                raise InputError(
                    f"probe {number} at {tuple(map(float, self.points[number]))}: {'xyz'[d]} is outside the box, 0 to "
                    f"{grid.lengths[d]:g}"
                )


class _SamplingPlan:
    """Which values of this rank contribute to which probes, with their weights."""

    def __init__(self, f: Field, points: NDArray[np.float64]) -> None:
        start, count = f.operators.box(f.centred)
        places, weights = [], []
        needed = np.full(len(points), min(count) > 0)
        for d in range(3):
            stencil = _stencil(f, d, points[:, d])
            place = stencil.indices - start[d]
            own = (place >= 0) & (place < count[d])
            weights.append(np.where(own, stencil.weights, 0.0))
            places.append(np.where(own, place, 0))
            needed &= (weights[d] != 0).any(axis=1)
        self.probes = np.flatnonzero(needed)
        self.places = [place[needed] for place in places]
        self.weights = [weight[needed] for weight in weights]

    def evaluate(self, data: NDArray[Any], into: NDArray[np.float64]) -> None:
        for first in range(0, len(self.probes), _POINTS_AT_ONCE):
            some = slice(first, first + _POINTS_AT_ONCE)
            (i, j, k), (x, y, z) = ([part[some] for part in three] for three in (self.places, self.weights))
            weight = z[:, :, None, None] * y[:, None, :, None] * x[:, None, None, :]
            values = data[k[:, :, None, None], j[:, None, :, None], i[:, None, None, :]]
            # Values without weight must not count even where they are NaN.
            into[self.probes[some]] = np.sum(np.where(weight != 0, weight * values, 0.0), axis=(1, 2, 3))


class _Stencil(NamedTuple):
    """Global indices of points along a direction, and their weights: both (n, points)."""

    indices: NDArray[np.int64]
    weights: NDArray[np.float64]


def _stencil(f: Field, d: int, positions: NDArray[np.float64]) -> _Stencil:
    line = _Line(f, d)
    n, (lower, upper) = line.n, line.ends
    s = line.numbers(positions)
    first = np.floor(s).astype(np.int64) - (_STENCIL // 2 - 1)
    if lower == "dirichlet":
        first = np.maximum(first, 0)
    if upper == "dirichlet":
        first = np.minimum(first, n - _STENCIL)
    indices = first[:, None] + np.arange(_STENCIL)
    if line.places is None:
        weights = _lagrange(np.broadcast_to(np.arange(_STENCIL), indices.shape), s - first)
    else:
        at = np.where(s == np.rint(s), line.places[np.rint(s).astype(np.int64) % n], positions)
        weights = _lagrange(line.place(indices), at)
    if lower == "periodic":
        return _Stencil(indices % n, weights)
    beyond = ((indices < 0) | (indices >= n)) & (weights != 0)
    if beyond.any():
        weights = np.where(beyond, weights * known_parity(f, d), weights)
    return _Stencil(line.mirrored(indices), weights)


class _Line:
    """The points of a field along a direction, numbered 0 .. n - 1, and their mirror images beyond its ends.

    :param places: their coordinates where they are stretched, else None.
    """

    def __init__(self, f: Field, d: int) -> None:
        grid, self.centred = f.operators.grid, f.centred[d]
        self.n = f.operators.shape(f.centred)[d]
        kinds = grid.boundaries[d].split("|")
        self.ends = kinds[0], kinds[-1]
        self.spacing, self.length = grid.spacing(d), grid.lengths[d]
        stretched = d == 1 and grid.stretching != ""
        self.places = np.array(grid.coordinates(d, self.centred)) if stretched else None

    def numbers(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of points: whole at a point, to within rounding, and between two points between their numbers."""
        if self.places is None:
            s = positions / self.spacing - (0.5 if self.centred else 0.0)
            if self.ends[0] == "periodic":
                s = np.mod(s, self.n)
        else:
            around = np.arange(-1, self.n + 1)
            s = np.interp(positions, self.place(around), around.astype(np.float64))
        nearest = np.rint(s)  # within rounding of a grid point, that point is meant
        return np.where(abs(s - nearest) <= 4 * self.n * np.finfo(float).eps, nearest, s)

    def mirrored(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The points whose mirror images are beyond the ends."""
        shift = 1 if self.centred else 0  # the boundary, about which they are mirrored, is half a cell from a centre
        indices = np.where(indices < 0, -indices - shift, indices)
        return np.where(indices >= self.n, 2 * (self.n - 1) - indices + shift, indices)

    def place(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coordinates of stretched points and of mirror images."""
        assert self.places is not None
        found = self.places[self.mirrored(indices)]
        return np.where(indices < 0, -found, np.where(indices >= self.n, 2 * self.length - found, found))


def _lagrange(places: NDArray[Any], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of points in the polynomial through them.

    :param places: (n, points).
    :param at: (n,), where the polynomials are taken.
    """
    weights = np.ones(places.shape)
    for m in range(_STENCIL):
        for other in range(_STENCIL):
            if other != m:
                weights[:, m] *= (at - places[:, other]) / (places[:, m] - places[:, other])
    return weights


def _section(f: Field, axes: str, index: Sequence[int] | None, position: Sequence[float] | None) -> NDArray[Any]:
    """The field at fixed places in the directions `axes`."""
    check_real(f)
    start, count = f.operators.box(f.centred)
    kept = kept_directions(axes)
    own = f.data if position is None else f.data.astype(np.float64, copy=False)
    for d, stencil in agree(f.operators.comm, lambda: _fixed(f, axes, index, position)):
        places, weights = stencil.indices[0] - start[d], stencil.weights[0]
        mine = (places >= 0) & (places < count[d]) & (weights != 0)
        parts = np.take(own, places[mine], axis=2 - d)
        if position is not None:
            parts = parts * weights[mine].reshape([-1 if other == d else 1 for other in (2, 1, 0)])
        own = parts.sum(axis=2 - d, keepdims=True, dtype=own.dtype)
    result = join_parts(f.operators, own.reshape([count[d] for d in kept]), f.centred, kept)
    return result.astype(f.dtype, copy=False) if f.dtype.kind == "f" else result


def _fixed(
    f: Field, axes: str, index: Sequence[int] | None, position: Sequence[float] | None
) -> list[tuple[int, _Stencil]]:
    """The points of each direction of `axes` that contribute to a section, with their weights."""
    given = index if position is None else position
    if given is None or (index is not None and position is not None) or len(given) != len(axes):
        raise InputError(f"give the place along {', '.join(axes)} either by index or by position")
    directions = ["xyz".index(axis) for axis in axes]
    if position is None:
        return [(d, _at_index(f, d, int(one))) for d, one in zip(directions, given, strict=True)]
    return [(d, _at_position(f, d, float(one))) for d, one in zip(directions, given, strict=True)]


def _at_index(f: Field, d: int, index: int) -> _Stencil:
    n = f.operators.shape(f.centred)[d]
    if not -n <= index < n:
        raise InputError(f"index {index} in {'xyz'[d]}: the field has {n} points there")
    return _Stencil(np.array([[index % n]]), np.ones((1, 1)))


def _at_position(f: Field, d: int, position: float) -> _Stencil:
    grid, positions = f.operators.grid, np.array([position])
    if not _inside(grid, d, positions)[0]:
        raise InputError(f"position {position:g} in {'xyz'[d]} is outside the box, 0 to {grid.lengths[d]:g}")
    return _stencil(f, d, positions)


def _inside(grid: Grid, d: int, positions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which positions are in the box; in a periodic direction all finite ones are."""
    if grid.boundaries[d] == "periodic":
        return np.isfinite(positions)
    return (positions >= 0) & (positions <= grid.lengths[d])
