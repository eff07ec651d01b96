"""What the dimensions of an HDF5 dataset are, by their labels and the scales that are attached to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py

from tailrace.formats.hdf5_file import FAULTS
from tailrace.grids import Triple, triple

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


def dimensions_of(data: h5py.Dataset) -> tuple[Dimension, ...]:
    """The dimensions of a dataset; () if the file says nothing of them."""
    if "DIMENSION_LIST" not in data.attrs and "DIMENSION_LABELS" not in data.attrs:
        return ()
    return tuple(_dimension(data.dims[d]) for d in range(data.ndim))


def _dimension(one: Any) -> Dimension:
    try:
        label = str(one.label)
    except FAULTS:
        label = ""
    try:
        scales = tuple(str(scale.name).strip("/") for scale in one.values() if scale.name)
    except FAULTS:
        scales = ()
    return Dimension(label, scales)


def axes_of(dimensions: tuple[Dimension, ...], shape: tuple[int, ...], time: int = -1) -> Triple | None:
    """The dimensions along x, y and z, by their names; -1: there is none.

    Dimensions without a name are components. None: the names do not say which is which.

    :param time: the dimension of the time, which is none of them.
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
