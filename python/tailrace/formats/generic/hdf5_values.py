"""Values of an HDF5 file of another program, which is open while they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import refuse_special
from tailrace.formats.hdf5_file import FAULTS, open_hdf5


def words_of(error: Exception) -> str:
    """What HDF5 says, on one line."""
    return " ".join(str(error).split())[:300]


def opened(path: str) -> h5py.File:
    """A file, to be read. Raises IoError."""
    refuse_special(path)
    try:
        return open_hdf5(path)
    except FAULTS as error:
        raise IoError(f"{path}: HDF5 says: {words_of(error)}") from None


class Hdf5Values:
    """The values of a file. It can be pickled, without being open.

    :param sources: of virtual datasets, the files of their values.
    """

    def __init__(self, path: str, sources: Mapping[str, Sequence[str]]) -> None:
        self.path, self._sources = path, dict(sources)
        self._file: h5py.File | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file."""
        return self.__dict__ | {"_file": None}

    def fetch(self, name: str, start: Sequence[int], values: NDArray[Any]) -> None:
        """Fill `values`, contiguous and of the stored type, from index `start` of a dataset.

        :raises IoError: it cannot be read, or has changed.
        """
        if self._file is None:
            self._file = opened(self.path)
        self._check_sources(name)
        try:
            data = self._file[name]
            same = isinstance(data, h5py.Dataset) and data.dtype == values.dtype and data.ndim == len(start)
            if not same or any(a + n > m for a, n, m in zip(start, values.shape, data.shape, strict=True)):
                raise IoError(f"{self.path}: '{name}' has changed since the file was opened")
            if values.size:
                region = tuple(slice(a, a + n) for a, n in zip(start, values.shape, strict=True))
                data.read_direct(values, region)
        except IoError:
            self.close()
            raise
        except FAULTS as error:
            self.close()
            raise IoError(f"{self.path}: '{name}' cannot be read: HDF5 says: {words_of(error)}") from None

    def _check_sources(self, name: str) -> None:
        """Check that the files of a virtual dataset exist: HDF5 returns the fill value for missing ones."""
        for source in self._sources.get(name.strip("/"), ()):
            if not Path(source).is_file():
                self.close()
                raise IoError(f"{self.path}: '{name}' has values in '{source}', which is not there any more")

    def close(self) -> None:
        """Close the file; it may be opened again."""
        if self._file is not None:
            self._file.close()
            self._file = None
