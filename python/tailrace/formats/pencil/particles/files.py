"""Particles: `PVARn` and `pvar.dat` of each process or of all of them. All is local."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.flat_array import FlatArray
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from ..files.records import Records
from ..run.dim import Run, read_text
from ..run.grid import read_points
from ..run.run_attributes import carried
from ..snapshots.byte_order import guessed, order_of

_NAME = re.compile(r"PVAR(\d{1,9})|pvar\.dat")
_INDEX = re.compile(r"^\s*i(\w{1,60})\s*=\s*(\d{1,4})\s*$", re.MULTILINE | re.ASCII)
_MOST_COLUMNS = 1000


def is_particles(path: Path) -> bool:
    """By its name."""
    return _NAME.fullmatch(path.name) is not None


@dataclass(frozen=True)
class _Part:
    """The particles of one process: [first, first + count) of all."""

    path: Path
    order: str
    first: int
    count: int
    ids: int  # offset in the file
    values: int
    pieces: tuple[tuple[int, int], ...]  # of the record of values; () where there are no records


class Particles(Dataset):
    """All particles of a run at one time: lists with one column and a row for each particle.

    `ID` is the number of a particle, `xp`, `yp`, ... are its properties; `distribution` is how many each process has.

    :param path: the file of any of the processes, or that in `allprocs`.
    :raises IoError: a file is missing, damaged or of another precision.
    """

    format = "pencil"

    def __init__(self, path: Path, run: Run) -> None:
        super().__init__(str(path))
        self._real = run.dim.real
        self._parts: list[_Part] = []
        if path.parent.name == "allprocs":
            columns, time = self._add_raw(path, run)
        else:
            columns, time = self._add_processes(path, run)
        self._total = sum(part.count for part in self._parts)
        self._columns = names_of(run, columns)
        self._distribution = [part.count for part in self._parts]
        self._bounds = _bounds(run)
        match = _NAME.fullmatch(path.name)
        index = int(match[1]) if match and match[1] else 0
        self.steps = [(index, time)]
        points = read_points(run)
        self.attributes = {**carried(run, points), "pencil/file": "PVAR" if match and match[1] else "pvar"}
        if points is not None:
            self.grid = points.placed(False, None)
        self.files = [str(part.path) for part in self._parts]

    def _add_processes(self, path: Path, run: Run) -> tuple[int, float]:
        assert run.dim.processes is not None
        first, widths, times = 0, set(), set()
        for process in range(int(np.prod(run.dim.processes))):
            file = run.data / f"proc{process}" / path.name
            part, width, time = self._read_records(file, first)
            self._parts.append(part)
            first += part.count
            times.add(time)
            if part.count:
                widths.add(width)
        if len(widths) > 1 or len(times) != 1:
            raise IoError(
                f"{path}: the files of this name in proc0, proc1, ... have {sorted(widths)} values of each particle "
                f"and the times {sorted(times)}; expected the same everywhere: they are of several runs"
            )
        return (widths.pop() if widths else _columns_of(run)), times.pop()

    def _read_records(self, path: Path, first: int) -> tuple[_Part, int, float]:
        """Records: number; numbers of particles; values; time and grid. Without particles only the first and last."""
        real = np.dtype(self._real).itemsize
        with Records(path) as records:
            head = records.at(0)
            found = records.values(head, "i4", 4)
            count = int(found[0]) if found.size == 1 else -1
            if count < 0 or count > records.size // 4:
                raise IoError(
                    f"{path}: its first record says {count} particles; a file of {records.size} bytes cannot have them"
                )
            at, ids, width = head.end, 0, 0
            pieces: tuple[tuple[int, int], ...] = ()
            if count:
                numbers = records.at(at)
                data = records.at(numbers.end)
                width, rest = divmod(data.size, count * real)
                if numbers.size != 4 * count or rest or not 1 <= width <= _MOST_COLUMNS:
                    raise IoError(
                        f"{path}: its records have {numbers.size} and {data.size} bytes; expected {4 * count}, the "
                        f"numbers of {count} particles, and a multiple of {count * real}, their values"
                    )
                ids, pieces, at = numbers.pieces[0][0], data.pieces, data.end
            last = records.at(at)
            time = float(records.values(last, self._real)[0]) if last.size >= real else np.nan
            if not np.isfinite(time):
                raise IoError(f"{path}: the record at byte {at} must begin with the time: the file is damaged")
            return _Part(path, records.order, first, count, ids, 0, pieces), width, time

    def _add_raw(self, path: Path, run: Run) -> tuple[int, float]:
        """io_mpi2: number, numbers of particles, values, time, without records."""
        real = np.dtype(self._real).itemsize
        size = path.stat().st_size
        known = order_of(run)
        # Byte order -> particles and properties of each, as far as the size of the file allows them.
        shapes = {order: _raw_shape(path, order, size, real, _columns_of(run)) for order in known or "<>"}
        possible = {order: shape for order, shape in shapes.items() if shape is not None}
        if not possible:
            found = " or ".join(f"{_value(path, 0, f'{order}i4'):.0f}" for order in shapes)
            raise IoError(
                f"{path}: says {found} particles and has {size} bytes; expected 4 bytes, 4 for each particle, their "
                f"values of {real} bytes, and a time"
            )
        times = {order: [_value(path, size - real, order + self._real)] for order in possible}
        order = known or ""
        if not order:
            order, self.notes = guessed(path, times)
        (count, width), time = possible[order], times[order][0]
        self._parts.append(_Part(path, order, 0, count, 4, 4 + 4 * count, ()))
        if not np.isfinite(time):
            raise IoError(f"{path}: its time, at byte {size - real}, is no finite number: the file is damaged")
        return width, time

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        real = "float32" if self._real == "f4" else "float64"
        found = {"ID": Stored("int32", (1, self._total, 1), True)}
        found |= dict.fromkeys(self._columns, Stored(real, (1, self._total, 1), True))
        found["distribution"] = Stored("int32", (1, len(self._distribution), 1), True)
        for name, values in self._bounds.items():
            found[name] = Stored(real, (1, len(values), 1), True)
        return found

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        begin, count = box.start[1], box.count[1]
        if 0 in box.count:
            return
        if name == "distribution" or name in self._bounds:
            small = self._distribution if name == "distribution" else self._bounds[name]
            out[...] = np.array(small[begin : begin + count]).reshape(out.shape)
            return
        for part in self._parts:
            low, high = max(begin, part.first), min(begin + count, part.first + part.count)
            if low >= high:
                continue
            shape = (1, part.count, 1)
            if name == "ID":
                array = FlatArray(part.path, part.ids, shape, f"{part.order}i4")
            else:
                column = self._columns.index(name) * part.count * np.dtype(self._real).itemsize
                array = FlatArray(part.path, part.values + column, shape, part.order + self._real, part.pieces)
            array.read(Box((0, low - part.first, 0), (1, high - low, 1)), out[:, low - begin : high - begin])


def _raw_shape(path: Path, order: str, size: int, real: int, columns: int) -> tuple[int, int] | None:
    """Particles and properties of each in a file without records; None where its size does not fit them."""
    count = int(_value(path, 0, f"{order}i4"))
    rest = size - 4 - 4 * count - real
    width = rest // (count * real) if count > 0 else columns
    good = count >= 0 and rest == width * count * real and 0 <= width <= _MOST_COLUMNS
    return (count, width) if good else None


def _value(path: Path, offset: int, dtype: str) -> float:
    value = np.zeros((1, 1, 1), dtype)
    FlatArray(path, offset, (1, 1, 1), dtype).read(Box((0, 0, 0), (1, 1, 1)), value)
    return float(value[0, 0, 0])


def names_of(run: Run, count: int) -> list[str]:
    """The names of the properties of particles: from `particle_index.pro`, else `property1`, ..."""
    path = run.data / "particle_index.pro"
    text = read_text(path) if path.is_file() else ""
    listed = {int(number): name for name, number in _INDEX.findall(text)}
    names: list[str] = []
    for at in range(1, count + 1):
        name = listed.get(at, "")
        names.append(name if name and name not in (*names, "ID", "distribution") else f"property{at}")
    return names


def _columns_of(run: Run) -> int:
    """Properties of a particle, where no particle tells it: from `pdim.dat`."""
    path = run.data / "pdim.dat"
    words = read_text(path).split() if path.is_file() else []
    whole = [int(word) for word in words if re.fullmatch(r"\d{1,9}", word)]
    return min(_MOST_COLUMNS, whole[1] + (whole[-1] if len(whole) > 2 else 0)) if len(whole) > 1 else 0


def _bounds(run: Run) -> dict[str, list[float]]:
    """Where the parts of the processes begin and end, from `proc_bounds.dat`; {} where it does not tell."""
    path = run.data / "proc_bounds.dat"
    if run.dim.processes is None or not path.is_file():
        return {}
    counts = [p + 1 for p in run.dim.processes]
    size = np.dtype(run.dim.real).itemsize
    with open_regular(path, "rb") as file:
        raw = file.read(sum(counts) * size + 25)
    marks = len(raw) - sum(counts) * size
    if marks not in (0, 24):
        return {}
    if marks == 0:  # io_mpi2 has no records
        values = np.split(np.frombuffer(raw, (order_of(run) or "<") + run.dim.real), np.cumsum(counts)[:-1])
    else:
        try:
            with Records(path) as records:
                values = [records.values(record, run.dim.real, 1 << 20) for record in records]
        except IoError:
            return {}
    if [len(some) for some in values] != counts:
        return {}
    return {f"bounds_{axis}": [float(value) for value in some] for axis, some in zip("xyz", values, strict=True)}
