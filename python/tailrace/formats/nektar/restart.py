"""Values of a checkpoint in HDF5 for the ranks of a run. No rank reads the description of all rows.

With the decomposition of the writers, a rank reads its rows of DECOMPOSITION, its numbers of elements and its values;
their places are sums over the ranks before. With another decomposition, each rank reads an equal share of the rows and
numbers, answers the ranks that ask for the places of their elements, and reads its elements in long pieces. A rank
opens the file once.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailrace.core import InputError, IoError
from tailrace.parallel import agree, extreme

from .definition import Definition, DefinitionError
from .hdf5_rows import Hdf5Rows
from .hdf5_structure import COLUMNS, WIDTH, Hdf5Structure, read_structure
from .slabs import SlabFile

if TYPE_CHECKING:
    from mpi4py import MPI

_GAP = 64 << 10  # up to so many bytes between two elements are read too, instead of skipped
_SLAB = 8 << 20  # bytes of one read, at most


@dataclass
class RestartPart:
    """The part of a definition that a rank gets.

    :param elements: numbers of the elements, in the order of the request.
    :param orders: (elements, directions) numbers of modes, if `definition.modes` is None.
    :param values: field -> float64 values, element after element, each plane after plane.
    """

    definition: Definition
    elements: NDArray[np.int64]
    orders: NDArray[np.int64] | None
    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass
class Restart:
    """The parts of a rank, and how they were read.

    :param same_decomposition: every rank has read exactly the rows of one writer.
    :param bytes_read: bytes that this rank has read from the file.
    """

    parts: list[RestartPart]
    metadata: dict[str, str]
    same_decomposition: bool
    bytes_read: int


class _CountedFile(io.RawIOBase):
    """A SlabFile as a file object for h5py; its reads are counted, too."""

    def __init__(self, slab: SlabFile) -> None:
        super().__init__()
        self._slab, self._at = slab, 0
        self.size = os.fstat(slab.descriptor).st_size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def readinto(self, view: Any) -> int:
        got = os.preadv(self._slab.descriptor, [memoryview(view).cast("B")], self._at)
        self._at += got
        self._slab.bytes_read += got
        return got


def read(path: str | PathLike[str], comm: MPI.Intracomm, element_ids: ArrayLike) -> Restart:
    """The values of elements. Collective.

    :param path: an HDF5 checkpoint.
    :param element_ids: numbers of the elements for this rank, each once.
    :returns: a part for each definition with such elements. If several ranks have written planes of them, all planes.
    :raises InputError: elements are asked for twice or are not in the file; on all ranks.
    :raises IoError: the file is damaged, or no HDF5 checkpoint; on all ranks.
    """
    file = SlabFile(Path(path))
    try:
        return _Reading(file, comm, element_ids).run()
    finally:
        file.close()


class _Reading:
    def __init__(self, file: SlabFile, comm: MPI.Intracomm, element_ids: ArrayLike) -> None:
        self.file, self.comm = file, comm

        def wanted() -> NDArray[np.int64]:
            found = np.asarray(element_ids)
            if found.size and found.dtype.kind not in "iu":
                raise InputError(f"{file.path}: element_ids: expected whole numbers, found {found.dtype}")
            found = found.reshape(-1).astype(np.int64)
            if len(np.unique(found)) < len(found):
                raise InputError(f"{file.path}: element_ids: expected each number once, found some twice")
            return found

        self.wanted = agree(comm, wanted)

    def run(self) -> Restart:
        self.structure = self._structure()
        agree(self.comm, self._read_rows)
        self._place_rows()
        self._name_definitions()
        same = agree(self.comm, self._is_same)
        same = bool(extreme(self.comm, same, largest=False))
        places = self._own_places() if same else self._asked_places()
        parts = agree(self.comm, lambda: self._parts(places))
        return Restart(parts, self.structure.metadata, same, self.file.bytes_read)

    # ---- rows --------------------------------------------------------------------------------------------------------
    def _structure(self) -> Hdf5Structure:
        """The structure, read by rank 0; meanwhile the others open the file."""

        def look() -> Hdf5Structure | None:
            counted = _CountedFile(self.file)
            if self.comm.rank:
                return None
            found = read_structure(counted, self.file.path, counted.size)  # type: ignore[arg-type] # what h5py calls
            if found is None:
                raise IoError(f"{self.file.path}: expected an HDF5 checkpoint of Nektar++, found another HDF5 file")
            return found

        try:
            found: Hdf5Structure = self.comm.bcast(agree(self.comm, look), root=0)
        except OSError as error:
            raise IoError(f"cannot read {self.file.path}: {error.strerror or error}") from None
        return found

    def _read_rows(self) -> None:
        rows = self.structure.place("DECOMPOSITION").count // WIDTH
        rank, size = self.comm.rank, self.comm.size
        first = rows * rank // size
        self.rows = Hdf5Rows(self.file, self.structure, first, rows * (rank + 1) // size - first)
        self.counts, self.starts = self.rows.counts, self.rows.starts
        self.as_written = rows % size == 0

    def _place_rows(self) -> None:
        """Set where this rank's rows begin in the datasets: the sum over the ranks before."""
        mine = self.counts.sum(axis=0)
        end = np.zeros_like(mine)
        self.comm.Scan(mine, end)
        self.starts += end - mine
        last = self.comm.bcast(end, root=self.comm.size - 1)
        for name, total in zip(COLUMNS, last.tolist(), strict=True):
            stored = self.structure.place(name).count
            if total != stored:
                raise IoError(
                    f"{self.file.path}: /NEKTAR/DECOMPOSITION: expected rows with the {stored} entries of {name}, "
                    f"found rows with {total}"
                )

    def _name_definitions(self) -> None:
        """Collect the definitions of all rows, in the same order on all ranks; `which` has those of the own rows."""

        mine = agree(self.comm, lambda: [self.rows.definition(at) for at in range(len(self.counts))])
        known = self.comm.allgather(list(dict.fromkeys(own for own in mine if own is not None)))
        self.definitions = list(dict.fromkeys(definition for own in known for definition in own))
        numbers = {definition: k for k, definition in enumerate(self.definitions)}
        self.which = [-1 if own is None else numbers[own] for own in mine]

    def _is_same(self) -> bool:
        """Whether this rank wants exactly the elements of its rows, with all their planes."""
        self.ids = [self.rows.entries(at, "ELEMENTIDS") for at in range(len(self.counts))]
        self.each: list[NDArray[np.int64]] = []
        self.orders: list[NDArray[np.int64] | None] = []
        for at, k in enumerate(self.which):
            definition = self.definitions[k] if k >= 0 else None
            try:
                self._measure(at, definition)
            except DefinitionError as error:
                raise IoError(f"{self.file.path}: /NEKTAR/DECOMPOSITION: {error}") from None
        groups = {(one.fields, one.shape, one.basis, one.modes, one.lengths) for one in self.definitions}
        one_of_each = len(groups) == len(self.definitions)
        found = np.concatenate([*self.ids, np.empty(0, np.int64)])
        return self.as_written and one_of_each and np.array_equal(np.sort(found), np.sort(self.wanted))

    def _measure(self, row: int, definition: Definition | None) -> None:
        """Values per field of each element of a row."""
        elements = int(self.counts[row][0])
        orders = None
        if definition is None:
            each = np.empty(0, np.int64)
        elif definition.modes is None:
            orders = self.rows.entries(row, "POLYORDERS").reshape(elements, definition.directions)
            each = definition.values_each(orders)
        else:
            each = np.full(elements, definition.values(1), np.int64)
        stored = int(self.counts[row][1])
        fields = len(definition.fields) if definition is not None else 1
        if int(each.sum()) * fields != stored:
            raise DefinitionError(f"expected {int(each.sum()) * fields} values of {elements} elements, found {stored}")
        self.each.append(each)
        self.orders.append(orders)

    # ---- places: (element, definition, first value in DATA, values between fields, values, place of orders) -------
    def _own_places(self) -> NDArray[np.int64]:
        found = [np.empty((0, 6), np.int64)]
        for at, k in enumerate(self.which):
            if k < 0:
                continue
            ids, each = self.ids[at], self.each[at]
            places = np.empty((len(ids), 6), np.int64)
            places[:, 0], places[:, 1] = ids, k
            places[:, 2] = int(self.starts[at][1]) + np.cumsum(each) - each
            places[:, 3], places[:, 4] = int(each.sum()), each
            directions = self.definitions[k].directions
            mixed = self.orders[at] is not None
            places[:, 5] = int(self.starts[at][2]) + np.arange(len(ids)) * directions if mixed else -1
            found.append(places)
        return np.concatenate(found)

    def _asked_places(self) -> NDArray[np.int64]:
        """The places of the wanted elements, from the ranks that know them: for element i, rank i modulo ranks."""
        size = self.comm.size
        own = self._own_places()
        kept = np.concatenate(self.comm.alltoall([own[own[:, 0] % size == rank] for rank in range(size)]))
        kept = kept[np.argsort(kept[:, 0], kind="stable")]
        asked = self.comm.alltoall([self.wanted[self.wanted % size == rank] for rank in range(size)])
        answers = []
        for ids in asked:
            low = np.searchsorted(kept[:, 0], ids, side="left")
            high = np.searchsorted(kept[:, 0], ids, side="right")
            steps = np.arange(int((high - low).sum())) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
            answers.append(kept[np.repeat(low, high - low) + steps])
        found = np.concatenate(self.comm.alltoall(answers))

        def check() -> None:
            missing = np.setdiff1d(self.wanted, found[:, 0])
            if len(missing):
                some = ", ".join(map(str, missing[:8].tolist()))
                raise InputError(f"{self.file.path}: {len(missing)} of the elements are not in it: {some}")

        agree(self.comm, check)
        return found

    # ---- values ------------------------------------------------------------------------------------------------------
    def _parts(self, places: NDArray[np.int64]) -> list[RestartPart]:
        order = np.argsort(self.wanted, kind="stable")
        rank_of = order[np.searchsorted(self.wanted, places[:, 0], sorter=order)]
        parts = []
        for k, definition in enumerate(self.definitions):
            chosen = np.flatnonzero(places[:, 1] == k)
            mine = places[chosen[np.argsort(rank_of[chosen], kind="stable")]]
            if not len(mine):
                continue
            orders = None
            if definition.modes is None:
                width = np.full(len(mine), definition.directions)
                orders = self._gather("POLYORDERS", mine[:, 5], width).astype(np.int64).reshape(len(mine), -1)
            part = RestartPart(definition, mine[:, 0].copy(), orders)
            begins = np.concatenate([mine[:, 2] + at * mine[:, 3] for at in range(len(definition.fields))])
            values = self._gather("DATA", begins, np.tile(mine[:, 4], len(definition.fields)))
            rows = values.reshape(len(definition.fields), -1)
            part.values = dict(zip(definition.fields, rows, strict=True))
            parts.append(part)
        return parts

    def _gather(self, name: str, begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[Any]:
        """Pieces of a dataset one after the other, read in the order of the file and in long slabs."""
        place = self.structure.place(name)
        size = np.dtype(place.dtype).itemsize
        out = np.empty(int(counts.sum()), np.dtype(place.dtype).newbyteorder("="))
        targets = np.cumsum(counts) - counts
        order = np.argsort(begins, kind="stable")
        begins, counts, targets = begins[order], counts[order], targets[order]
        ends = begins + counts
        apart = np.append(np.flatnonzero(begins[1:] - ends[:-1] > _GAP // size) + 1, len(begins))
        at = 0
        while at < len(begins):
            close = int(apart[np.searchsorted(apart, at, side="right")])
            until = max(at + 1, min(close, int(np.searchsorted(ends, begins[at] + _SLAB // size, side="right"))))
            slab = self.file.values(place.at(int(begins[at])), int(ends[until - 1] - begins[at]), place.dtype)
            some = counts[at:until]
            ramp = np.arange(int(some.sum())) - np.repeat(np.cumsum(some) - some, some)
            out[np.repeat(targets[at:until], some) + ramp] = slab[np.repeat(begins[at:until] - begins[at], some) + ramp]
            at = until
        return out
