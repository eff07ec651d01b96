"""The bytes of a file."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.files.regular import open_regular

HDF5 = b"\x89HDF\r\n\x1a\n"  # how HDF5 files begin


def head(path: str | Path, count: int) -> bytes:
    """The first bytes of a file. Raises OSError if it cannot be read."""
    with open_regular(path, "rb", buffering=0) as file:
        return bytes(file.read(count))


def peek(path: str | Path, count: int) -> bytes:
    """The first bytes of a file; b"" if it cannot be read."""
    try:
        return head(path, count)
    except OSError:
        return b""


def is_hdf5(path: str | Path) -> bool:
    """Whether a file begins as HDF5 files do."""
    return peek(path, len(HDF5)) == HDF5


def fill(descriptor: int, view: memoryview, offset: int) -> int:
    """Fill `view`, of bytes, from byte `offset` of an open file; returns how many were read, fewer at its end."""
    done = 0
    while done < len(view):
        got = os.preadv(descriptor, [view[done:]], offset + done)
        if not got:
            break
        done += got
    return done
