"""Particles: `PVARn` and `pvar.dat` of each process or of all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.flat_array import FlatArray
from tailrace.io.placement import Box

from ..files.records import Records
from ..run.run import PencilRun
from ..snapshots.byte_order import guessed, order_of
from .lists import MOST_COLUMNS, ParticleDataset, ProcessParticles

_NAME = re.compile(r"PVAR(\d{1,9})|pvar\.dat")
_INDEX = re.compile(r"^\s*i(\w{1,60})\s*=\s*(\d{1,4})\s*$", re.MULTILINE | re.ASCII)


def is_particles(path: Path) -> bool:
    """Whether a file has particles, by its name."""
    return _NAME.fullmatch(path.name) is not None


class Particles(ParticleDataset):
    """All particles of a run at one time; `xp`, `yp`, ... are their properties.

    :param path: the file of any process, or the one in `allprocs`.
    :raises IoError: a file is missing, damaged or of another precision.
    """

    def __init__(self, path: Path, run: PencilRun) -> None:
        match = _NAME.fullmatch(path.name)
        number = match[1] if match else None
        super().__init__(path, run, "PVAR" if number else "pvar")
        if path.parent.name == "allprocs":
            self._parts, columns, time = self._read_raw(path, run)
        else:
            self._parts, columns, time = self._read_processes(path, run)
        self._columns = _names_of(run, columns)
        self._bounds = _bounds(run)
        self.steps = [(int(number or 0), time)]
        if run.points is not None:
            self.grid = run.points.placed(False, None)
        self.files = [str(part.path) for part in self._parts]

    def particles(self, position: int) -> Sequence[ProcessParticles]:
        """See `ParticleDataset.particles`."""
        return self._parts

    def column(self, part: ProcessParticles, at: int) -> tuple[FlatArray, int]:
        """See `ParticleDataset.column`: the properties follow each other."""
        offset = part.values + at * part.count * self._dim.width
        return FlatArray(part.path, offset, (1, part.count, 1), part.order + self._dim.real, part.pieces), 0

    def _read_processes(self, path: Path, run: PencilRun) -> tuple[list[ProcessParticles], int, float]:
        files = [self._read_records(file) for _, file in run.process_files(path.name)]
        parts, times = [part for part, _ in files], {time for _, time in files}
        widths = {part.columns for part in parts if part.count}
        if len(widths) > 1 or len(times) != 1:
            raise IoError(
                f"{path}: the files of this name in proc0, proc1, ... have {sorted(widths)} values of each particle "
                f"and the times {sorted(times)}; expected the same everywhere: they are of several runs"
            )
        return parts, (widths.pop() if widths else _columns_of(run)), times.pop()

    def _read_records(self, path: Path) -> tuple[ProcessParticles, float]:
        """Read a file of records: count; numbers; values; time and grid. Without particles only first and last."""
        real = self._dim.width
        with Records(path) as records:
            head = records.at(0)
            found = records.values(head, "i4", 4)
            count = int(found[0]) if found.size == 1 else -1
            if count < 0 or count > records.size // 4:
                raise IoError(
                    f"{path}: its first record says {count} particles; a file of {records.size} bytes cannot have them"
                )
            part, at = ProcessParticles(path, records.order), head.end
            if count:
                numbers = records.at(at)
                data = records.at(numbers.end)
                width, rest = divmod(data.size, count * real)
                if numbers.size != 4 * count or rest or not 1 <= width <= MOST_COLUMNS:
                    raise IoError(
                        f"{path}: its records have {numbers.size} and {data.size} bytes; expected {4 * count}, the "
                        f"numbers of {count} particles, and a multiple of {count * real}, their values"
                    )
                part = ProcessParticles(path, records.order, count, numbers.pieces[0][0], 0, width, data.pieces)
                at = data.end
            last = records.at(at)
            time = float(records.values(last, self._dim.real)[0]) if last.size >= real else np.nan
            if not np.isfinite(time):
                raise IoError(f"{path}: the record at byte {at} must begin with the time: the file is damaged")
            return part, time

    def _read_raw(self, path: Path, run: PencilRun) -> tuple[list[ProcessParticles], int, float]:
        """Read a file of io_mpi2, without records: count, particle numbers, values, time."""
        real = self._dim.width
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
        times = {order: [_value(path, size - real, order + self._dim.real)] for order in possible}
        order = known or ""
        if not order:
            order, self.notes = guessed(path, times)
        (count, width), time = possible[order], times[order][0]
        if not np.isfinite(time):
            raise IoError(f"{path}: its time, at byte {size - real}, is no finite number: the file is damaged")
        return [ProcessParticles(path, order, count, 4, 4 + 4 * count)], width, time


def _raw_shape(path: Path, order: str, size: int, real: int, columns: int) -> tuple[int, int] | None:
    """The numbers of particles and of properties in a file without records; None if its size does not fit."""
    count = int(_value(path, 0, f"{order}i4"))
    rest = size - 4 - 4 * count - real
    width = rest // (count * real) if count > 0 else columns
    good = count >= 0 and rest == width * count * real and 0 <= width <= MOST_COLUMNS
    return (count, width) if good else None


def _value(path: Path, offset: int, dtype: str) -> float:
    value = np.zeros((1, 1, 1), dtype)
    FlatArray(path, offset, (1, 1, 1), dtype).read(Box((0, 0, 0), (1, 1, 1)), value)
    return float(value[0, 0, 0])


def _names_of(run: PencilRun, count: int) -> list[str]:
    listed = {int(number): name for name, number in _INDEX.findall(run.texts["particle_index.pro"])}
    names: list[str] = []
    for at in range(1, count + 1):
        name = listed.get(at, "")
        names.append(name if name and name not in (*names, "ID", "distribution") else f"property{at}")
    return names


def _columns_of(run: PencilRun) -> int:
    """The number of properties of a particle, from `pdim.dat`, if there is no particle."""
    whole = [int(word) for word in run.texts["pdim.dat"].split() if re.fullmatch(r"\d{1,9}", word)]
    return min(MOST_COLUMNS, whole[1] + (whole[-1] if len(whole) > 2 else 0)) if len(whole) > 1 else 0


def _bounds(run: PencilRun) -> dict[str, list[float]]:
    """The begin and end of the parts of the processes, from `proc_bounds.dat`; {} if it is missing or different."""
    path = run.data / "proc_bounds.dat"
    if run.dim.processes is None or not path.is_file():
        return {}
    counts = [p + 1 for p in run.dim.processes]
    size = sum(counts) * run.dim.width
    with open_regular(path, "rb") as file:
        raw = file.read(size + 25)
    if len(raw) == size:  # io_mpi2 has no records
        values = np.split(np.frombuffer(raw, (order_of(run) or "<") + run.dim.real), np.cumsum(counts)[:-1])
    elif len(raw) == size + 24:
        try:
            with Records(path) as records:
                values = [records.values(record, run.dim.real, 1 << 20) for record in records]
        except IoError:
            return {}
    else:
        return {}
    if [len(along) for along in values] != counts:
        return {}
    return {f"bounds_{axis}": [float(value) for value in along] for axis, along in zip("xyz", values, strict=True)}
