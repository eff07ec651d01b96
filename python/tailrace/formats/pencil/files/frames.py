"""Files to which a run appends the same amount of bytes at each time: frames. All functions are local."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailrace.core import IoError
from tailrace.files.regular import open_regular

MOST_FRAMES = 10_000_000


@dataclass(frozen=True)
class Frames:
    """Where the parts of a frame are.

    :param real: type of real numbers with its byte order: "<f8".
    :param size: bytes of a frame.
    :param time: offset of its time in it.
    :param data: offset of its values in it.
    :param marks: (offset in it, value) of the sizes of records before and after them; none in files without records.
    :param count: number of frames.
    """

    path: Path
    real: str
    size: int
    time: int
    data: int
    marks: tuple[tuple[int, int], ...]
    count: int

    def times(self) -> list[float]:
        """The time of each frame.

        :raises IoError: the marks of a record are wrong, or a time is no number.
        """
        found = []
        with open_regular(self.path, "rb", buffering=0) as file:
            for at in range(self.count):
                found.append(self._time(file.fileno(), at))
        return found

    def raw_times(self, most: int) -> list[float]:
        """The first times, whatever they are; of a file without records."""
        kind = np.dtype(self.real)
        with open_regular(self.path, "rb", buffering=0) as file:
            raw = [
                self._bytes(file.fileno(), at * self.size + self.time, kind.itemsize)
                for at in range(min(self.count, most))
            ]
        return [float(value) for value in np.frombuffer(b"".join(raw), kind)]

    def time_of(self, at: int) -> float:
        """The time of a frame.

        :raises IoError: as `times`.
        """
        with open_regular(self.path, "rb", buffering=0) as file:
            return self._time(file.fileno(), at)

    def _time(self, file: int, at: int) -> float:
        begin = at * self.size
        for offset, expected in self.marks:
            found = int(np.frombuffer(self._bytes(file, begin + offset, 4), f"{self.real[0]}i4")[0])
            if found != expected:
                raise IoError(
                    f"{self.path}: has {found} at byte {begin + offset}; expected {expected}, the size of a record: "
                    "the file is damaged, or its data directory is of a run with other sizes"
                )
        kind = np.dtype(self.real)
        time = float(np.frombuffer(self._bytes(file, begin + self.time, kind.itemsize), kind)[0])
        if not np.isfinite(time):
            raise IoError(f"{self.path}: its time at byte {begin + self.time} is {time}: the file is damaged")
        return time

    def _bytes(self, file: int, offset: int, count: int) -> bytes:
        raw = os.pread(file, count, offset)
        if len(raw) != count:
            raise IoError(f"{self.path}: ends at byte {offset + len(raw)}: it was cut off while it was being read")
        return raw


def whole_frames(path: Path, size: int, records: bool) -> tuple[int, list[str]]:
    """How many frames a file has, and a note where the last one is not complete.

    :param records: whether marks tell where a frame ends; without them a file of another size is of another shape.
    :raises IoError: it has none.
    """
    try:
        there = path.stat().st_size
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    count, rest = divmod(there, size)
    if count < 1 or count > MOST_FRAMES or (rest and not records):
        raise IoError(f"{path}: has {there} bytes; expected a multiple of {size} bytes, one time of this run each")
    return count, [f"{path} ends inside its last time, which is left out ({rest} bytes)."] if rest else []


def latest(path: Path | str, times: Sequence[float]) -> tuple[list[int], list[str]]:
    """Positions whose times increase: a run that went back to an older snapshot has replaced what came after it.

    :returns: positions, and a note where some are left out.
    """
    kept: list[int] = []
    for at, time in enumerate(times):
        while kept and times[kept[-1]] >= time:
            kept.pop()
        kept.append(at)
    left = len(times) - len(kept)
    if not left:
        return kept, []
    return kept, [
        f"{path}: its times go back, as after a restart from an older snapshot: {left} of {len(times)} records, "
        "written before that for the same or later times, are left out."
    ]
