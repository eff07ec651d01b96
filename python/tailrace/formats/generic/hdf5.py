"""HDF5 files of unknown programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from tailrace.core import IoError, is_foreign_file
from tailrace.files.regular import refuse_special
from tailrace.formats.file_bytes import HDF5, head
from tailrace.formats.hdf5_file import FAULTS, open_hdf5
from tailrace.io.values import Attribute, Scalar

from .decoding import DECODED
from .guess import Guess
from .hdf5_contents import contents_of
from .hdf5_steps import guess_steps
from .parts import ArrayPart, Names, PartsDataset, plain_name, scalars_of

_OF_HDF5 = (  # what it and netCDF store of dimensions
    "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates",
)  # fmt: skip
_PLACES = (0, 512, 1024, 2048)  # where a file of HDF5 may begin behind data of users


class Hdf5Dataset(PartsDataset):
    """Arrays of an HDF5 file, and steps by the usual conventions. `path`: the file."""

    format = "hdf5-other"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._file: h5py.File | None = None
        self.files = [path]
        with self._open() as file:
            try:
                contents = contents_of(file, Path(path))
                guess = guess_steps(file, contents)
            except IoError:
                raise
            except FAULTS as error:
                raise IoError(f"{path}: HDF5 says: {_words(error)}") from None
        self._sources = contents.sources
        self.files += sorted({one for sources in contents.sources.values() for one in sources} - {path})
        self.attributes = _attributes(contents.attributes, guess)
        self.grid, self.places, self.timed = guess.grid, guess.places, guess.timed
        self._take(guess)
        notes = [guess.note, *guess.notes, *contents.notes, *(note for step in guess.steps for note in step.made.notes)]
        self.notes = list(dict.fromkeys(notes))

    def _take(self, guess: Guess) -> None:
        self.steps = [(step.index, step.time) for step in guess.steps]
        self._groups = [step.group for step in guess.steps]
        self._scalars = [scalars_of((step.index, step.time), step.scalars) for step in guess.steps]
        self._set_layouts([step.made.layout() for step in guess.steps])

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file."""
        return self.__dict__ | {"_file": None}

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        return self._scalars[position]

    def close(self) -> None:
        """See `Dataset`."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> h5py.File:
        refuse_special(self.path)
        try:
            return open_hdf5(self.path)
        except FAULTS as error:
            raise IoError(f"{self.path}: HDF5 says: {_words(error)}") from None

    def _fetch(self, position: int, part: ArrayPart, start: list[int], values: NDArray[Any]) -> None:
        if self._file is None:
            self._file = self._open()
        name = part.source if part.source.startswith("/") else f"{self._groups[position]}/{part.source}"
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
            raise IoError(f"{self.path}: '{name}' cannot be read: HDF5 says: {_words(error)}") from None

    def _check_sources(self, name: str) -> None:
        """Check that the files of a virtual dataset exist: HDF5 returns the fill value for missing ones."""
        for source in self._sources.get(name.strip("/"), ()):
            if not Path(source).is_file():
                self.close()
                raise IoError(f"{self.path}: '{name}' has values in '{source}', which is not there any more")


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _attributes(known: dict[str, dict[str, Attribute]], guess: Guess) -> dict[str, Attribute]:
    """The attributes of the file under their names; those of arrays of the first step as variable/attribute."""
    names = Names()
    result = {names.once(plain_name(name)): value for name, value in known.get("", {}).items()}
    for step in guess.steps[:1]:
        for name, part in step.made.parts.items():
            whole = part.source if part.source.startswith("/") else f"{step.group}/{part.source}"
            for attribute, value in known.get(whole.strip("/"), {}).items():
                if attribute not in _OF_HDF5 and not (part.decoding and attribute in DECODED):
                    result[names.once(f"{name}/{plain_name(attribute)}")] = value
    for attribute, value in known.get(guess.times, {}).items() if guess.times else ():
        if attribute not in _OF_HDF5:
            result[names.once(f"time/{plain_name(attribute)}")] = value
    return result


def dataset_at(path: Path) -> Hdf5Dataset | None:
    """The dataset of a file; None if it is not HDF5, or is a series of ours. Raises IoError if it is damaged."""
    if not path.is_file():
        return None
    start = head(path, _PLACES[-1] + len(HDF5))
    if not any(start.startswith(HDF5, at) for at in _PLACES):
        return None
    if start.startswith(HDF5) and not is_foreign_file(str(path)):
        return None
    return Hdf5Dataset(str(path))
