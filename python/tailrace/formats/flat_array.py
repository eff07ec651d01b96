"""An array in a file without structure: boxes of it can be read."""

from __future__ import annotations

import bisect
import functools
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.grids import Triple
from tailrace.io.placement import Box

from .file_bytes import fill

_PIECE = 4 << 20  # bytes of one read, if a box is not contiguous in the file


@dataclass(frozen=True)
class FlatArray:
    """`shape` (x, y, z) values, x fastest, from byte `offset` of a file on.

    :param dtype: of NumPy, with its byte order: "<f8", ">f4".
    :param pieces: (offset in the file, bytes) of each part of a record that lies in several; `offset` then counts the
        bytes of the parts only, and a value may begin in one part and end in the next. Such arrays are read only.
    """

    path: Path
    offset: int
    shape: Triple
    dtype: str
    pieces: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + int(np.prod(self.shape, dtype=object)) * np.dtype(self.dtype).itemsize

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` (nz, ny, nx) with a box.

        If at least half of the values between the first and the last of a plane are wanted, they are read together,
        otherwise row by row.

        :param out: of any real type; the values are converted. It need not be contiguous.
        :raises IoError: the file is too short or gone.
        """
        (x, y, z), (nx, ny, nz) = box
        if 0 in (nx, ny, nz):
            return
        sx, sy, _ = self.shape
        size = np.dtype(self.dtype).itemsize
        with open_regular(self.path, "rb", buffering=0) as file:
            if nx * 2 < sx or sx * size > _PIECE:
                wide = max(1, _PIECE // size)
                for k, j, i in itertools.product(range(nz), range(ny), range(0, nx, wide)):
                    begin = self.offset + (((z + k) * sy + y + j) * sx + x + i) * size
                    out[k, j, i : i + wide] = self._values(file.fileno(), begin, min(wide, nx - i))
                return
            whole_planes = ny == sy
            rows = max(1, _PIECE // (sx * size))
            planes = max(1, rows // sy) if whole_planes else 1
            for k in range(0, nz, planes):
                deep = min(planes, nz - k)
                for j in range(0, ny, rows):
                    high = min(rows, ny - j)
                    begin = self.offset + ((z + k) * sy + y + j) * sx * size
                    values = self._values(file.fileno(), begin, deep * high * sx)
                    out[k : k + deep, j : j + high] = values.reshape(deep, high, sx)[:, :, x : x + nx]

    def write(self, file: int, box: Box, values: NDArray[Any]) -> None:
        """Write a box into an open file; whole rows, and whole planes, in one piece.

        :param file: the descriptor of the file, open to write.
        :param values: (nz, ny, nx) of any real type; they are converted.
        :raises OSError: the disk is full or gone.
        """
        (x, y, z), (nx, ny, nz) = box
        sx, sy, _ = self.shape
        size = np.dtype(self.dtype).itemsize
        rows = ny if nx == sx else 1
        planes = max(1, _PIECE // max(1, rows * nx * size)) if nx == sx and ny == sy else 1
        for k in range(0, nz, planes):
            for j in range(0, ny, rows):
                part = values[k : k + planes, j : j + rows]
                begin = self.offset + (((z + k) * sy + y + j) * sx + x) * size
                piece = np.ascontiguousarray(part, self.dtype).reshape(-1).view(np.uint8).data
                done = 0
                while done < len(piece):
                    done += os.pwrite(file, piece[done:], begin + done)

    def _values(self, file: int, begin: int, count: int) -> NDArray[Any]:
        values = np.empty(count, self.dtype)
        view = values.view(np.uint8).data
        done = 0
        for offset, size in self._spans(begin, len(view)):
            got = fill(file, view[done : done + size], offset)
            if got < size:
                reach = offset + size if self.pieces else self.end
                raise IoError(
                    f"{self.path}: ends at byte {offset + got}, where an array of {' x '.join(map(str, self.shape))} "
                    f"values of {np.dtype(self.dtype).itemsize} bytes must reach to byte {reach}: it is cut off"
                )
            done += size
        return values

    @functools.cached_property
    def _starts(self) -> list[int]:
        """The offset of each part in the joined bytes of all parts."""
        return [0, *itertools.accumulate(size for _, size in self.pieces)]

    def _spans(self, begin: int, count: int) -> Iterator[tuple[int, int]]:
        """(offset in the file, bytes) of the pieces of `count` joined bytes from `begin`."""
        if not self.pieces:
            yield begin, count
            return
        starts = self._starts
        while count > 0:
            at = bisect.bisect_right(starts, begin) - 1
            if at == len(self.pieces):
                raise IoError(f"{self.path}: its record has {starts[-1]} bytes; expected at least {self.end}")
            here = min(count, starts[at + 1] - begin)
            yield self.pieces[at][0] + begin - starts[at], here
            begin, count = begin + here, count - here
