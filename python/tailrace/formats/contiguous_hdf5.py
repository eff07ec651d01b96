"""A new HDF5 file of contiguous datasets that several ranks fill without parallel HDF5.

Rank 0 makes the file with all its groups and attributes and allocates the datasets; then every rank writes its parts of
the values to their places in the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.grids import triple
from tailrace.io.placement import Box
from tailrace.parallel import agree, on_root

from .flat_array import FlatArray

if TYPE_CHECKING:
    from mpi4py import MPI


class _Place(NamedTuple):
    """The place of the values of a dataset: first byte, type, and shape in the order of HDF5."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


def allocate(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: str) -> None:
    """Make a contiguous dataset whose place in the file is fixed and whose values are written later.

    :param shape: in the order of HDF5, the fastest index last.
    :param dtype: of NumPy, with its byte order.
    """
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_layout(h5py.h5d.CONTIGUOUS)
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    kind = h5py.h5t.py_create(np.dtype(dtype), logical=True)
    h5py.h5d.create(group.id, name.encode(), kind, h5py.h5s.create_simple(shape), how, lcpl=links)


class ContiguousHdf5:
    """The file while it is filled. Collective, except `write`.

    :param path: a new file; the caller has checked that it does not exist.
    :param layout: makes groups, attributes, small datasets with their values, and by `allocate` the large ones; called
        on rank 0.
    :param large: the names of the datasets that `write` fills.
    :raises OSError: the file cannot be made; on all ranks.
    """

    def __init__(self, path: Path, comm: MPI.Comm, layout: Callable[[h5py.File], None], large: tuple[str, ...]) -> None:
        self.path, self._comm = path, comm

        def make() -> dict[str, _Place]:
            with h5py.File(path, "x", libver=("earliest", "latest")) as file:
                layout(file)
                return {
                    name: _Place(file[name].id.get_offset(), file[name].dtype.str, file[name].shape) for name in large
                }

        self._places = on_root(comm, make)
        self._file = agree(comm, lambda: os.open(path, os.O_WRONLY | os.O_CLOEXEC))

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """Write this rank's box of a dataset (a list: rows are y, columns are x). Local.

        :param values: (nz, ny, nx), converted to the type of the dataset.
        """
        place = self._places[name]
        # With one index, values follow each other; with two, rows are y and columns x, as in lists.
        shape = {1: (1, *place.shape, 1), 2: (*reversed(place.shape), 1), 3: tuple(reversed(place.shape))}
        array = FlatArray(self.path, place.offset, triple(shape[len(place.shape)]), place.dtype)
        array.write(self._file, box, values)

    def close(self, sync: bool = True) -> None:
        """Finish the file; it is complete when this returns."""

        def finish() -> None:
            try:
                if sync:
                    os.fsync(self._file)
            finally:
                self.abandon()

        agree(self._comm, finish)

    def abandon(self) -> None:
        """Close this rank's part of a file that will not be finished; closing twice does nothing. Local."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
