"""What the dimensions of an HDF5 dataset are, by their labels and the scales that are attached to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5i, h5r, h5t
from numpy.typing import NDArray

from tailrace.formats.hdf5_file import FAULTS
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple

from .hdf5_attributes import value_at

# The first of them that a file has is the time.
TIMES = ("sim_time", "time", "Time", "TIME", "t", "TimeValue", "physical_time", "simulation_time")
_FEW = 9  # entries of a dimension of components: a tensor has so many
_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Dimension:
    """A dimension of an array.

    :param label: its name; "" if it has none.
    :param scales: the paths of the datasets that give its places.
    """

    label: str = ""
    scales: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What it may be called: its label, and the names of its scales."""
        return [name for name in (self.label, *(one.rsplit("/", 1)[-1] for one in self.scales)) if name]


def dimensions_of(data: h5d.DatasetID) -> tuple[Dimension, ...]:
    """The dimensions of a dataset; () if the file says nothing of them.

    The attributes are read as such: HDF5's own functions crash where they are of another type.
    """
    labels, scales = _labels(data), _scales(data)
    if not any(labels) and not any(scales):
        return ()
    return tuple(Dimension(label, names) for label, names in zip(labels, scales, strict=True))


def _labels(data: h5d.DatasetID) -> list[str]:
    try:
        if h5a.exists(data, b"DIMENSION_LABELS"):
            about = h5a.open(data, b"DIMENSION_LABELS")
            if about.shape == (data.rank,) and h5py.check_string_dtype(about.dtype) is not None:
                found = value_at(data, b"DIMENSION_LABELS")
                return [one.decode(errors="replace") if isinstance(one, bytes) else str(one or "") for one in found]
    except FAULTS:
        pass
    return [""] * data.rank


def _scales(data: h5d.DatasetID) -> list[tuple[str, ...]]:
    try:
        if h5a.exists(data, b"DIMENSION_LIST"):
            about = h5a.open(data, b"DIMENSION_LIST")
            dtype = about.dtype
            inner = h5py.check_vlen_dtype(dtype)
            if about.shape == (data.rank,) and inner is not None and h5py.check_ref_dtype(inner) is h5py.Reference:
                lists = np.empty(about.shape, dtype)
                about.read(lists, mtype=h5t.py_create(dtype))
                return [_names(data, references) for references in lists]
    except FAULTS:
        pass
    return [()] * data.rank


def _names(data: h5d.DatasetID, references: Any) -> tuple[str, ...]:
    """The paths of the datasets that references point to."""
    found = []
    for reference in references:
        try:
            scale = h5r.dereference(reference, data) if reference else None
            name = h5i.get_name(scale) if isinstance(scale, h5d.DatasetID) else None
        except FAULTS:
            continue
        if name:
            found.append(name.decode(errors="surrogateescape").strip("/"))
    return tuple(found)


def axes_of(dimensions: tuple[Dimension, ...], shape: tuple[int, ...], time: int = -1) -> Triple | None:
    """The dimensions along x, y and z, by their names; -1: the array has no such dimension.

    Dimensions without a name are components. None: the names do not say which is which.

    :param time: the dimension of the time, which is not x, y or z.
    """
    found: dict[int, int] = {}
    for d, one in enumerate(dimensions):
        if d == time:
            continue
        axis = next((_AXES[name.lower()] for name in one.names if name.lower() in _AXES), None)
        if axis in found or (axis is None and (one.names or shape[d] > _FEW)):
            return None
        if axis is not None:
            found[axis] = d
    return triple(found.get(axis, -1) for axis in range(3)) if found else None


def grid_of(along: list[NDArray[Any]]) -> UniformGrid | None:
    """A grid from the coordinates along x, y and z; None if they do not increase, or there are none."""
    rounding = [4 * np.finfo(one.dtype).eps if one.dtype.kind == "f" else 0.0 for one in along]  # as they are stored
    along = [np.asarray(one, float) for one in along]
    for values in along:
        if not len(values) or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            return None
    points = triple(len(values) for values in along)
    lows = [float(values[0]) for values in along]
    steps = [float((values[-1] - values[0]) / (len(values) - 1)) if len(values) > 1 else 1.0 for values in along]
    even = all(
        np.allclose(values, low + h * np.arange(len(values)), rtol=0, atol=1e-6 * h + part * np.abs(values).max())
        for values, low, h, part in zip(along, lows, steps, rounding, strict=True)
    )
    origin, spacing = (lows[0], lows[1], lows[2]), (steps[0], steps[1], steps[2])
    if even:
        return UniformGrid(points, origin, spacing)
    x, y, z = ([float(one) for one in values] for values in along)
    return StretchedGrid(points, origin, spacing, coordinates=(x, y, z))
