"""Checkpoints of Nektar++ in HDF5. All is local."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace import _core
from tailrace.files.regular import open_regular

from .checkpoint import EMPTY, ElementRow, NektarCheckpoint, check_values
from .definition import Definition, DefinitionError, check_planes
from .hdf5_structure import COLUMNS, WIDTH, Hdf5Structure, read_structure, with_planes
from .slabs import PIECE, SlabFile

_PLANES = COLUMNS[3:]


class Hdf5Checkpoint(NektarCheckpoint):
    """One file. Its metadata and rows are read when it is opened; values when they are asked for."""

    def __init__(self, path: Path, structure: Hdf5Structure) -> None:
        super().__init__(path)
        self._file = SlabFile(path)
        self._places = structure.places
        self.metadata, self.provenance = structure.metadata, structure.provenance
        self.notes, self.files = structure.notes, [str(path)]
        self._starts: list[tuple[int, ...]] = []  # of each row, in the datasets of COLUMNS
        try:
            self._read_rows(structure)
        finally:
            self._file.close()

    def _read_rows(self, structure: Hdf5Structure) -> None:
        table = read_table(self._file, structure)
        try:
            counts = checked_counts(table, structure)
        except DefinitionError as error:
            raise self.damaged("/NEKTAR/DECOMPOSITION", error) from None
        starts = np.zeros_like(counts)
        np.cumsum(counts[:-1], axis=0, out=starts[1:])
        for at, (group, count) in enumerate(zip(table[:, -1].tolist(), counts.tolist(), strict=True)):
            self._starts.append(tuple(starts[at].tolist()))
            if not count[0]:
                self.rows.append(EMPTY)
                continue
            try:
                ids = [self._planes(name, at, count[3 + k]) for k, name in enumerate(_PLANES)]
                definition = with_planes(structure.groups[group], *ids)
                self.rows.append(
                    ElementRow(self.number_of(definition), count[0], self._per_field(definition, at, count))
                )
            except DefinitionError as error:
                raise self.damaged(f"row {at} of /NEKTAR/DECOMPOSITION", error) from None

    def _planes(self, name: str, row: int, count: int) -> NDArray[Any]:
        place = self._places.get(name)
        if not count or place is None:
            return np.empty(0, np.uint32)
        return self._file.values(place.at(self._starts[row][COLUMNS.index(name)]), count, place.dtype)

    def _per_field(self, definition: Definition, row: int, count: list[int]) -> int:
        elements, stored = count[0], count[1]
        if definition.modes is not None:
            found = definition.values(elements)
        else:
            found, some = 0, max(1, PIECE // (8 * definition.directions))
            for at in range(0, elements, some):
                orders = np.empty((min(some, elements - at), definition.directions), np.int64)
                self._fill_orders(row, at, orders)
                found += definition.values(len(orders), orders)
        check_values(definition, stored, elements, found)
        return found

    def values(self, row: int, field: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        place = self._places["DATA"]
        begin = self._starts[row][1] + field * self.rows[row].values + first
        self._file.fill(place.at(begin), place.dtype, out)

    def elements(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        place = self._places["ELEMENTIDS"]
        self._file.fill(place.at(self._starts[row][0] + first), place.dtype, out)

    def orders(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        self._fill_orders(row, first, out)

    def _fill_orders(self, row: int, first: int, out: NDArray[Any]) -> None:
        place = self._places["POLYORDERS"]
        self._file.fill(place.at(self._starts[row][2] + first * out.shape[1]), place.dtype, out.reshape(-1))

    def close(self) -> None:  # noqa: D102
        self._file.close()


def read_table(
    file: SlabFile, structure: Hdf5Structure, first: int = 0, count: int | None = None
) -> NDArray[np.uint64]:
    """Rows of DECOMPOSITION, all or `count` from row `first` on.

    :raises IoError: it is no table of rows.
    """
    place = structure.places["DECOMPOSITION"]
    if place.count % WIDTH:
        raise _core.IoError(
            f"{file.path}: /NEKTAR/DECOMPOSITION: expected rows of {WIDTH} numbers, found {place.count} numbers"
        )
    some = place.count // WIDTH if count is None else count
    table = file.values(place.at(first * WIDTH), some * WIDTH, place.dtype)
    return np.ascontiguousarray(table.reshape(-1, WIDTH), np.uint64)


def checked_counts(table: NDArray[np.uint64], structure: Hdf5Structure, all_rows: bool = True) -> NDArray[np.int64]:
    """The counts in rows, (rows, columns of COLUMNS), held against the datasets and the groups.

    :param all_rows: the table has all rows, so that their sums are known.
    :raises DefinitionError: they do not fit.
    """
    for at, name in enumerate(COLUMNS):
        there = structure.place(name).count
        column = table[:, at]
        if len(column) and int(column.max()) > there:
            raise DefinitionError(
                f"row {int(column.argmax())}: expected at most the {there} entries of {name}, found {int(column.max())}"
            )
        total = float(column.sum(dtype=np.float64)) if len(column) else 0.0
        if total > there * 1.001 + 1 or (all_rows and int(column.sum(dtype=np.uint64)) != there):
            raise DefinitionError(f"expected rows with the {there} entries of {name}, found rows with {total:.0f}")
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


def hdf5_checkpoint(path: Path) -> Hdf5Checkpoint | None:
    """The checkpoint in an HDF5 file; None where it is an HDF5 file of something else.

    :raises IoError: it is damaged.
    """
    with open_regular(path, "rb") as file:
        structure = read_structure(file, path, os.fstat(file.fileno()).st_size)
    return None if structure is None else Hdf5Checkpoint(path, structure)
