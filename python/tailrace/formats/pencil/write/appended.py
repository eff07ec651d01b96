"""An HDF5 file of numbered groups to which steps are added: averages and slices.

`last` is the number of the last complete group. It is set by a single small write when all values of a group are on
disk, so a group that is not complete does not count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError, IoError
from tailrace.files.regular import is_there, refuse_special
from tailrace.files.whole import publish
from tailrace.formats.contiguous_hdf5 import allocate
from tailrace.formats.flat_array import FlatArray
from tailrace.io.placement import Box, Stored
from tailrace.parallel import agree, on_root

from .target import PARTIAL

if TYPE_CHECKING:
    from mpi4py import MPI


class AppendedFile:
    """The file while steps are added. Collective, except `write` and `abandon`.

    :param first: number of the first group.
    :param flat: the directions that are averaged or cut, as "z": the datasets do not have them.
    """

    def __init__(self, path: Path, comm: MPI.Comm, first: int, flat: str) -> None:
        self._flat = flat
        self.path, self._comm, self._first = path, comm, first
        self._partial = path.with_name(path.name + PARTIAL)
        self._file: int | None = None
        self._begun = False  # this writer has completed a group
        self._number = first
        self._last = 0  # offset of the value `last` in the file
        self._arrays: dict[str, FlatArray] = {}

    def begin(
        self, time: float, variables: Mapping[str, Stored], names: Mapping[str, str], put: Callable[[h5py.Group], None]
    ) -> None:
        """Add a group.

        :param names: name of a variable -> name of its dataset.
        :param put: writes the small values of the group.
        :raises InputError: the file has later steps already.
        :raises IoError: the file is of another kind or damaged.
        """

        def make() -> tuple[Path, int, int, dict[str, int]]:
            path = self.path if is_there(self.path) else self._partial
            if path == self.path:
                refuse_special(path)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                with h5py.File(path, "x", libver=("earliest", "latest")) as file:
                    allocate(file, "last", (1,), "<i4")
                    file["last"][...] = self._first - 1
            with h5py.File(path, "r+", libver=("earliest", "latest")) as file:
                number = self._next(file, time)
                if str(number) in file:
                    del file[str(number)]
                group = file.create_group(str(number))
                for name, stored in variables.items():
                    along = zip("zyx", reversed(stored.shape), strict=True)
                    shape = tuple(n for axis, n in along if n > 1 or axis not in self._flat) or (1,)
                    allocate(group, names[name], shape, np.dtype(stored.dtype).newbyteorder("<").str)
                put(group)
                places = {name: group[names[name]].id.get_offset() for name in variables}
                return path, number, file["last"].id.get_offset(), places

        path, self._number, self._last, places = on_root(self._comm, make)
        self._arrays = {
            name: FlatArray(path, places[name], stored.shape, np.dtype(stored.dtype).newbyteorder("<").str)
            for name, stored in variables.items()
        }
        self._file = agree(self._comm, lambda: os.open(path, os.O_WRONLY | os.O_CLOEXEC))

    def _next(self, file: h5py.File, time: float) -> int:
        last = file.get("last")
        if not isinstance(last, h5py.Dataset) or last.shape != (1,) or last.dtype != np.dtype("<i4"):
            raise IoError(f"{self.path}: has no number 'last' as averages and slices have; it is another file")
        number = int(last[0]) + 1
        if number > self._first:
            before = file.get(f"{number - 1}/time")
            if not isinstance(before, h5py.Dataset) or before.shape != ():
                raise IoError(f"{self.path}: has no {number - 1}/time, which 'last' says is there; it is damaged")
            if not time > float(before[()]):
                raise InputError(
                    f"{self.path}: has the time {float(before[()]):.17g} already; a step of time {time:.17g} cannot be "
                    "added behind it. Nothing is replaced: move the file away, or choose another target"
                )
        return number

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """Write a box of a variable. Local."""
        assert self._file is not None
        self._arrays[name].write(self._file, box, values)

    def finish(self) -> None:
        """Complete the group."""
        file, self._file = self._file, None
        assert file is not None

        def sync() -> None:
            try:
                os.fsync(file)
            except OSError:
                os.close(file)
                raise

        agree(self._comm, sync)

        def count() -> None:
            try:
                if self._comm.rank == 0:
                    os.pwrite(file, np.array([self._number], "<i4").tobytes(), self._last)
                    os.fsync(file)
            finally:
                os.close(file)

        agree(self._comm, count)
        if next(iter(self._arrays.values())).path == self._partial:
            on_root(self._comm, lambda: publish(self._partial, self.path))

    def abandon(self) -> None:
        """Abandon the open group: it does not count, and the next one replaces it. Local."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._comm.rank == 0:
            self._partial.unlink(missing_ok=True)
