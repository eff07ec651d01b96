"""Datasets whose variables lie in files without structure. All is local."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored, Triple, boxes_of

_REALS = {8: "<f8", 4: "<f4"}
_VECTORS = {"B": ("B_x", "B_y", "B_z"), "J": ("J_x", "J_y", "J_z")}  # of magnetohydrodynamics
_CHECKED_AT_ONCE = 1 << 20  # values
# Not "q": the critq of Xcompact3D (2025-08) is not the second invariant; its mean is not zero in a closed box.
ALIASES = {"pressure": "pp", "vorticity": "vort"}


class FlatDataset(Dataset):
    """Steps of arrays in flat files; a derived class says where they are."""

    format = "xcompact3d"

    @abstractmethod
    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays of a step.

        :raises IoError: a file has not the size that it must have.
        """

    def array(self, position: int, name: str) -> FlatArray:
        """One of them."""
        return self.arrays(position)[name]

    def variables(self, position: int) -> dict[str, Stored]:
        """Types and shapes."""
        return {
            name: Stored(np.dtype(array.dtype).name, array.shape, False)
            for name, array in self.arrays(position).items()
        }

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """The fields of magnetohydrodynamics."""
        there = self.arrays(position)
        return {name: parts for name, parts in _VECTORS.items() if all(part in there for part in parts)}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable."""
        try:
            self.array(position, name).read(box, out)
        except IoError:
            raise
        except OSError as error:
            raise IoError(f"{self.path}: {name} cannot be read: {error}") from None

    def check(self, position: int) -> list[str]:
        """Sizes of the files, and values that are not finite."""
        found = []
        try:
            arrays = self.arrays(position)
        except IoError as error:
            return [str(error)]
        for name, array in arrays.items():
            try:
                bad = _not_finite(array)
            except (OSError, IoError) as error:
                found.append(str(error))
                continue
            if bad:
                found.append(f"{array.path}: {bad} values of {name} are not finite")
        return found


def _not_finite(array: FlatArray) -> int:
    bad = 0
    for box in boxes_of(array.shape, _CHECKED_AT_ONCE):
        values = np.empty(box.count[::-1], np.dtype(array.dtype).newbyteorder("="))
        array.read(box, values)
        bad += values.size - int(np.count_nonzero(np.isfinite(values)))
    return bad


def fitting(path: Path, shapes: list[Triple]) -> FlatArray:
    """The array that fills a file: of the first shape that fits with float64 or float32.

    :raises IoError: none does.
    """
    size = size_of(path)
    for shape in shapes:
        for width, dtype in _REALS.items():
            if size == int(np.prod(shape, dtype=object)) * width:
                return FlatArray(path, 0, shape, dtype)
    counts = [int(np.prod(shape, dtype=object)) for shape in shapes]
    expected = "; or ".join(
        f"{count * 8} bytes (float64) or {count * 4} (float32) for {' x '.join(map(str, shape))} points"
        for count, shape in zip(counts, shapes, strict=True)
    )
    raise IoError(f"{path}: has {size} bytes; expected {expected}. It is cut off, or of another run")


def size_of(path: Path) -> int:
    """Bytes of a file.

    :raises IoError: it is gone.
    """
    try:
        return path.stat().st_size
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
