"""Datasets whose variables lie in files without structure."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.damage import errors_of
from tailrace.formats.flat_array import FlatArray
from tailrace.grids import Triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

_REALS = {8: "<f8", 4: "<f4"}
_VECTORS = {"B": ("B_x", "B_y", "B_z"), "J": ("J_x", "J_y", "J_z")}  # fields of magnetohydrodynamics
# Not "q": the critq of Xcompact3D (2025-08) is not the second invariant; its mean is not zero in a closed box.
_ALIASES = {"pressure": "pp", "vorticity": "vort"}


class FlatDataset(Dataset):
    """Steps of arrays in flat files; a derived class gives their places."""

    format = "xcompact3d"

    @abstractmethod
    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays of a step. Raises IoError if a file has the wrong size."""

    def array(self, position: int, name: str) -> FlatArray:
        """One array of a step."""
        return self.arrays(position)[name]

    def variables(self, position: int) -> dict[str, Stored]:
        """Types and shapes."""
        return {
            name: Stored(np.dtype(array.dtype).name, array.shape, False)
            for name, array in self.arrays(position).items()
        }

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """The fields of magnetohydrodynamics."""
        arrays = self.arrays(position)
        return {name: parts for name, parts in _VECTORS.items() if all(part in arrays for part in parts)}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable."""
        try:
            self.array(position, name).read(box, out)
        except IoError:
            raise
        except OSError as error:
            raise IoError(f"{self.path}: {name} cannot be read: {error}") from None

    def check(self, position: int) -> list[str]:
        """Sizes of the files."""
        return errors_of(lambda: self.arrays(position))


def known_aliases(steps: Iterable[Collection[str]]) -> dict[str, str]:
    """Our names for variables that a step has under another name."""
    names = set().union(*steps)
    return {ours: theirs for ours, theirs in _ALIASES.items() if theirs in names}


def entries(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    """The entries of a directory with such names, sorted; [] if it cannot be listed."""
    try:
        return sorted(entry for entry in directory.iterdir() if pattern.fullmatch(entry.name))
    except OSError:
        return []


def fitting(path: Path, shapes: list[Triple]) -> FlatArray:
    """The array that fills a file, with the first shape that fits its size as float64 or float32.

    :raises IoError: no shape fits.
    """
    size = size_of(path)
    for shape in shapes:
        for width, dtype in _REALS.items():
            if size == math.prod(shape) * width:
                return FlatArray(path, 0, shape, dtype)
    counts = [math.prod(shape) for shape in shapes]
    expected = "; or ".join(
        f"{count * 8} bytes (float64) or {count * 4} (float32) for {' x '.join(map(str, shape))} points"
        for count, shape in zip(counts, shapes, strict=True)
    )
    raise IoError(f"{path}: has {size} bytes; expected {expected}. It is cut off, or of another run")


def size_of(path: Path) -> int:
    """Bytes of a file. Raises IoError if it is gone."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
