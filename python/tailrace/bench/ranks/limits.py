"""The limits of writing and reading: plain copies, plain writes and plain reads of the same bytes.

Each rank has its own file. Direct transfers bypass the page cache, from memory that begins at a page.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.parallel import agree

from .series_io import Found
from .timing import Timing, Together

if TYPE_CHECKING:
    from mpi4py import MPI

_MOST = 1 << 30  # Linux moves at most 2 GiB per call
_PIECE = 2**18  # bytes of a read; the kernel reads ahead meanwhile. Cold 16 MiB in one call took twice as long
_PAGE = 4096


class PlainFile:
    """Files with the bytes of some arrays, one file per rank.

    :param directory: the directory of the files, on a file system of all ranks or of each node.
    """

    def __init__(self, comm: MPI.Comm, directory: Path, arrays: Sequence[NDArray[Any]]) -> None:
        self._comm = comm
        self._path = directory / f"plain.{comm.rank}"
        size = sum(array.nbytes for array in arrays)
        room = mmap.mmap(-1, max(_PAGE, -(-size // _PAGE) * _PAGE))  # begins at a page, as direct transfers need
        self._buffer = np.frombuffer(room, dtype=np.uint8)
        self._size = size
        at = 0
        for array in arrays:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._buffer[at : at + flat.size] = flat
            at += flat.size
        self._copy = np.ones_like(self._buffer)

    def copy(self) -> Timing:
        """Copy the bytes from memory to memory. Collective."""
        clock = Together(self._comm)
        clock.start()
        np.copyto(self._copy, self._buffer)
        clock.marks.end("copy")
        return clock.stop()

    def write(self, *, sync: bool, direct: bool = False) -> Timing:
        """Write a new file with pwrite, in calls of 1 GiB at most. Collective.

        :param direct: bypass the page cache (O_DIRECT); whole pages are written.
        :raises OSError: the disk is full, or the file system does not support direct writes; on all ranks.
        """
        agree(self._comm, lambda: self._path.unlink(missing_ok=True))
        clock = Together(self._comm)
        clock.start()
        agree(self._comm, lambda: self._write(clock, sync, direct))
        return clock.stop()

    def _write(self, clock: Together, sync: bool, direct: bool) -> None:
        data = (self._buffer if direct else self._buffer[: self._size]).data
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | (os.O_DIRECT if direct else 0), 0o666)
        clock.marks.end("open")
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(file, data[done : done + _MOST], done)
            clock.marks.end("write")
            if sync:
                os.fsync(file)
                clock.marks.end("sync")
        finally:
            os.close(file)
        clock.marks.end("close")

    def read(self) -> Found:
        """Read the file that was written last, and check the bytes on all ranks. Collective."""
        self._copy[:] = 0
        clock = Together(self._comm)
        clock.start()
        agree(self._comm, lambda: self._read(clock))
        timing = clock.stop()
        right = bool(np.array_equal(self._copy[: self._size], self._buffer[: self._size]))
        return Found(timing, all(self._comm.allgather(right)))

    def _read(self, clock: Together) -> None:
        data = self._copy[: self._size].data
        file = os.open(self._path, os.O_RDONLY)
        clock.marks.end("open")
        try:
            done = 0
            while done < len(data) and (got := os.preadv(file, [data[done : done + _PIECE]], done)):
                done += got
        finally:
            clock.marks.end("read")
            os.close(file)
        clock.marks.end("close")

    @property
    def path(self) -> Path:
        """The path of this rank's file."""
        return self._path

    def remove(self) -> None:
        """Remove this rank's file."""
        self._path.unlink(missing_ok=True)
