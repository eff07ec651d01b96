"""HDF5 files of unknown programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from tailrace.core import IoError, is_foreign_file
from tailrace.formats.file_bytes import HDF5, head
from tailrace.formats.hdf5_file import FAULTS
from tailrace.io.dataset import Dataset
from tailrace.io.values import Scalar

from . import blocks
from .guess import Guess, attributes_of_guess
from .hdf5_contents import contents_of
from .hdf5_steps import guess_steps
from .hdf5_values import Hdf5Values, opened, words_of
from .parts import ArrayPart, PartsDataset, scalars_of

_PLACES = (0, 512, 1024, 2048)  # where a file of HDF5 may begin behind data of users


class Hdf5Dataset(PartsDataset):
    """Arrays of an HDF5 file, and steps by the usual conventions.

    :param file: the same, open; needed here only.
    """

    format = "hdf5-other"

    def __init__(self, path: str, file: h5py.File) -> None:
        super().__init__(path)
        self.files = [path]
        try:
            contents = contents_of(file, Path(path))
            guess = guess_steps(file, contents)
        except IoError:
            raise
        except FAULTS as error:
            raise IoError(f"{path}: HDF5 says: {words_of(error)}") from None
        self._values = Hdf5Values(path, contents.sources)
        self.files += sorted({one for sources in contents.sources.values() for one in sources} - {path})
        self.attributes = attributes_of_guess(contents.attributes, guess)
        self.grid, self.places, self.timed = guess.grid, guess.places, guess.timed
        self._take(guess)
        notes = [guess.note, *guess.notes, *contents.notes, *(note for step in guess.steps for note in step.made.notes)]
        self.notes = list(dict.fromkeys(notes))

    def _take(self, guess: Guess) -> None:
        self.steps = [(step.index, step.time) for step in guess.steps]
        self._groups = [step.group for step in guess.steps]
        self._scalars = [scalars_of((step.index, step.time), step.scalars, step.made.parts) for step in guess.steps]
        self._set_layouts([step.made.layout() for step in guess.steps])

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        return self._scalars[position]

    def close(self) -> None:
        """See `Dataset`."""
        self._values.close()

    def _fetch(self, position: int, part: ArrayPart, start: list[int], values: NDArray[Any]) -> None:
        name = part.source if part.source.startswith("/") else f"{self._groups[position]}/{part.source}"
        self._values.fetch(name, start, values)


def dataset_at(path: Path) -> Dataset | None:
    """The dataset of a file; None if it is not HDF5, or is a series of ours. Raises IoError if it is damaged."""
    if not path.is_file():
        return None
    start = head(path, _PLACES[-1] + len(HDF5))
    if not any(start.startswith(HDF5, at) for at in _PLACES):
        return None
    if start.startswith(HDF5) and not is_foreign_file(str(path)):
        return None
    with opened(str(path)) as file:
        return blocks.dataset_of(path, file) or Hdf5Dataset(str(path), file)
