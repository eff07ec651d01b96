"""The part of a source that is converted: steps, variables, a box, every n-th point, the type of the numbers."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np

from tailrace.core import InputError
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Attribute

Precision = Literal["float32", "float64"]
Slices = tuple[slice, slice, slice]


@dataclass(frozen=True)
class Cut:
    """Points start, start + stride, ... of an array, `count` of them, in x, y, z."""

    start: Triple
    count: Triple
    stride: Triple

    def source_box(self, box: Box) -> Box:
        """The box of the source around a box of the kept points."""
        begin = (s + b * n for s, b, n in zip(self.start, box.start, self.stride, strict=True))
        extent = ((c - 1) * n + 1 if c else 0 for c, n in zip(box.count, self.stride, strict=True))
        return Box(triple(begin), triple(extent))


@dataclass(frozen=True)
class Selection:
    """The choices of the user.

    :param steps: positions of stored steps.
    :param variables: names of variables, of vectors, or of variables computed on reading; None: all stored ones.
    :param box: in x, y, z, of arrays on the points of the grid; None: all points.
    :param coarsen: every n-th point in x, y, z.
    :param precision: the type of real numbers; None: as stored.
    """

    steps: slice = field(default_factory=lambda: slice(None))
    variables: tuple[str, ...] | None = None
    box: Slices | None = None
    coarsen: Triple = (1, 1, 1)
    precision: Precision | None = None

    def __post_init__(self) -> None:
        if not _is_of_whole_numbers(self.steps):
            raise InputError(
                f"steps = {self.steps!r}: expected a slice of whole numbers, the positions of stored steps, as "
                "slice(3, None) for all from the fourth on"
            )
        if self.precision not in (None, "float32", "float64"):
            raise InputError(f"precision = {self.precision!r}: expected float32 or float64")
        if min(self.coarsen) < 1:
            raise InputError(f"coarsen = {self.coarsen}: expected three numbers from 1 on, for x, y and z")
        if self.variables is not None and not self.variables:
            raise InputError("variables: expected at least one name")

    @property
    def wishes(self) -> list[str]:
        """The options with which less than the whole source is kept."""
        chosen = {
            "steps": self.steps != slice(None),
            "variables": self.variables is not None,
            "box": self.box is not None,
            "coarsen": self.coarsen != (1, 1, 1),
            "precision": self.precision is not None,
        }
        return [name for name, wanted in chosen.items() if wanted]

    def described(self) -> dict[str, Any]:
        """The choices as JSON values."""
        box = None if self.box is None else [[one.start, one.stop] for one in self.box]
        return {
            "steps": [self.steps.start, self.steps.stop, self.steps.step],
            "variables": None if self.variables is None else list(self.variables),
            "box": box,
            "coarsen": list(self.coarsen),
            "precision": self.precision,
        }

    def positions(self, count: int) -> range:
        """The positions of the chosen steps of `count`. Raises InputError if no step is chosen."""
        if self.steps.step is not None and self.steps.step < 1:
            raise InputError(f"steps: every n-th step with n from 1 on (found {self.steps.step})")
        found = range(count)[self.steps]
        if not found:
            raise InputError(f"steps: the source has {count} steps, none of which is chosen")
        return found

    def chosen(self, step: Any) -> dict[str, Stored]:
        """The chosen variables of a step, as they are stored.

        The name of a vector stands for its components. Variables that are computed on reading must be named.
        """
        stored: dict[str, Stored] = dict(step.variables)
        if self.variables is None:
            return stored
        computed = step.derived
        names = dict.fromkeys(one for name in self.variables for one in _components(step, name, {**computed, **stored}))
        return {name: (computed | stored)[name] for name in names}

    def check_names(self, there: Collection[str], met: Collection[str]) -> None:
        """Check the chosen names.

        :param there: the variables of the chosen steps.
        :param met: the names that at least one of the steps has.
        :raises InputError: no step has one of the names.
        """
        for name in self.variables or ():
            if name not in met:
                near = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(there)) or 'none'}"
                raise InputError(f"variables: the chosen steps have no '{name}'; {hint}")

    @property
    def cuts(self) -> bool:
        """Whether fewer points are kept."""
        return self.box is not None or self.coarsen != (1, 1, 1)

    def cut(self, shape: Triple) -> Cut:
        """The points that are kept of an array of this shape. Raises InputError if the box does not lie inside it."""
        starts, counts = [], []
        for axis, n, part, stride in zip("xyz", shape, self.box or (slice(None),) * 3, self.coarsen, strict=True):
            first, last = part.start or 0, n if part.stop is None else part.stop
            if not 0 <= first < last <= n:
                raise InputError(
                    f"box: expected 0 <= begin < end <= {n} in {axis} (found {first}:{last}); the array has "
                    f"{' x '.join(map(str, shape))} points in x, y, z"
                )
            starts.append(first)
            counts.append(-(-(last - first) // stride))
        return Cut(triple(starts), triple(counts), self.coarsen)

    def grid(self, grid: UniformGrid) -> UniformGrid:
        """The places of the points that are kept."""
        if not self.cuts:
            return grid
        cut = self.cut(grid.points)
        ox, oy, oz = (o + s * h for o, s, h in zip(grid.origin, cut.start, grid.spacing, strict=True))
        hx, hy, hz = (h * n for h, n in zip(grid.spacing, cut.stride, strict=True))
        place: tuple[Any, Any, Any] = (cut.count, (ox, oy, oz), (hx, hy, hz))
        if not isinstance(grid, StretchedGrid):
            return UniformGrid(*place)
        along = zip(grid.uneven, cut.start, cut.count, cut.stride, strict=True)
        x, y, z = (tuple(one[s : s + (c - 1) * n + 1 : n]) for one, s, c, n in along)
        return StretchedGrid(*place, (x, y, z))

    def keeps_ends(self, shape: Triple, boundaries: tuple[str, ...]) -> bool:
        """Whether the kept points reach from one end of the box to the other, so that its boundaries stay true."""
        cut = self.cut(shape)
        whole = all(
            s == 0 and c == -(-n // step) for s, c, n, step in zip(cut.start, cut.count, shape, cut.stride, strict=True)
        )
        cells = (n if kind == "periodic" else n - 1 for n, kind in zip(shape, boundaries, strict=True))
        return whole and all(n % step == 0 for n, step in zip(cells, cut.stride, strict=True))

    def dtype(self, stored: str) -> str:
        """The type of a variable in the target."""
        return self.precision if self.precision is not None and np.dtype(stored).kind == "f" else stored

    def attributes(
        self, found: Mapping[str, Attribute], names: Collection[str], base: Triple | None
    ) -> dict[str, Attribute]:
        """The attributes of the source that stay true.

        :param names: names of all variables of the source that are left out.
        :param base: the number of points of its grid in x, y, z.
        """
        kept = {name: value for name, value in found.items() if name.partition("/")[0] not in names}
        if self.steps != slice(None):
            kept.pop("every", None)  # the interval of the writer, which need not hold for the chosen steps
        boundaries = tuple(str(kept.get("boundaries", "")).split(","))
        if self.cuts and (base is None or len(boundaries) != 3 or not self.keeps_ends(base, boundaries)):
            for name in ("lengths", "boundaries", "stretching", "beta"):
                kept.pop(name, None)
        return kept


def converted(stored: Stored, dtype: str, cut: Cut | None) -> Stored:
    """A variable of the target."""
    return Stored(dtype, stored.shape if cut is None else cut.count, stored.is_list)


def _is_of_whole_numbers(steps: object) -> bool:
    """Whether this is a slice, as users in Python may give something else."""
    if not isinstance(steps, slice):
        return False
    return all(one is None or isinstance(one, Integral) for one in (steps.start, steps.stop, steps.step))


def _components(step: Any, name: str, there: Collection[str]) -> list[str]:
    """The variable of that name, or the components of the vector of that name; empty if the step has neither."""
    if name in there:
        return [name]
    parts = step.vectors.get(name) or [f"{name}_{number}" for number in range(1, step.components(name) + 1)]
    return [one for one in parts if one in there]
