"""HDF5 files of the Pencil Code, and the numbers in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import Error, IoError
from tailrace.files.regular import refuse_special

if TYPE_CHECKING:
    import h5py

_MOST_CHUNK = 64 << 20  # bytes


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """A file, open to read. Raises IoError if it is gone, or the part that is read is damaged."""
    from tailrace.formats import hdf5_file

    try:
        refuse_special(path)
        with hdf5_file.open_hdf5(path) as file:
            yield file
    except Error:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:  # h5py has no exception of its own
        raise IoError(f"{path}: cannot be read as HDF5: {error}") from None


def has_group(file: h5py.File, name: str) -> bool:
    """Whether a file has a group of a name."""
    import h5py

    return file.get(name, getclass=True) is h5py.Group


def plain(file: h5py.File, name: str) -> Any:
    """A dataset whose values lie in the file itself; None for others, because a link could name any file.

    :raises IoError: its chunks are too large.
    """
    import h5py

    try:
        data = file.get(name)
    except (KeyError, OSError, RuntimeError):
        return None
    if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual or data.file != file:
        return None
    size = math.prod(data.chunks or (0,)) * data.dtype.itemsize
    if size > _MOST_CHUNK:  # the library takes the memory of a whole chunk for any value of it
        raise IoError(
            f"{file.filename}: its {data.name} has chunks of {data.chunks}, {size} bytes each; expected at most "
            f"{_MOST_CHUNK} bytes, as any part of it needs the memory of a whole chunk. The Pencil Code writes no "
            "chunks; h5repack makes smaller ones"
        )
    return data


def read_values(path: Path, name: str, shape: tuple[int, ...], region: tuple[slice, ...], out: NDArray[Any]) -> None:
    """Fill `out`, contiguous, with a region of a dataset of a shape.

    :raises IoError: the dataset has changed, or cannot be read.
    """
    with open_hdf5(path) as file:
        data = plain(file, name)
        if data is None or data.shape != shape:
            raise IoError(f"{path}: its {name} has changed since the file was opened; expected {shape}")
        try:
            data.read_direct(out, region)
        except (OSError, RuntimeError) as error:
            raise IoError(f"{path}: its {name} cannot be read: {error}") from None


def number(file: h5py.File, name: str, kind: str, default: int | None = None) -> Any:
    """A single number.

    :param kind: "i": whole, "f": real.
    :param default: the value if the file does not have it.
    :raises IoError: it is something else.
    """
    data = plain(file, name)
    if data is None and default is not None:
        return default
    if data is None or data.size != 1 or data.dtype.kind != kind:
        found = "none in the file itself" if data is None else f"{data.shape} of {data.dtype}"
        word = "whole" if kind == "i" else "real"
        raise IoError(f"{file.filename}: its {name} must be one {word} number; found {found}: it is damaged")
    return np.asarray(data[()]).reshape(-1)[0].item()


def time_of(file: h5py.File, name: str = "time") -> float:
    """A time. Raises IoError if it is missing, or no finite number."""
    time = float(number(file, name, "f"))
    if not np.isfinite(time):
        raise IoError(f"{file.filename}: its {name} is {time}, no finite number: the file is damaged")
    return time
