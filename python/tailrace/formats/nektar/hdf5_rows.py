"""The rows of an HDF5 checkpoint of Nektar++: the entries of each row in the datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError

from .definition import Definition, DefinitionError, check_planes
from .hdf5_structure import COLUMNS, WIDTH, Hdf5Structure, with_planes
from .slabs import SlabFile


class Hdf5Rows:
    """Rows of DECOMPOSITION: all, or `count` from row `first` on.

    `counts` and `starts` (rows, columns of COLUMNS) are the number of entries of each row, and where they begin. If not
    all rows are read, starts begin at 0, and the caller must add the entries before them.

    :raises IoError: the table is damaged, or does not fit the datasets and the groups.
    """

    def __init__(self, file: SlabFile, structure: Hdf5Structure, first: int = 0, count: int | None = None) -> None:
        self._file, self._structure = file, structure
        place = structure.places["DECOMPOSITION"]
        if place.count % WIDTH:
            raise IoError(
                f"{file.path}: /NEKTAR/DECOMPOSITION: expected rows of {WIDTH} numbers, found {place.count} numbers"
            )
        rows = place.count // WIDTH if count is None else count
        numbers = file.values(place.at(first * WIDTH), rows * WIDTH, place.dtype)
        table = np.ascontiguousarray(numbers.reshape(-1, WIDTH), np.uint64)
        try:
            self.counts = _checked_counts(table, structure, count is None)
        except DefinitionError as error:
            where = "" if count is None else f" from row {first} on:"
            raise IoError(f"{file.path}: /NEKTAR/DECOMPOSITION:{where} {error}") from None
        self.starts = np.zeros_like(self.counts)
        np.cumsum(self.counts[:-1], axis=0, out=self.starts[1:])
        self._groups: list[int] = table[:, -1].tolist()

    def fill(self, row: int, name: str, first: int, out: NDArray[Any]) -> None:
        """Fill `out`, of one dimension and contiguous, with entries of a row in a dataset from its `first` on."""
        place = self._structure.place(name)
        self._file.fill(place.at(int(self.starts[row, COLUMNS.index(name)]) + first), place.dtype, out)

    def entries(self, row: int, name: str) -> NDArray[np.int64]:
        """All entries of a row in a dataset of whole numbers."""
        out = np.empty(int(self.counts[row, COLUMNS.index(name)]), np.int64)
        self.fill(row, name, 0, out)
        return out

    def group(self, row: int) -> int:
        """The number that names the group of a row."""
        return self._groups[row]

    def definition(self, row: int) -> Definition | None:
        """The definition of a row, with its planes; None for a row without elements."""
        if not self.counts[row, 0]:
            return None
        return with_planes(
            self._structure.groups[self._groups[row]], *(self.entries(row, name) for name in COLUMNS[3:])
        )


def _checked_counts(table: NDArray[np.uint64], structure: Hdf5Structure, all_rows: bool) -> NDArray[np.int64]:
    """The counts in rows, (rows, columns of COLUMNS), checked against the datasets and the groups.

    :param all_rows: the table has all rows, so that their sums are known.
    :raises DefinitionError: they do not fit.
    """
    for at, name in enumerate(COLUMNS):
        stored = structure.place(name).count
        column = table[:, at]
        if len(column) and int(column.max()) > stored:
            found = int(column.max())
            raise DefinitionError(
                f"row {int(column.argmax())}: expected at most the {stored} entries of {name}, found {found}"
            )
        total = float(column.sum(dtype=np.float64)) if len(column) else 0.0
        if total > stored * 1.001 + 1 or (all_rows and int(column.sum(dtype=np.uint64)) != stored):
            raise DefinitionError(f"expected rows with the {stored} entries of {name}, found rows with {total:.0f}")
    counts = table[:, : len(COLUMNS)].astype(np.int64)
    for at, (group, row) in enumerate(zip(table[:, -1].tolist(), counts.tolist(), strict=True)):
        if row[0]:
            _check_row(at, group, row, structure)
        elif any(row):
            raise DefinitionError(f"row {at}: expected zeros with no elements, found {row}")
    return counts


def _check_row(at: int, group: int, row: list[int], structure: Hdf5Structure) -> None:
    definition = structure.groups.get(group)
    if definition is None:
        raise DefinitionError(f"row {at}: expected the name of a group in /NEKTAR, found {group}")
    orders = 0 if definition.modes is not None else row[0] * definition.directions
    if row[2] != orders:
        raise DefinitionError(f"row {at}: expected {orders} numbers of modes, found {row[2]}")
    needed = row[4] if definition.homogeneous == 1 else row[3]
    if definition.homogeneous and not needed:
        raise DefinitionError(f"row {at}: expected the planes of {definition.shape_text}, found none")
    if not definition.homogeneous and any(row[3:]):
        raise DefinitionError(f"row {at}: expected no planes for {definition.shape_text}, found {row[3:]}")
    check_planes(max(row[3:]))
