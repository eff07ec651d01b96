"""Checkpoints of Nektar++ in HDF5."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.files.regular import open_regular

from .checkpoint import EMPTY, ElementRow, NektarCheckpoint, check_values
from .definition import Definition, DefinitionError
from .hdf5_rows import Hdf5Rows
from .hdf5_structure import Hdf5Structure, read_structure
from .slabs import PIECE, SlabFile


class Hdf5Checkpoint(NektarCheckpoint):
    """One file. Metadata and rows are read when it is opened, values on request."""

    def __init__(self, path: Path, structure: Hdf5Structure) -> None:
        super().__init__(path)
        self._file = SlabFile(path)
        self.metadata, self.provenance = structure.metadata, structure.provenance
        self.notes, self.files = structure.notes, [str(path)]
        try:
            self._read_rows(structure)
        finally:
            self._file.close()

    def _read_rows(self, structure: Hdf5Structure) -> None:
        self._table = Hdf5Rows(self._file, structure)
        for at, count in enumerate(self._table.counts.tolist()):
            try:
                row, definition = EMPTY, self._table.definition(at)
                if definition is not None:
                    per_field = self._per_field(definition, at, count)
                    row = ElementRow(self.number_of(definition, self._table.group(at)), count[0], per_field)
            except DefinitionError as error:
                raise self.damaged(f"row {at} of /NEKTAR/DECOMPOSITION", error) from None
            self.rows.append(row)

    def _per_field(self, definition: Definition, row: int, count: list[int]) -> int:
        elements, stored = count[0], count[1]
        if definition.modes is not None:
            found = definition.values(elements)
        else:
            found, some = 0, max(1, PIECE // (8 * definition.directions))
            for at in range(0, elements, some):
                orders = np.empty((min(some, elements - at), definition.directions), np.int64)
                self.orders(row, at, orders)
                found += definition.values(len(orders), orders)
        check_values(definition, stored, elements, found)
        return found

    def values(self, row: int, field: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        self._table.fill(row, "DATA", field * self.rows[row].values + first, out)

    def elements(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        self._table.fill(row, "ELEMENTIDS", first, out)

    def orders(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        self._table.fill(row, "POLYORDERS", first * out.shape[1], out.reshape(-1))

    def close(self) -> None:  # noqa: D102
        self._file.close()


def hdf5_checkpoint(path: Path) -> Hdf5Checkpoint | None:
    """The checkpoint in an HDF5 file; None if the file has other content. Raises IoError if it is damaged."""
    with open_regular(path, "rb") as file:
        structure = read_structure(file, path, os.fstat(file.fileno()).st_size)
    return None if structure is None else Hdf5Checkpoint(path, structure)
