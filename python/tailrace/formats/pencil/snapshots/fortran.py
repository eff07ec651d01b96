"""A snapshot in files of Fortran: one for each process, for each layer of processes in z, or for all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.damage import errors_of
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.overlaps import overlap
from tailrace.grids import Triple, triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from ..files.records import Record, Records
from ..run.dimensions import Dimensions
from ..run.run import PencilRun
from ..run.sources import SnapshotSource
from .persist import as_scalars, joined, read_persist


@dataclass(frozen=True)
class SnapshotHead:
    """The data in the records of a file.

    :param kind: "dist" one file for each process, "collect_xy" one for each layer of processes in z, "collect" one.
    :param fields: their number.
    :param pieces: pieces of the record of fields; () if the file begins with the fields, without a record.
    :param end: the first byte behind the grid: the persistent variables.
    :param deltay: the shift of a shearing box.
    """

    kind: str
    order: str
    fields: int
    pieces: tuple[tuple[int, int], ...]
    end: int
    time: float
    deltay: float | None


@dataclass(frozen=True)
class SnapshotPart:
    """The part of the fields in one file.

    :param path: the file.
    :param box: the points that are read from it: its own, and the ghost zones at the outer boundaries.
    :param shape: the shape of its arrays, with ghost zones.
    :param start: the place of `box` in its arrays.
    """

    path: Path
    box: Box
    shape: Triple
    start: Triple


class FortranSnapshot:
    """A snapshot whose fields are in records of Fortran, or without records in one file.

    :param run: the run of the data directory, or of one process alone.
    :raises IoError: its first file is damaged, or of another size than `dim.dat` says.
    """

    def __init__(self, run: PencilRun, source: SnapshotSource) -> None:
        self.source, self._run = source, run
        self.head = self._read_head(source.path)
        self._heads: dict[Path, SnapshotHead] = {source.path: self.head}
        self._parts: list[SnapshotPart] = []
        self.time = self.head.time
        self._real = f"{self.head.order}{run.dim.real}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_heads": {self.source.path: self.head}, "_parts": []}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in their order in the file."""
        known = self._run.fields[: self.head.fields]
        return known + tuple(f"field{at + 1}" for at in range(len(known), self.head.fields))

    @property
    def kind(self) -> str:
        """The strategy that wrote it, in words."""
        return {"dist": "io_dist", "collect_xy": "io_collect_xy", "collect": "io_collect or io_mpi2"}[self.head.kind]

    @property
    def is_sheared(self) -> bool:
        """Whether it has the shift of a shearing box."""
        return self.head.deltay is not None

    @property
    def is_whole(self) -> bool:
        """Whether its first file has the whole box."""
        return self._processes_of(self.head) == self._run.dim.ranks

    def _processes_of(self, head: SnapshotHead) -> int:
        """The number of processes with values in one file."""
        px, py, _ = self._run.dim.processes or (1, 1, 1)
        return {"dist": 1, "collect_xy": px * py, "collect": self._run.dim.ranks}[head.kind]

    def part_of(self, process: int) -> PencilRun:
        """The run, as if it had only the points in the file of a process."""
        dim, points = self._run.dim, self._run.points
        box = dim.box_at(self._run.place(process))
        if self.head.kind == "collect_xy":
            box = Box((0, 0, box.start[2]), (*dim.points[:2], box.count[2]))
        own = None if points is None else points.cut(box)
        return replace(self._run, dim=replace(dim, points=box.count, processes=None), points=own)

    def variables(self) -> dict[str, Stored]:
        """The fields, with ghost zones."""
        return dict.fromkeys(self.names, Stored(self._run.dim.dtype, self._run.dim.held, False))

    def scalars(self) -> dict[str, Scalar]:
        """`deltay` of a shearing box, and the persistent variables from all its files."""
        found: dict[str, Scalar] = {}
        if self.head.deltay is not None:
            found["deltay"] = self.head.deltay
        return {**found, **as_scalars(joined(self._persist(part) for part in self.parts()))}

    def iteration(self) -> int | None:
        """The number of its time step, if it is stored."""
        with Records(self.source.path, self.head.order, self._first()) as records:
            found = read_persist(records, self.head.end, self._run.dim.real, 1)
        return int(found["iteration_number"][0]) if "iteration_number" in found else None

    def read(self, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a field; the box counts the ghost zones too."""
        field = self.names.index(name)
        for part in self.parts():
            common = overlap(box, part.box)
            if common is not None:
                (start, count), place = common
                inner = Box(triple(a + b for a, b in zip(start, part.start, strict=True)), count)
                self._array(part, field).read(inner, out[place])

    def files(self) -> Iterator[Path]:
        """All its files, by their names."""
        if self._is_one_file:
            yield self.source.path
            return
        for process in range(0, self._run.dim.ranks, self._processes_of(self.head)):
            yield self.source.of_process(process)

    @property
    def _is_one_file(self) -> bool:
        return self.head.kind == "collect" or self._run.dim.processes is None

    def parts(self) -> list[SnapshotPart]:
        """The files with their parts of the fields."""
        if not self._parts:
            self._parts = [self._part(path) for path in self.files()]
        return self._parts

    def _part(self, path: Path) -> SnapshotPart:
        dim = self._run.dim
        if self._is_one_file:
            return SnapshotPart(path, Box((0, 0, 0), dim.held), dim.held, (0, 0, 0))
        place = self._run.place(int(path.parent.name.removeprefix("proc")))
        if self.head.kind == "collect_xy":
            place, dim = (0, 0, place[2]), replace(dim, processes=(1, 1, (dim.processes or place)[2]))
        return _part(path, dim, place)

    def check(self) -> list[str]:
        """Damage in its files: records, persistent variables, times that differ."""
        return errors_of(*(partial(self._persist, part) for part in self.parts()))

    # ---- files -------------------------------------------------------------------------------------------------------
    def _array(self, part: SnapshotPart, field: int) -> FlatArray:
        head = self._head_of(part)
        size = math.prod(part.shape) * self._run.dim.width
        return FlatArray(part.path, field * size, part.shape, self._real, head.pieces)

    def _head_of(self, part: SnapshotPart) -> SnapshotHead:
        if part.path not in self._heads:
            head = self._read_head(part.path)
            first = self.head
            if (head.kind, head.order, head.fields, head.time) != (first.kind, first.order, first.fields, first.time):
                raise IoError(
                    f"{part.path}: has {head.fields} fields of time {head.time!r} ({head.kind}); expected "
                    f"{first.fields} of {first.time!r} ({first.kind}), as {self.source.path} has: they are not of one "
                    "snapshot"
                )
            self._heads[part.path] = head
        return self._heads[part.path]

    def _persist(self, part: SnapshotPart) -> dict[str, NDArray[Any]]:
        head = self._head_of(part)
        with Records(part.path, head.order, self._first()) as records:
            return read_persist(records, head.end, self._run.dim.real, self._processes_of(head))

    def _first(self) -> int:
        return self._raw_bytes(self.head.fields) if self.head.kind == "collect" else 0

    def _raw_bytes(self, fields: int) -> int:
        return fields * math.prod(self._run.dim.held) * self._run.dim.width

    def _read_head(self, path: Path) -> SnapshotHead:
        if self.source.is_shared:
            return self._read_raw(path)
        with Records(path) as records:
            fields = records.at(0)
            beside = records.at(fields.end)
            if beside.size == self._run.dim.width:
                return self._layer_head(records, fields, beside, path)
            local = self._local()
            count = self._count(path, fields.size, local.held)
            time, deltay = _grid_record(records, beside, local)
            return SnapshotHead("dist", records.order, count, fields.pieces, beside.end, time, deltay)

    def _local(self) -> Dimensions:
        return self._run.dim if self._run.dim.processes is None else self._run.dim.local()

    def _layer_head(self, records: Records, fields: Record, beside: Record, path: Path) -> SnapshotHead:
        dim = self._run.dim
        layer = dim.held
        if dim.processes is not None:
            layer = (*dim.held[:2], dim.local().held[2])
        count = self._count(path, fields.size, layer)
        time, end = float(records.values(beside, dim.real)[0]), beside.end
        if end < records.size and records.at(end).size != 4:  # process 0 has the grid of the whole box too
            end = records.at(end).end
        return SnapshotHead("collect_xy", records.order, count, fields.pieces, end, time, None)

    def _read_raw(self, path: Path) -> SnapshotHead:
        """Read a file without marks around the fields: the record of the grid behind them gives their number."""
        dim = self._run.dim
        size = path.stat().st_size
        most = min(dim.fields, size // self._raw_bytes(1))
        problem = None
        for count in sorted(range(1, most + 1), key=lambda count: (count != dim.mvar, -count)):
            begin = self._raw_bytes(count)
            try:
                with Records(path, None, begin) as records:
                    beside = records.at(begin)
                    time, deltay = _grid_record(records, beside, dim)
                    return SnapshotHead("collect", records.order, count, (), beside.end, time, deltay)
            except IoError as error:
                problem = problem or error
        points = " x ".join(map(str, dim.held))
        raise IoError(
            f"{path}: has {size} bytes; expected {dim.mvar} to {dim.fields} fields of {points} "
            f"points of precision {dim.precision} ({self._raw_bytes(1)} bytes each), then a record of time and grid"
            + (f" ({problem})" if problem else ": it is cut off")
        )

    def _count(self, path: Path, size: int, shape: Triple) -> int:
        dim = self._run.dim
        field = math.prod(shape) * dim.width
        if size % field or not 1 <= size // field <= dim.fields:
            raise IoError(
                f"{path}: its first record has {size} bytes; expected 1 to {dim.fields} fields of "
                f"{' x '.join(map(str, shape))} points of precision {dim.precision}, {field} bytes each, as the "
                "dim.dat files say"
            )
        return size // field


def _part(path: Path, dim: Dimensions, place: Triple) -> SnapshotPart:
    """The part of a process: its points, and its ghost zones at the outer boundaries."""
    assert dim.processes is not None
    own = dim.box_at(place)
    low = [0 if at == 0 else g + a for at, a, g in zip(place, own.start, dim.ghosts, strict=True)]
    high = [
        a + n + (2 * g if at == count - 1 else g)
        for at, a, n, g, count in zip(place, own.start, own.count, dim.ghosts, dim.processes, strict=True)
    ]
    box = Box(triple(low), triple(b - a for a, b in zip(low, high, strict=True)))
    shape = triple(n + 2 * g for n, g in zip(own.count, dim.ghosts, strict=True))
    return SnapshotPart(path, box, shape, triple(a - b for a, b in zip(low, own.start, strict=True)))


def _grid_record(records: Records, record: Record, dim: Dimensions) -> tuple[float, float | None]:
    """Time, and deltay of a shearing box, from the record t, x, y, z, dx, dy, dz (, deltay)."""
    size = dim.width
    count = 1 + sum(dim.held) + 3
    if record.size not in (count * size, (count + 1) * size):
        raise IoError(
            f"{records.path}: the record at byte {record.begin} has {record.size} bytes; expected {count * size}: "
            f"time, coordinates of {' x '.join(map(str, dim.held))} points and spacings of precision {dim.precision}"
        )
    values = records.values(record, dim.real)
    if not np.isfinite(values[0]):
        raise IoError(f"{records.path}: its time, at byte {record.begin + 4}, is {values[0]}: the file is damaged")
    return float(values[0]), float(values[-1]) if values.size == count + 1 else None
