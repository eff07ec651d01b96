"""A snapshot in an HDF5 file of the Pencil Code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.damage import errors_of
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from ..files.hdf5 import open_hdf5, plain, read_values, time_of
from ..run.dimensions import Dimensions
from ..run.sources import SnapshotSource
from .persist import as_scalars

if TYPE_CHECKING:
    import h5py

_MOST_VALUES = 1 << 20  # of a persistent variable
_REAL = {"float32": "float32", "float64": "float64", ">f4": "float32", ">f8": "float64"}


class Hdf5Snapshot:
    """A snapshot whose fields are the datasets of the group `data`.

    :param dim: the sizes of the run, which the file itself has, too.
    :raises IoError: the file is damaged, or has no time.
    """

    kind = "io_hdf5"

    def __init__(self, source: SnapshotSource, dim: Dimensions) -> None:
        self.source, self._dim = source, dim
        with open_hdf5(source.path) as file:
            self.time = time_of(file)
            self._stored = self._fields(file)
            self.is_sheared = "persist/shear_delta_y" in file  # called deltay in files of records

    def _fields(self, file: h5py.File) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in file["data"]:
            data = plain(file, f"data/{name}")
            # The Fortran order x, y, z is the order z, y, x of HDF5.
            if data is None or data.shape != self._dim.held[::-1] or data.dtype.name not in _REAL:
                what = "no array" if data is None else f"{data.shape} of {data.dtype}"
                raise IoError(
                    f"{self.source.path}: its data/{name} is {what}; expected {self._dim.held[::-1]} (z, y, x, with "
                    f"ghost zones) of float32 or float64 in the file itself, as its settings say"
                )
            found[str(name)] = _REAL[data.dtype.name]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self._stored)

    def variables(self) -> dict[str, Stored]:
        """The fields, with ghost zones."""
        return {name: Stored(dtype, self._dim.held, False) for name, dtype in self._stored.items()}

    def scalars(self) -> dict[str, Scalar]:
        """The persistent variables."""
        found = {}
        with open_hdf5(self.source.path) as file:
            for name in file.get("persist", ()):
                data = plain(file, f"persist/{name}")
                if data is None or data.dtype.kind not in "if" or data.size > _MOST_VALUES:
                    raise IoError(f"{self.source.path}: its persist/{name} is no list of numbers")
                found[str(name)] = np.asarray(data[()]).reshape(-1)
        return as_scalars(found)

    def iteration(self) -> int | None:
        """The number of its time step, if it is stored."""
        with open_hdf5(self.source.path) as file:
            data = plain(file, "persist/iteration_number")
            return int(np.asarray(data[()]).reshape(-1)[0]) if data is not None and 0 < data.size < 1 << 20 else None

    def read(self, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a field; the box counts the ghost zones too."""
        if 0 in box.count:
            return
        x, y, z = (slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
        read_values(self.source.path, f"data/{name}", self._dim.held[::-1], (z, y, x), out)

    def check(self) -> list[str]:
        """Damage in its metadata."""

        def look() -> None:
            with open_hdf5(self.source.path) as file:
                self._fields(file)
            self.scalars()

        return errors_of(look)

    def files(self) -> Iterator[Path]:
        """Its file."""
        yield self.source.path
