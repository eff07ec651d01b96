"""Files to which a run appends the same amount of bytes at each time: frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.file_bytes import fill

MOST_FRAMES = 10_000_000


@dataclass(frozen=True)
class Frames:
    """The places of the parts of a frame.

    :param real: type of real numbers with its byte order: "<f8".
    :param size: bytes of a frame.
    :param time: offset of its time in it.
    :param data: offset of its values in it.
    :param marks: (offset in it, value) of the sizes of records before and after them; none in files without records.
    :param count: number of frames.
    :param notes: notes about the file.
    """

    path: Path
    real: str
    size: int
    time: int
    data: int
    marks: tuple[tuple[int, int], ...]
    count: int
    notes: tuple[str, ...] = ()

    def times(self) -> list[float]:
        """The time of each frame. Raises IoError if the marks of a record are wrong, or a time is no number."""
        with open_regular(self.path, "rb", buffering=0) as file:
            return [self._time(file.fileno(), at) for at in range(self.count)]

    def raw_times(self, most: int) -> list[float]:
        """The first times of a file without records, unchecked."""
        places = (at * self.size + self.time for at in range(min(self.count, most)))
        with open_regular(self.path, "rb", buffering=0) as file:
            return [float(self._value(file.fileno(), place, self.real)) for place in places]

    def time_of(self, at: int) -> float:
        """The time of a frame. Raises IoError as `times` does."""
        with open_regular(self.path, "rb", buffering=0) as file:
            return self._time(file.fileno(), at)

    def value_at(self, offset: int) -> float:
        """The real number at a byte of the file. Raises IoError if the file ends before."""
        with open_regular(self.path, "rb", buffering=0) as file:
            return float(self._value(file.fileno(), offset, self.real))

    def _time(self, file: int, at: int) -> float:
        begin = at * self.size
        for offset, expected in self.marks:
            found = int(self._value(file, begin + offset, f"{self.real[0]}i4"))
            if found != expected:
                raise IoError(
                    f"{self.path}: has {found} at byte {begin + offset}; expected {expected}, the size of a record: "
                    "the file is damaged, or its data directory is of a run with other sizes"
                )
        time = float(self._value(file, begin + self.time, self.real))
        if not np.isfinite(time):
            raise IoError(f"{self.path}: its time at byte {begin + self.time} is {time}: the file is damaged")
        return time

    def _value(self, file: int, offset: int, dtype: str) -> Any:
        value = np.empty(1, dtype)
        got = fill(file, value.view(np.uint8).data, offset)
        if got != value.nbytes:
            raise IoError(f"{self.path}: ends at byte {offset + got}: it was cut off while it was being read")
        return value[0]


def whole_frames(path: Path, size: int, records: bool) -> tuple[int, tuple[str, ...]]:
    """The number of frames of a file, and a note if the last one is not complete.

    :param records: whether marks show the end of a frame. Without marks, an incomplete frame means another shape.
    :raises IoError: it has no frame, or another shape.
    """
    try:
        size_of_file = path.stat().st_size
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    count, rest = divmod(size_of_file, size)
    if count < 1 or count > MOST_FRAMES or (rest and not records):
        raise IoError(
            f"{path}: has {size_of_file} bytes; expected a multiple of {size} bytes, one time of this run each"
        )
    return count, (f"{path} ends inside its last time, which is left out ({rest} bytes).",) if rest else ()


def latest(path: Path | str, times: Sequence[float]) -> tuple[list[int], list[str]]:
    """Positions with increasing times. A run that went back to an older snapshot replaces the later times.

    :returns: positions, and a note if some are left out.
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
