"""Stalkers: some particles followed in time, `particles_stalker.dat` of each process. All is local."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from ..files.frames import MOST_FRAMES, latest
from ..files.records import Records
from ..run.dim import Run, read_text
from ..run.grid import read_points
from ..run.run_attributes import carried

NAME = "particles_stalker.dat"
_MOST_COLUMNS = 1000


@dataclass(frozen=True)
class _Time:
    """The particles of a process at one time."""

    count: int
    ids: int  # offset in the file
    values: int
    columns: int


class Stalkers(Dataset):
    """Lists with one column and a row for each particle: `ID` and what was asked of it, `xp`, `ux`, ...

    Its records are (t, number of particles), and where there are some their numbers and their values, one particle
    after the other.

    :param path: the file of any of the processes.
    :raises IoError: a file is damaged.
    """

    format = "pencil"

    def __init__(self, path: Path, run: Run) -> None:
        super().__init__(str(path))
        assert run.dim.processes is not None
        self._real = run.dim.real
        self._files: list[tuple[Path, str, list[_Time]]] = []
        all_times: list[list[float]] = []
        for process in range(int(np.prod(run.dim.processes))):
            file = run.data / f"proc{process}" / NAME
            times, order, found = self._scan(file)
            self._files.append((file, order, found))
            all_times.append(times)
        count = min(len(times) for times in all_times)
        if any(times[:count] != all_times[0][:count] for times in all_times):
            raise IoError(f"{path}: the files of this name in proc0, proc1, ... have different times")
        if any(len(times) != count for times in all_times):
            self.notes.append(f"Some processes have written more than {count} times; those that all have are read.")
        self._kept, more = latest(path, all_times[0][:count])
        self.notes += more
        self.steps = [(at, all_times[0][frame]) for at, frame in enumerate(self._kept)]
        widths = {time.columns for _, _, times in self._files for time in times if time.count}
        if len(widths) > 1:
            raise IoError(f"{path}: has {sorted(widths)} values of each particle; expected the same at each time")
        self._columns = _names(run, widths.pop() if widths else 0)
        self.attributes = {**carried(run, read_points(run)), "pencil/file": "PSTALK"}
        self.files = [str(file) for file, _, _ in self._files]

    def _scan(self, path: Path) -> tuple[list[float], str, list[_Time]]:
        real = np.dtype(self._real).itemsize
        times: list[float] = []
        found: list[_Time] = []
        with Records(path) as records:
            at = 0
            while at < records.size and len(times) < MOST_FRAMES:
                head = records.at(at)
                raw = records.content(head) if head.size == real + 4 else b""
                if not raw:
                    raise IoError(
                        f"{path}: the record at byte {at} has {head.size} bytes; expected {real + 4}: a time of "
                        f"precision {'S' if real == 4 else 'D'} and a number of particles"
                    )
                time = float(np.frombuffer(raw[:real], records.order + self._real)[0])
                count = int(np.frombuffer(raw[real:], f"{records.order}i4")[0])
                if not np.isfinite(time) or not 0 <= count <= records.size // 4:
                    raise IoError(f"{path}: has time {time} and {count} particles at byte {at}: it is damaged")
                at = head.end
                one = _Time(0, 0, 0, 0)
                if count:
                    try:
                        numbers = records.at(at)
                        data = records.at(numbers.end)
                    except IoError as error:
                        if not times or at < records.size - 4:
                            raise
                        self.notes.append(f"{path} ends inside its last time, which is left out ({error}).")
                        break
                    columns, rest = divmod(data.size, count * real)
                    if numbers.size != 4 * count or rest or not 1 <= columns <= _MOST_COLUMNS:
                        raise IoError(
                            f"{path}: the records at byte {at} have {numbers.size} and {data.size} bytes; expected "
                            f"{4 * count}, the numbers of {count} particles, and a multiple of {count * real}"
                        )
                    one = _Time(count, numbers.pieces[0][0], data.pieces[0][0], columns)
                    at = data.end
                times.append(time)
                found.append(one)
            return times, records.order, found

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        total = sum(times[self._kept[position]].count for _, _, times in self._files)
        real = "float32" if self._real == "f4" else "float64"
        found = {"ID": Stored("int32", (1, total, 1), True)}
        found |= dict.fromkeys(self._columns, Stored(real, (1, total, 1), True))
        found["distribution"] = Stored("int32", (1, len(self._files), 1), True)
        return found

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        begin, count = box.start[1], box.count[1]
        if 0 in box.count:
            return
        frame = self._kept[position]
        if name == "distribution":
            small = [times[frame].count for _, _, times in self._files[begin : begin + count]]
            out[...] = np.array(small).reshape(out.shape)
            return
        first = 0
        for path, order, times in self._files:
            one = times[frame]
            low, high = max(begin, first), min(begin + count, first + one.count)
            if low < high:
                rows, part = (low - first, high - low), out[:, low - begin : high - begin]
                if name == "ID":
                    array = FlatArray(path, one.ids, (1, one.count, 1), f"{order}i4")
                    array.read(Box((0, rows[0], 0), (1, rows[1], 1)), part)
                else:
                    table = FlatArray(path, one.values, (one.columns, one.count, 1), order + self._real)
                    table.read(Box((self._columns.index(name), rows[0], 0), (1, rows[1], 1)), part)
            first += one.count


def _names(run: Run, count: int) -> list[str]:
    path = run.data / "particles_stalker_header.dat"
    listed = [word.strip() for word in read_text(path).split(",")] if path.is_file() else []
    listed = [word for word in listed if word]
    good = len(listed) == count and len(set(listed)) == count and "ID" not in listed
    if good and all(re.fullmatch(r"\w{1,60}", word, re.ASCII) for word in listed):
        return listed
    return [f"property{at + 1}" for at in range(count)]
