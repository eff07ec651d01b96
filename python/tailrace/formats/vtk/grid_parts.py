"""The whole that the pieces of a step make: its grid, and arrays that lie in several files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.placement import Box

from .file import VtkPiece
from .values import EncodedArray

_MOST_BLOCKS = 1 << 26
Parts = tuple[tuple[Triple, EncodedArray], ...]  # the first point of each piece, and its values


@dataclass(frozen=True)
class JoinedArray:
    """A column of an array whose parts lie in pieces."""

    shape: Triple
    column: int
    parts: Parts

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values, as they are stored."""
        return np.dtype(self.parts[0][1].dtype)

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` (nz, ny, nx) with a box.

        :raises IoError: a file is damaged or gone.
        """
        for start, one in self.parts:
            low = [max(a, b) for a, b in zip(start, box.start, strict=True)]
            ends = zip(start, one.shape, box.start, box.count, strict=True)
            count = [max(0, min(s + n, a + m) - b) for b, (s, n, a, m) in zip(low, ends, strict=True)]
            if 0 in count:
                continue
            x, y, z = (slice(a - b, a - b + n) for a, b, n in zip(low, box.start, count, strict=True))
            inner = Box(triple(a - b for a, b in zip(low, start, strict=True)), triple(count))
            plain = one.form == "plain" and not one.compressor and one.columns == 1
            if plain:  # which reads no more of a file than it must
                at = one.begin + np.dtype(one.header).itemsize
                FlatArray(one.path, at, one.shape, one.dtype).read(inner, out[z, y, x])
            else:
                one.read(inner, self.column, out[z, y, x])


class GridParts:
    """The grid of all pieces.

    :raises IoError: they do not make one grid.
    """

    def __init__(self, path: Path, pieces: list[VtkPiece]) -> None:
        self._path, self._pieces = path, pieces
        starts = np.array([one.start for one in pieces])
        self._low = starts.min(axis=0)
        high = (starts + [one.shape for one in pieces]).max(axis=0)
        self.points = triple(high - self._low)
        self.cells = triple(max(1, n - 1) for n in self.points)
        self.notes: list[str] = []
        self._check_covered()
        self.grid = self._find_grid()

    def arrays(self, *, on_cells: bool) -> dict[str, tuple[int, Parts]]:
        """The arrays that all pieces have: name -> number of components, and the part of each piece."""
        known = [one.cells if on_cells else one.points for one in self._pieces]
        found = {}
        for name in dict.fromkeys(name for each in known for name in each):
            one = next(each[name] for each in known if name in each)
            same = [
                other[name]
                for other in known
                if name in other and (other[name].columns, other[name].dtype) == (one.columns, one.dtype)
            ]
            if len(same) == len(known):
                places = [triple(np.array(piece.start) - self._low) for piece in self._pieces]
                found[name] = one.columns, tuple(zip(places, same, strict=True))
            else:
                self.notes.append(f"{name!r} is not in all pieces, or of another type in some: it is left out")
        return found

    def _check_covered(self) -> None:
        """Check that the cells of the pieces, each in one of them, are those of the whole."""
        bounds = []
        for piece in self._pieces:
            low = np.array(piece.start) - self._low
            bounds.append((low, low + np.maximum(1, np.array(piece.shape) - 1)))
        edges = [np.unique([b[side][d] for b in bounds for side in (0, 1)]) for d in range(3)]
        sizes = [len(one) - 1 for one in edges]
        if math.prod(sizes) > _MOST_BLOCKS:
            raise IoError(
                f"{self._path}: its {len(self._pieces)} pieces do not lie side by side: no grid has such parts"
            )
        counts = np.zeros(sizes, np.int32)
        for low, high in bounds:
            places = zip(edges, low, high, strict=True)
            counts[tuple(slice(np.searchsorted(e, a), np.searchsorted(e, b)) for e, a, b in places)] += 1
        if (counts != 1).any():
            raise IoError(
                f"{self._path}: its {len(self._pieces)} pieces are not one grid of {self.points}: some cells are "
                f"in {'none' if (counts == 0).any() else 'several'} of them. To fix this, open one of its files"
            )

    def _find_grid(self) -> UniformGrid:
        first = self._pieces[0]
        if first.places is None:
            if any((one.origin, one.spacing) != (first.origin, first.spacing) for one in self._pieces):
                raise IoError(f"{self._path}: its pieces have different origins or spacings: they are not one grid")
            origin, spacing = np.array(first.origin), np.array(first.spacing)
            x, y, z = (float(one) for one in origin + self._low * spacing)
            dx, dy, dz = (float(one) for one in spacing)
            return UniformGrid(self.points, (x, y, z), (dx, dy, dz))
        axes = [np.full(n, np.nan) for n in self.points]
        for piece in self._pieces:
            for d, along in enumerate(piece.places or ()):
                at = piece.start[d] - int(self._low[d])
                axes[d][at : at + len(along)] = along
        if any(np.isnan(one).any() for one in axes):
            raise IoError(f"{self._path}: not all of its points have coordinates")
        steps = [float(one[-1] - one[0]) / max(1, len(one) - 1) or 1.0 for one in axes]
        origin_of = [float(one[0]) for one in axes]
        return StretchedGrid(
            self.points,
            (origin_of[0], origin_of[1], origin_of[2]),
            (steps[0], steps[1], steps[2]),
            coordinates=(axes[0], axes[1], axes[2]),
        )
