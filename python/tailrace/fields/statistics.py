"""Running statistics of fields: means, variances, covariances, Reynolds stresses.

    flow = tr.Statistics(("ux", "uy", "uz"), axes="xz")
    for step in series:
        flow.update({name: step[name] for name in flow.names}, weight=dt)
    flow.mean["ux"], flow.reynolds_stress("x", "y")

Averages are weighted, over all samples and over the homogeneous directions `axes`. Without directions every point has
its own statistics, kept as fields; with some, profiles (or with "xyz" numbers) are kept, the same on every rank.

With weights w and W = sum of w the mean is m_a = sum w a / W and the covariance C_ab = sum w (a - m_a)(b - m_b) / W.
They are updated with each sample, as differences of sums of squares would lose digits: with d_a = a - m_a before the
update, m_a += w d_a / (W + w) and W C_ab += w W / (W + w) d_a d_b (Chan, Golub and LeVeque 1983). Everything is kept in
double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError, add_products, add_sample
from tailrace.parallel import agree
from tailrace.text import names_of

from .averages import average, join_parts, kept_directions
from .field import Field, check_real, same_points
from .parity import EVEN, Signs, product_parity
from .points import axis_names
from .vector import Vector

_VELOCITY = ("ux", "uy", "uz")


class Statistics:
    """Running means and covariances of several fields.

    :param names: names of the fields, or one name.
    :param axes: directions to average over, as "xz"; "" for none.
    :raises InputError: `names` is empty or has a name twice, or a direction does not exist.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> flow = tr.Statistics(axes="xz")  # of ux, uy, uz; profiles over y
    >>> for sign in (1.0, -1.0):
    ...     flow.update(tr.Vector.from_function(ops, lambda x, y, z: (sign + y, np.sin(x), 0.0)))
    >>> np.allclose(flow.mean["ux"], ops.coordinates()[1])
    True
    >>> flow.reynolds_stress("x", "x")[:3], flow.reynolds_stress("y", "y")[:3].round(6)
    (array([1., 1., 1.]), array([0.5, 0.5, 0.5]))
    """

    def __init__(self, names: str | Sequence[str] = _VELOCITY, axes: str = "") -> None:
        self.names = names_of(names)
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError(f"names of statistics: expected some, all different, found {names!r}")
        self.axes = "".join(sorted(axis_names(axes))) if axes else ""
        self.weight = 0.0
        self.updates = 0
        self._like: dict[str, Field] = {}  # points and parity of each field; their values are not used
        self._means: list[NDArray[np.float64]] = []
        self._products: list[NDArray[np.float64]] = []  # sums of w d_a d_b, for a <= b

    # ---- adding ------------------------------------------------------------------------------------------------------
    def update(self, fields: Mapping[str, Field] | Vector, weight: float = 1.0) -> None:
        """Add one sample of every field. Local if `axes` is empty, else collective.

        :param fields: fields by name; fields that are not in `names` are ignored. A vector gives ux, uy, uz.
        :param weight: the weight of the sample, for example the time it represents.
        :raises InputError: a field is missing or on other points than before, or the weight is not positive.
        """
        given: Mapping[str, Field] = dict(zip(_VELOCITY, fields, strict=True)) if isinstance(fields, Vector) else fields

        def check() -> list[Field]:
            if not 0 < weight < np.inf:
                raise InputError(f"the weight of a sample is {weight}; expected a positive number")
            samples = [self._sample(given, name) for name in self.names]
            self._settle(samples)
            return samples

        known = [one for one in (*self._like.values(), *given.values()) if hasattr(one, "operators")]
        samples = agree(known[0].operators.comm, check) if self.axes and known else check()
        arrays, weight = _alike(samples), float(weight)
        total = self.weight + weight
        share, factor = weight / total, weight * (self.weight / total)
        if self.axes:
            self._update_reduced(samples, arrays, weight, share, factor)
        else:
            add_sample(arrays, share, factor, self._means, self._products)
        self.weight = total
        self.updates += 1

    def merge(self, other: Statistics) -> None:
        """Add all samples of other statistics. Their order makes no difference, except for rounding. Local.

        :raises InputError: `other` has other fields, directions or points.
        """
        if (other.names, other.axes) != (self.names, self.axes):
            raise InputError(
                f"statistics of {', '.join(self.names)} over {self.axes!r} cannot take in those of "
                f"{', '.join(other.names)} over {other.axes!r}"
            )
        if not other._means:
            return
        if other._like:
            self._settle([other._like[name] for name in other.names])
        if not self._means:
            self._allocate(other._means[0].shape)
        if self._means[0].shape != other._means[0].shape:
            raise InputError(f"profiles of {other._means[0].shape} and {self._means[0].shape} points do not match")
        total = self.weight + other.weight
        self._combine(other._means, other._products, other.weight / total, other.weight * (self.weight / total))
        self.weight = total
        self.updates += other.updates

    def _sample(self, fields: Mapping[str, Field], name: str) -> Field:
        if not isinstance(fields.get(name), Field):
            raise InputError(f"statistics: there is no field {name!r} among {', '.join(fields) or 'none'}")
        return fields[name]

    def _settle(self, samples: Sequence[Field]) -> None:
        """Allocate memory for the first samples; check that later ones are at the same points."""
        same_points(*self._like.values(), *samples)
        check_real(*samples)
        first = samples[0]
        points = first.operators.shape(first.centred)
        shape = tuple(points[d] for d in self._kept) if self.axes else first.shape
        if not self._means:
            self._allocate(shape)
        if self._means[0].shape != shape:
            raise InputError(f"statistics of {self._means[0].shape} points cannot take in {shape}")
        self._like = dict(zip(self.names, map(_place, samples), strict=True))

    def _allocate(self, shape: tuple[int, ...]) -> None:
        self._means = [np.zeros(shape) for _ in self.names]
        self._products = [np.zeros(shape) for _ in self._pairs()]

    @property
    def _kept(self) -> list[int]:
        return kept_directions(self.axes)

    def _update_reduced(
        self, samples: Sequence[Field], arrays: list[NDArray[Any]], weight: float, share: float, factor: float
    ) -> None:
        """The mean and the products of this sample over the directions, then those of all so far."""
        field = samples[0]
        operators, (start, count) = field.operators, field.operators.box(field.centred)
        own = tuple(slice(start[d], start[d] + count[d]) for d in self._kept)
        means = [average(sample.operators, sample.data, sample.centred, self.axes) for sample in samples]
        shares = [(operators.weights(d, field.centred) / operators.grid.lengths[d]).tolist() for d in range(3)]
        kept = tuple(d in self._kept for d in range(3))
        products = np.zeros([len(self._products), *(count[d] for d in self._kept)])
        add_products(
            arrays,
            shares,
            kept,
            [np.ascontiguousarray(mean[own]) for mean in means],
            [products[number, ...] for number in range(len(products))],
        )
        whole = join_parts(operators, products, field.centred, self._kept)
        self._combine(means, list(weight * whole), share, factor)

    def _combine(
        self,
        means: Sequence[NDArray[np.float64]],
        products: Sequence[NDArray[np.float64]],
        share: float,
        factor: float,
    ) -> None:
        deviations = [mean - own for mean, own in zip(means, self._means, strict=True)]
        for own, deviation in zip(self._means, deviations, strict=True):
            own += share * deviation
        for number, (a, b) in enumerate(self._pairs()):
            self._products[number] += products[number] + factor * deviations[a] * deviations[b]

    def _pairs(self) -> list[tuple[int, int]]:
        return [(a, b) for a in range(len(self.names)) for b in range(a, len(self.names))]

    # ---- results -----------------------------------------------------------------------------------------------------
    @property
    def mean(self) -> Means:
        """`mean[name]`: a Field, or over `axes` an array of the other directions in the order z, y, x. Local."""
        return Means(self)

    def variance(self, name: str) -> Any:
        """<(a - <a>)^2>, divided by the sum of the weights. Local."""
        return self.covariance(name, name)

    def covariance(self, first: str, second: str) -> Any:
        """<(a - <a>)(b - <b>)>, divided by the sum of the weights. Local."""
        self._seen(first)
        return self._result(self._product(first, second) / self.weight, first, second)

    def reynolds_stress(self, i: int | str, j: int | str) -> Any:
        """<u_i' u_j'> of the fields ux, uy, uz; i and j are 0, 1, 2 or "x", "y", "z". Local."""
        first, second = (_VELOCITY["xyz".index(one) if isinstance(one, str) else one] for one in (i, j))
        return self.covariance(first, second)

    def _seen(self, name: str) -> NDArray[np.float64]:
        if name not in self.names:
            raise InputError(f"statistics of {', '.join(self.names)}: there is no {name!r}")
        if not self._means:
            raise InputError("statistics: there are no samples yet")
        return self._means[self.names.index(name)].copy()  # the running mean changes with the next sample

    def _product(self, first: str, second: str) -> NDArray[np.float64]:
        for name in (first, second):
            if name not in self.names:
                raise InputError(f"statistics of {', '.join(self.names)}: there is no {name!r}")
        a, b = sorted((self.names.index(first), self.names.index(second)))
        return self._products[self._pairs().index((a, b))]

    def _result(self, values: NDArray[np.float64], *names: str) -> Any:
        """The values; as a field where every point has its own, with the parity of the product of the fields."""
        if self.axes:
            return values if values.ndim else float(values)
        parity: Signs = EVEN
        for name in names:
            parity = product_parity(parity, self._like[name].parity)
        return self._like[names[0]].like(values, parity=parity, name=" ".join(names))

    # ---- saving and loading ---------------------------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        """All that `load` needs, by name: copies of fields or arrays, and two numbers. Local.

        The names are "weight", "updates", "mean_a" and "product_a_b", which is weight * covariance.
        """
        state: dict[str, Any] = {"weight": self.weight, "updates": self.updates}
        if not self._means:
            return state
        for name in self.names:
            state[f"mean_{name}"] = self._result(self._seen(name), name)
        for a, b in self._pairs():
            first, second = self.names[a], self.names[b]
            state[f"product_{first}_{second}"] = self._result(self._product(first, second).copy(), first, second)
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from what `save` returned, with the same bits as without an interruption. Local.

        :raises InputError: an entry is missing; or `axes` is empty, and an entry is not a field.
        """
        weight, updates = float(self._entry(state, "weight")), int(self._entry(state, "updates"))
        saved: list[Any] = []
        if updates:
            saved += [self._entry(state, f"mean_{name}") for name in self.names]
            saved += [self._entry(state, f"product_{self.names[a]}_{self.names[b]}") for a, b in self._pairs()]
        if not self.axes:
            if not all(isinstance(one, Field) for one in saved):
                raise InputError("statistics at every point continue from fields, not from plain arrays")
            if saved:
                same_points(*saved)
        self.weight, self.updates = weight, updates
        n = len(self.names)
        self._like = {} if self.axes else dict(zip(self.names, map(_place, saved), strict=False))
        values = [np.array(one, dtype=np.float64) for one in saved]
        self._means, self._products = values[:n], values[n:]

    def _entry(self, state: Mapping[str, Any], key: str) -> Any:
        if key not in state:
            raise InputError(f"statistics of {', '.join(self.names)}: the saved state has no {key!r}")
        return state[key]


class Means(Mapping[str, Any]):
    """The means of statistics by name; each access returns a copy."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def __getitem__(self, name: str) -> Any:
        return self._statistics._result(self._statistics._seen(name), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._statistics.names)

    def __len__(self) -> int:
        return len(self._statistics.names)


def _place(field: Field) -> Field:
    """Points and parity of a field, without its values."""
    return field.like(np.broadcast_to(np.float64(0), field.shape))


def _alike(samples: Sequence[Field]) -> list[NDArray[Any]]:
    """The values in one type the compiled code knows: single precision where all are, else double."""
    single = all(sample.dtype == np.float32 for sample in samples)
    return [np.ascontiguousarray(sample.data, np.float32 if single else np.float64) for sample in samples]
