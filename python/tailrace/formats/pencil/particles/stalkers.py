"""Stalkers: some particles followed in time, `particles_stalker.dat` of each process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.texts import read_text

from ..files.frames import MOST_FRAMES, latest
from ..files.records import Records
from ..run.run import PencilRun
from .lists import MOST_COLUMNS, ParticleDataset, ProcessParticles

NAME = "particles_stalker.dat"


class Stalkers(ParticleDataset):
    """The followed particles; `xp`, `ux`, ... are the requested properties.

    The records of a file are (t, number of particles) and, if the number is not 0, the particle numbers and the values,
    one particle after the other.

    :param path: the file of any process.
    """

    def __init__(self, path: Path, run: PencilRun) -> None:
        super().__init__(path, run, "PSTALK")
        self.files = [str(file) for _, file in run.process_files(NAME)]
        scans = [self._scan(Path(file)) for file in self.files]
        times = scans[0][0]
        count = min(len(own) for own, _ in scans)
        if any(own[:count] != times[:count] for own, _ in scans):
            raise IoError(f"{path}: the files of this name in proc0, proc1, ... have different times")
        if any(len(own) != count for own, _ in scans):
            self.notes.append(f"Some processes have written more than {count} times; those that all have are read.")
        kept, more = latest(path, times[:count])
        self.notes += more
        self.steps = [(at, times[frame]) for at, frame in enumerate(kept)]
        widths = {part.columns for _, parts in scans for part in parts if part.count}
        if len(widths) > 1:
            raise IoError(f"{path}: has {sorted(widths)} values of each particle; expected the same at each time")
        self._columns = _names(run, widths.pop() if widths else 0)
        self._parts = [[parts[frame] for _, parts in scans] for frame in kept]

    def particles(self, position: int) -> Sequence[ProcessParticles]:
        """See `ParticleDataset.particles`."""
        return self._parts[position]

    def column(self, part: ProcessParticles, at: int) -> tuple[FlatArray, int]:
        """See `ParticleDataset.column`: all properties of a particle come together."""
        return FlatArray(part.path, part.values, (part.columns, part.count, 1), part.order + self._dim.real), at

    def _scan(self, path: Path) -> tuple[list[float], list[ProcessParticles]]:
        real = self._dim.width
        times: list[float] = []
        parts: list[ProcessParticles] = []
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
                time = float(np.frombuffer(raw[:real], records.order + self._dim.real)[0])
                count = int(np.frombuffer(raw[real:], f"{records.order}i4")[0])
                if not np.isfinite(time) or not 0 <= count <= records.size // 4:
                    raise IoError(f"{path}: has time {time} and {count} particles at byte {at}: it is damaged")
                at = head.end
                part = ProcessParticles(path, records.order)
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
                    if numbers.size != 4 * count or rest or not 1 <= columns <= MOST_COLUMNS:
                        raise IoError(
                            f"{path}: the records at byte {at} have {numbers.size} and {data.size} bytes; expected "
                            f"{4 * count}, the numbers of {count} particles, and a multiple of {count * real}"
                        )
                    places = (numbers.pieces[0][0], data.pieces[0][0])
                    part = ProcessParticles(path, records.order, count, *places, columns)
                    at = data.end
                times.append(time)
                parts.append(part)
            return times, parts


def _names(run: PencilRun, count: int) -> list[str]:
    words = read_text(run.data / "particles_stalker_header.dat").split(",")
    listed = [word.strip() for word in words if word.strip()]
    good = len(listed) == count and len(set(listed)) == count and "ID" not in listed
    if good and all(re.fullmatch(r"\w{1,60}", word, re.ASCII) for word in listed):
        return listed
    return [f"property{at + 1}" for at in range(count)]
