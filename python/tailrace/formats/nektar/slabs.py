"""Parts of a file, read at their places."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_descriptor
from tailrace.formats.file_bytes import fill

PIECE = 4 << 20  # bytes of one read, if values are converted


class SlabFile:
    """A file that is opened once, at the first read; `bytes_read` counts the bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The descriptor of the open file. A file object of Python would warn if it is dropped before `close`."""
        if self._descriptor is None:
            self._descriptor = open_descriptor(self.path)
        return self._descriptor

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view`, of bytes, from byte `offset` of the file on. Raises IoError if the file ends before."""
        got = fill(self.descriptor, view, offset)
        self.bytes_read += got
        if got < len(view):
            raise IoError(
                f"{self.path}: ends at byte {offset + got}, expected values up to byte {offset + len(view)}: it has "
                "become shorter since it was opened"
            )

    def values(self, offset: int, count: int, dtype: str) -> NDArray[Any]:
        """`count` values of a type of NumPy from byte `offset` on."""
        out = np.empty(count, dtype)
        self.read_into(offset, out.view(np.uint8).data)
        return out

    def fill(self, offset: int, dtype: str, out: NDArray[Any]) -> None:
        """Fill `out`, of one dimension and contiguous, with values of a type from byte `offset` on, converted."""
        if out.dtype == np.dtype(dtype):
            self.read_into(offset, out.view(np.uint8).data)
            return
        size = np.dtype(dtype).itemsize
        for at in range(0, len(out), PIECE // size):
            part = out[at : at + PIECE // size]
            part[:] = self.values(offset + at * size, len(part), dtype)

    def close(self) -> None:
        """Close the file; reading opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "bytes_read": 0, "_descriptor": None}
