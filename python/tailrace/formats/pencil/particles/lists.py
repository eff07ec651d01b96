"""Particles and stalkers in files of Fortran, as lists with a row for each particle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.formats.flat_array import FlatArray
from tailrace.formats.overlaps import rows_in
from tailrace.io.placement import Box, Stored

from ..dataset import PencilDataset
from ..run.run import PencilRun

MOST_COLUMNS = 1000


@dataclass(frozen=True)
class ProcessParticles:
    """The particles of one process.

    :param ids, values: the begin of their numbers and values, in the file or in the joined bytes of `pieces`.
    :param pieces: the pieces of the record of values; () if it is one piece.
    """

    path: Path
    order: str
    count: int = 0
    ids: int = 0
    values: int = 0
    columns: int = 0
    pieces: tuple[tuple[int, int], ...] = ()


class ParticleDataset(PencilDataset):
    """Lists with one column: `ID` has the numbers of the particles, `distribution` the count of each process.

    :param kind: the kind of file, for a writer of the same format.
    """

    def __init__(self, path: Path, run: PencilRun, kind: str) -> None:
        super().__init__(str(path), run, kind)
        self._dim = run.dim
        self._columns: list[str] = []
        self._bounds: dict[str, list[float]] = {}  # where the parts of the processes begin and end

    @abstractmethod
    def particles(self, position: int) -> Sequence[ProcessParticles]:
        """The particles of each process in a step."""

    @abstractmethod
    def column(self, part: ProcessParticles, at: int) -> tuple[FlatArray, int]:
        """The array with a property of the particles of a process, and its column there."""

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        parts, real = self.particles(position), self._dim.dtype
        total = sum(part.count for part in parts)
        found = {"ID": Stored("int32", (1, total, 1), True)}
        found |= dict.fromkeys(self._columns, Stored(real, (1, total, 1), True))
        found["distribution"] = Stored("int32", (1, len(parts), 1), True)
        return found | {name: Stored(real, (1, len(values), 1), True) for name, values in self._bounds.items()}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        begin, count = box.start[1], box.count[1]
        if 0 in box.count:
            return
        parts = self.particles(position)
        if name == "distribution" or name in self._bounds:
            small = [part.count for part in parts] if name == "distribution" else self._bounds[name]
            out[...] = np.array(small[begin : begin + count]).reshape(out.shape)
            return
        for part, first, rows, place in rows_in(begin, count, ((part, part.count) for part in parts)):
            if name == "ID":
                array, column = FlatArray(part.path, part.ids, (1, part.count, 1), f"{part.order}i4"), 0
            else:
                array, column = self.column(part, self._columns.index(name))
            array.read(Box((column, first, 0), (1, rows, 1)), out[:, place])
