"""A snapshot in an HDF5 file of the Pencil Code. All is local."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import Error, IoError
from tailrace.files.regular import open_regular, refuse_special
from tailrace.io.placement import Box, Stored, Triple, triple
from tailrace.io.values import Scalar

from ..run.dim import Dim
from ..run.found import Source
from .persist import as_scalars

if TYPE_CHECKING:
    import h5py

_MOST_CHUNK = 64 << 20  # bytes
_MOST_VALUES = 1 << 20  # of a persistent variable


def is_hdf5(path: Path) -> bool:
    """Whether a file begins as HDF5 files do."""
    try:
        with open_regular(path, "rb") as file:
            return bool(file.read(8) == b"\x89HDF\r\n\x1a\n")
    except OSError:
        return False


class Hdf5Snapshot:
    """The fields are the datasets of its group `data`.

    :param dim: of the run; they are the sizes that the file itself tells, too.
    :raises IoError: the file is damaged, or has no time.
    """

    kind = "io_hdf5"

    def __init__(self, source: Source, dim: Dim) -> None:
        self.source, self._dim = source, dim
        with open_hdf5(source.path) as file:
            time = _plain(file, "time")
            if time is None or time.size != 1 or time.dtype.kind != "f":
                raise IoError(f"{source.path}: has no dataset 'time' of one real number")
            self.time = float(np.asarray(time[()]).reshape(-1)[0])
            if not np.isfinite(self.time):
                raise IoError(f"{source.path}: its time is {self.time}: the file is damaged")
            self._stored = self._fields(file)
            self.is_sheared = "persist/shear_delta_y" in file  # what is deltay in files of records

    def _fields(self, file: h5py.File) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in file["data"]:
            data = _plain(file, f"data/{name}")
            # The Fortran order x, y, z is the order z, y, x of HDF5.
            if data is None or data.shape != self._dim.held[::-1] or data.dtype.name not in _REAL:
                what = f"{data.shape} of {data.dtype}" if hasattr(data, "dtype") else "no array"
                raise IoError(
                    f"{self.source.path}: its data/{name} is {what}; expected {self._dim.held[::-1]} (z, y, x, with "
                    f"ghost zones) of float32 or float64 in the file itself, as its settings say"
                )
            found[str(name)] = _REAL[data.dtype.name]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fields."""
        return tuple(self._stored)

    def variables(self) -> dict[str, Stored]:
        """The fields, with ghost zones."""
        return {name: Stored(dtype, self._dim.held, False) for name, dtype in self._stored.items()}

    def scalars(self) -> dict[str, Scalar]:
        """The persistent variables."""
        found = {}
        with open_hdf5(self.source.path) as file:
            for name in file.get("persist", ()):
                data = _plain(file, f"persist/{name}")
                if data is None or data.dtype.kind not in "if" or data.size > _MOST_VALUES:
                    raise IoError(f"{self.source.path}: its persist/{name} is no list of numbers")
                found[str(name)] = np.asarray(data[()]).reshape(-1)
        return as_scalars(found)

    def iteration(self) -> int | None:
        """The number of its time step, where it is stored."""
        with open_hdf5(self.source.path) as file:
            data = _plain(file, "persist/iteration_number")
            return int(np.asarray(data[()]).reshape(-1)[0]) if data is not None and 0 < data.size < 1 << 20 else None

    def read(self, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a field; the box counts the ghost zones too."""
        if 0 in box.count:
            return
        x, y, z = (slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
        with open_hdf5(self.source.path) as file:
            data = _plain(file, f"data/{name}")
            if data is None or data.shape != self._dim.held[::-1]:
                raise IoError(f"{self.source.path}: its data/{name} has changed since it was opened")
            data.read_direct(out, (z, y, x))

    def check(self) -> list[str]:
        """Damage in what describes it."""
        try:
            with open_hdf5(self.source.path) as file:
                self._fields(file)
            self.scalars()
        except IoError as error:
            return [str(error)]
        return []


_REAL = {"float32": "float32", "float64": "float64", ">f4": "float32", ">f8": "float64"}


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """A file, open to read.

    :raises IoError: it is gone, or damaged as far as it is read.
    """
    from tailrace.formats import hdf5_file

    try:
        refuse_special(path)
        with hdf5_file.open_hdf5(path) as file:
            yield file
    except Error:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:  # h5py has no exception of its own
        raise IoError(f"{path}: cannot be read as HDF5: {error}") from None


def _plain(file: h5py.File, name: str) -> Any:
    """An array that lies in the file itself, else None: a link out of it could name any file."""
    import h5py

    data = file.get(name)
    if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual or data.file != file:
        return None
    refuse_large_chunks(data)
    return data if data.dtype.kind in "ifSO" else None


def refuse_large_chunks(data: h5py.Dataset) -> None:
    """Check that a dataset can be read in pieces: the library takes the memory of a whole chunk for any value of it.

    :raises IoError: its chunks are too large.
    """
    size = math.prod(data.chunks or (0,)) * data.dtype.itemsize
    if size > _MOST_CHUNK:
        raise IoError(
            f"{data.file.filename}: its {data.name} has chunks of {data.chunks}, {size} bytes each; expected at most "
            f"{_MOST_CHUNK} bytes, as any part of it needs the memory of a whole chunk. The Pencil Code writes no "
            "chunks; h5repack makes smaller ones"
        )


def dim_of_hdf5(path: Path) -> Dim | None:
    """The sizes in a file's group `settings`; None where it is no snapshot of the Pencil Code.

    :raises IoError: it has the groups of one with values that cannot be.
    """
    import h5py

    with open_hdf5(path) as file:
        if file.get("data", getclass=True) is not h5py.Group:
            return None
        if file.get("settings", getclass=True) is not h5py.Group:
            return None
        held = triple(_setting(file, path, f"m{axis}") for axis in "xyz")
        points = triple(_setting(file, path, f"n{axis}") for axis in "xyz")
        ghosts: Triple = triple((m - n) // 2 for m, n in zip(held, points, strict=True))
        if (
            min(points) < 1
            or max(held) > 1 << 24
            or any(m != n + 2 * g or g < 0 for m, n, g in zip(held, points, ghosts, strict=True))
        ):
            raise IoError(f"{path}: its settings say {points} points, {held} with ghost zones: that cannot be")
        processes = triple(_setting(file, path, f"nproc{axis}", 1) for axis in "xyz")
        if not all(1 <= p <= n for p, n in zip(processes, points, strict=True)):
            raise IoError(f"{path}: its settings say {processes} processes for {points} points: that cannot be")
        counts = [_setting(file, path, name, 0) for name in ("mvar", "maux", "mglobal")]
        precision = _plain(file, "settings/precision")
        word = np.asarray(precision[()]).reshape(-1)[0] if precision is not None and precision.size == 1 else b"D"
    letter = "S" if bytes(word if isinstance(word, bytes) else str(word).encode()).strip() == b"S" else "D"
    return Dim(points, ghosts, counts[0], counts[1], counts[2], letter, processes)


def _setting(file: h5py.File, path: Path, name: str, default: int | None = None) -> int:
    data = _plain(file, f"settings/{name}")
    if data is None and default is not None:
        return default
    if data is None or data.size != 1 or data.dtype.kind != "i":
        raise IoError(f"{path}: its settings/{name} must be one whole number")
    return int(np.asarray(data[()]).reshape(-1)[0])
