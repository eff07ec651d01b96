"""The groups `grid`, `unit` and `settings` of the HDF5 files of the Pencil Code.

Whole numbers and texts are arrays of one value, real numbers are no arrays. Real numbers have the precision of the run,
but those of `unit` always have double precision. Nothing has an attribute, chunks or compression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import Triple, UniformGrid, triple
from tailrace.io.values import Attribute

GHOSTS = 3  # layers of ghost zones of the Pencil Code's scheme of sixth order
UNITS = ("density", "length", "velocity", "magnetic", "temperature", "mass", "energy", "time", "flux")
_COUNTS = ("mvar", "maux", "mglobal", "nprocx", "nprocy", "nprocz")


def put(group: h5py.Group, name: str, value: int | str | float | NDArray[Any], real: str = "f8") -> None:
    """Write a value as the Pencil Code writes it. `real`: the type of real numbers, "f4" or "f8"."""
    if isinstance(value, str):
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(h5py.h5t.VARIABLE)
        kind.set_strpad(h5py.h5t.STR_NULLPAD)
        h5py.Dataset(h5py.h5d.create(group.id, name.encode(), kind, h5py.h5s.create_simple((1,))))[...] = value
    elif isinstance(value, int | np.integer):
        group.create_dataset(name, data=np.array([value], "<i4"))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        group.create_dataset(name, data=value.astype("<i4"))
    else:
        group.create_dataset(name, data=np.asarray(value, f"<{real}"))


class PencilSettings:
    """The grid, the units and the sizes of a run: from the attributes of the source, else computed from its grid.

    :param attributes: attributes of the source; it may have "grid/dx_1", "unit/length", "settings/nprocx" and so on.
    :param grid: places of the points; None: they are numbered.
    :param points: x, y, z, without ghost zones.
    :param real: "f4" or "f8".
    :param fields: number of fields in a snapshot.
    """

    def __init__(
        self, attributes: Mapping[str, Attribute], grid: UniformGrid | None, points: Triple, real: str, fields: int
    ) -> None:
        self.points, self.real, self.ghosts = points, real, GHOSTS
        self._given = attributes if is_of(attributes, points) else _without_grid(attributes, grid)
        self.grid = self._grid(grid or UniformGrid(points))
        self.unit = {name: self._real(f"unit/{name}", 1.0) for name in UNITS}
        counts = {name: self._whole(f"settings/{name}", 0 if name.startswith("m") else 1) for name in _COUNTS}
        mvar, maux, mglobal = (counts[name] for name in ("mvar", "maux", "mglobal"))
        # The code writes the numbers of the run, also where a snapshot is without what is not integrated in time.
        if fields not in (mvar, mvar + maux, mvar + mglobal, mvar + maux + mglobal) and fields:
            counts |= {"mvar": fields, "maux": 0, "mglobal": 0}
        processes = ("nprocx", "nprocy", "nprocz")
        if any(not counts[name] or n % counts[name] for name, n in zip(processes, points, strict=True)):
            counts |= dict.fromkeys(processes, 1)  # those of the source divide its whole box, not this part of it
        self.counts = counts

    def write(self, file: h5py.File) -> None:
        """Write the three groups into a new file."""
        group = file.create_group("grid")
        for name, value in self.grid.items():
            put(group, name, value, self.real)
        group = file.create_group("unit")
        put(group, "system", str(self._given.get("unit/system", "cgs")))
        for name, value in self.unit.items():
            put(group, name, value)
        group = file.create_group("settings")
        held = [n + 2 * self.ghosts for n in self.points]
        sizes = {f"m{axis}": m for axis, m in zip("xyz", held, strict=True)}
        sizes |= {f"n{axis}": n for axis, n in zip("xyz", self.points, strict=True)}
        sizes |= {f"{letter}1": self.ghosts for letter in "lmn"}
        sizes |= {f"{letter}2": m - self.ghosts - 1 for letter, m in zip("lmn", held, strict=True)}
        for name, size in {**sizes, "nghost": self.ghosts, **self.counts}.items():
            put(group, name, size)
        put(group, "precision", "S" if self.real == "f4" else "D")
        put(group, "version", 0)

    def _grid(self, grid: UniformGrid) -> dict[str, float | NDArray[Any]]:
        places: dict[str, NDArray[Any]] = {}
        steps: dict[str, float] = {}
        lengths: dict[str, float] = {}
        corners: dict[str, float] = {}
        inverse: dict[str, NDArray[Any]] = {}
        second: dict[str, NDArray[Any]] = {}
        for at, axis in enumerate("xyz"):
            x = self._with_ghosts(grid, at)
            slope = np.gradient(x) if len(x) > 1 else np.ones(1)
            even = not grid.uneven[at]
            curvature = np.zeros(len(x)) if even else np.gradient(slope)
            if even:
                slope = np.full(len(x), grid.spacing[at])
            places[axis] = self._list(f"grid/{axis}", x)
            inverse[f"d{axis}_1"] = self._list(f"grid/d{axis}_1", 1 / slope)
            second[f"d{axis}_tilde"] = self._list(f"grid/d{axis}_tilde", -curvature / slope**2)
            steps[f"d{axis}"] = self._real(f"grid/d{axis}", float(grid.spacing[at]))
            lengths[f"L{axis}"] = self._real(f"grid/L{axis}", self._length(grid, at))
            corners[f"O{axis}"] = self._real(f"grid/O{axis}", float(x[self.ghosts]))
        return {**places, **steps, **lengths, **corners, **inverse, **second}

    def _with_ghosts(self, grid: UniformGrid, at: int) -> NDArray[Any]:
        count, width = self.points[at], self.ghosts
        if not grid.uneven[at]:
            return grid.origin[at] + np.arange(-width, count + width) * grid.spacing[at]
        inner = grid.coordinates[at]
        if "xyz"[at] in grid.periodic:
            turns, places = np.divmod(np.arange(-width, count + width), count)
            return inner[places] + turns * self._length(grid, at)
        first, last = (inner[1] - inner[0], inner[-1] - inner[-2]) if count > 1 else (1.0, 1.0)
        low = inner[0] + np.arange(-width, 0) * first
        return np.concatenate([low, inner, inner[-1] + np.arange(1, width + 1) * last])

    def _length(self, grid: UniformGrid, at: int) -> float:
        lengths = self._given.get("lengths")
        if not isinstance(lengths, str | int | float | None) and len(lengths) == 3:
            return float(lengths[at])
        return float(grid.lengths[at] if grid.lengths else self.points[at] * grid.spacing[at])

    def _list(self, name: str, otherwise: NDArray[Any]) -> NDArray[Any]:
        value = self._given.get(name)
        if value is None or isinstance(value, str | int | float) or len(value) != len(otherwise):
            return otherwise
        return np.asarray(value, "f8")

    def _real(self, name: str, otherwise: float) -> float:
        value = self._given.get(name, otherwise)
        return float(value) if isinstance(value, int | float) else otherwise

    def _whole(self, name: str, otherwise: int) -> int:
        value = self._given.get(name, otherwise)
        return value if isinstance(value, int) and 0 <= value < 1 << 31 else otherwise


def is_of(attributes: Mapping[str, Attribute], points: Triple) -> bool:
    """Whether the coordinates in the attributes belong to these points, and not to a larger box."""
    return all(
        isinstance(along := attributes.get(f"grid/{axis}"), Sequence)
        and not isinstance(along, str)
        and len(along) == n + 2 * GHOSTS
        for axis, n in zip("xyz", points, strict=True)
    )


def _without_grid(attributes: Mapping[str, Attribute], grid: UniformGrid | None) -> dict[str, Attribute]:
    part = grid is not None and grid.boundaries is None  # then the lengths are those of more than this box
    return {
        name: value
        for name, value in attributes.items()
        if not name.startswith("grid/") and not (part and name == "lengths")
    }


def points_of(attributes: Mapping[str, Attribute]) -> Triple | None:
    """The points of the run of a source, without ghost zones; None if it does not have them."""
    counts = [len(a) if isinstance(a := attributes.get(f"grid/{axis}"), Sequence) else 0 for axis in "xyz"]
    return triple(n - 2 * GHOSTS for n in counts) if min(counts) > 2 * GHOSTS else None


def real_type(dtypes: list[str], what: str) -> str:
    """The type of real numbers of a run, "f4" or "f8": that of the widest variable.

    :raises InputError: a variable is not real.
    """
    wrong = next((dtype for dtype in dtypes if dtype not in ("float32", "float64")), None)
    if wrong is not None:
        raise InputError(f"{what}: the Pencil Code has only real fields; found one of {wrong}")
    return "f8" if "float64" in dtypes else "f4"
