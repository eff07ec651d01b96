"""Averages of one dimension as text, such as `xyaverages.dat`.

The time has its own line. The values of all averages follow, eight in a line, one average after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.fortran_numbers import real_of
from tailrace.grids import Triple
from tailrace.io.placement import Box, Stored

from ..files.frames import MOST_FRAMES, latest
from ..run.run import PencilRun
from .dataset import PlaneDataset

_LONGEST = 4096  # letters of a line


class TextAverages(PlaneDataset):
    """Averages over two directions.

    :param names: names of the averages; () if unknown.
    :param count: their number; 0 if unknown.
    """

    def __init__(
        self, path: str, run: PencilRun, kind: str, names: tuple[str, ...], shape: Triple, count: int = 0
    ) -> None:
        super().__init__(path, run, kind, shape)
        self._length, self._dtype = max(shape), run.dim.dtype
        times, self._places, count = self._scan(Path(path), len(names) or count)
        self._kept, more = latest(path, times)
        self.notes += more
        self.steps = [(at, times[frame]) for at, frame in enumerate(self._kept)]
        self._names = names or tuple(f"average{at + 1}" for at in range(count))
        if not names:
            self.notes.append("The names of the averages are not known; the parameter 'names' gives them.")
        self.notes.append("The values are read from a text of few digits.")
        self.files = [path]

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        return dict.fromkeys(self._names, Stored(self._dtype, self._shape, False))

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        if 0 in box.count:
            return
        begin = self._names.index(name) * self._length + max(box.start)
        wanted = int(np.prod(box.count))
        values: list[float] = []
        passed = 0
        with open_regular(self.path, "rb") as file:
            file.seek(self._places[self._kept[position]])
            while len(values) < wanted:
                words = _line(file, self.path)
                if not words:
                    raise IoError(f"{self.path}: ends at byte {file.tell()}, inside a time")
                first = max(0, begin - passed)
                values += words[first : first + wanted - len(values)]
                passed += len(words)
        out[...] = np.array(values).reshape(out.shape)

    def _scan(self, path: Path, count: int) -> tuple[list[float], list[int], int]:
        """The times, the places of their values, and the number of averages, found at the first time if unknown."""
        times: list[float] = []
        places: list[int] = []
        need = count * self._length
        passed: int | None = None  # values of the last time; None: a time must come
        with open_regular(path, "rb") as file:
            while len(times) < MOST_FRAMES and (words := _line(file, self.path)):
                if not need and passed and passed % self._length == 0 and len(words) == 1:
                    need, passed = passed, None
                if passed is None:
                    if len(words) != 1 or not np.isfinite(words[0]):
                        raise IoError(
                            f"{path}: the line before byte {file.tell()} has {len(words)} numbers; expected a time: "
                            f"the file is damaged, or its averages are not of {self._length} points"
                        )
                    times.append(words[0])
                    places.append(file.tell())
                    passed = 0
                    continue
                passed += len(words)
                if need and passed >= need:
                    if passed > need:
                        raise IoError(
                            f"{path}: has more than {need} values of the time {times[-1]:g} before byte {file.tell()}"
                        )
                    passed = None
        if passed is not None and not need and passed and passed % self._length == 0:
            need, passed = passed, None
        if passed is not None:
            self.notes.append(f"{path} ends inside its last time, which is left out.")
            times.pop()
            places.pop()
        if not times:
            raise IoError(f"{path}: has no complete time: each has a multiple of {self._length} values")
        return times, places, need // self._length


def _line(file: IO[bytes], path: str) -> list[float]:
    """The numbers of the next line that is not empty; [] at the end."""
    while raw := file.readline(_LONGEST):
        if not raw.endswith(b"\n") and len(raw) < _LONGEST:
            return []  # the run was killed, or is just writing it: the last number may not be whole
        try:
            found = [real_of(word) for word in raw.decode("latin-1").split()]
        except ValueError:
            raise IoError(
                f"{path}: expected numbers before byte {file.tell()}, found {raw[:60].decode('latin-1')!r}"
            ) from None
        if found:
            return found
    return []
