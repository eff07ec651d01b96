"""Whole HDF5 files of a step: snapshots with ghost zones, particles, stalkers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
from numpy.typing import NDArray

from tailrace.files.whole import publish, refuse_existing
from tailrace.formats.contiguous_hdf5 import ContiguousHdf5
from tailrace.grids import Triple, triple
from tailrace.io.placement import Box
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

PARTIAL = ".tailrace-partial"  # end of the name of a file until it is complete


class WholeFile:
    """A file that gets its name when it is complete. Collective, except `write` and `abandon`.

    :param layout: makes all of it on rank 0, see `ContiguousHdf5`.
    :param large: name of a variable -> name of its dataset, which `write` fills.
    :param ghosts: layers of ghost zones of the datasets on each side that `write` fills periodically: x, y, z.
    :param points: points of the variables, x, y, z; unused without ghost zones.
    :raises InputError: the file exists.
    """

    def __init__(
        self,
        path: Path,
        comm: MPI.Comm,
        layout: Callable[[h5py.File], None],
        large: Mapping[str, str],
        ghosts: Triple = (0, 0, 0),
        points: Triple = (0, 0, 0),
    ) -> None:
        self.path, self._comm, self._large, self._ghosts, self._points = path, comm, dict(large), ghosts, points
        self._partial = path.with_name(path.name + PARTIAL)
        on_root(comm, self._make_place)
        self._file = ContiguousHdf5(self._partial, comm, layout, tuple(self._large.values()))

    def _make_place(self) -> None:
        refuse_existing(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._partial.unlink(missing_ok=True)  # of a conversion that was killed: nobody else has such names

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """Write a box of a variable, also to the ghost zones that repeat it. Local."""
        if self._ghosts == (0, 0, 0):
            self._file.write(self._large[name], box, values)
            return
        for start, part in repeats(box, self._points, self._ghosts):
            (x, y, z), (nx, ny, nz) = part
            inner = values[z : z + nz, y : y + ny, x : x + nx]
            self._file.write(self._large[name], Box(start, part.count), inner)

    def finish(self) -> None:
        """Give the file its name."""
        self._file.close()
        on_root(self._comm, lambda: publish(self._partial, self.path))

    def abandon(self) -> None:
        """Remove the file. Local."""
        self._file.abandon()
        if self._comm.rank == 0:
            self._partial.unlink(missing_ok=True)


def repeats(box: Box, points: Triple, ghosts: Triple) -> Iterator[tuple[Triple, Box]]:
    """The places of a box of a periodic array in the same array with ghost zones.

    :returns: for each place, its first point in the array with ghost zones, and the part of the box.
    """
    in_each = [
        list(_repeats(start, count, n, width))
        for start, count, n, width in zip(box.start, box.count, points, ghosts, strict=True)
    ]
    for place in itertools.product(*in_each):
        yield (
            triple(target for target, _, _ in place),
            Box(triple(first for _, first, _ in place), triple(count for _, _, count in place)),
        )


def _repeats(start: int, count: int, points: int, width: int) -> Iterator[tuple[int, int, int]]:
    """(first in the target, first in the box, count) in one direction."""
    turns = -(-width // points)
    for turn in range(-turns, turns + 1):
        low = max(start + turn * points, -width)
        high = min(start + count + turn * points, points + width)
        if low < high:
            yield low + width, low - turn * points - start, high - low
