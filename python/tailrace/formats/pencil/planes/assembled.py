"""Averages and slices in files of processes or of all of them, assembled: a dataset of planes or lines over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored, StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.values import Scalar

from ..files.frames import Frames, latest
from ..run.dim import Run
from ..run.grid import read_points
from ..run.run_attributes import carried


@dataclass(frozen=True)
class PlanePart:
    """A file and the box of the plane that it has; values of one variable lie behind those of the other."""

    frames: Frames
    box: Box


class Planes(Dataset):
    """Variables that are constant or cut in one or two directions: their shape has one point there.

    :param kind: "averages/z", "slices/bb1_xy".
    :param shape: of each variable, x, y, z.
    :param first: index of the first step.
    :raises IoError: the files disagree about times.
    """

    format = "pencil"

    def __init__(
        self, path: str, run: Run, kind: str, names: tuple[str, ...], shape: Triple, parts: list[PlanePart], first: int
    ) -> None:
        super().__init__(path)
        self._names, self._shape, self._parts = names, shape, parts
        count = min(part.frames.count for part in parts)
        times = parts[0].frames.times()[:count]
        self._kept, self.notes = latest(path, times)
        if any(part.frames.count != count for part in parts):
            self.notes.append(f"Some processes have written more than {count} times; those that all have are read.")
        self.steps = [(first + at, times[frame]) for at, frame in enumerate(self._kept)]
        self._times = [times[frame] for frame in self._kept]
        self.files = sorted(str(part.frames.path) for part in parts)
        describe(self, run, kind, shape)

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        dtype = "float32" if np.dtype(self._parts[0].frames.real).itemsize == 4 else "float64"
        return dict.fromkeys(self._names, Stored(dtype, self._shape, False))

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        variable = self._names.index(name)
        for part in self._parts:
            low = [max(a, b) for a, b in zip(box.start, part.box.start, strict=True)]
            high = [
                min(a + n, b + m)
                for a, n, b, m in zip(box.start, box.count, part.box.start, part.box.count, strict=True)
            ]
            if any(a >= b for a, b in zip(low, high, strict=True)):
                continue
            frames = part.frames
            self._check_time(frames, position)
            one = int(np.prod(part.box.count, dtype=object)) * np.dtype(frames.real).itemsize
            begin = self._kept[position] * frames.size + frames.data + variable * one
            count = triple(b - a for a, b in zip(low, high, strict=True))
            inner = Box(triple(a - b for a, b in zip(low, part.box.start, strict=True)), count)
            x, y, z = (slice(a - b, c - b) for a, c, b in zip(low, high, box.start, strict=True))
            FlatArray(frames.path, begin, part.box.count, frames.real).read(inner, out[z, y, x])

    def _check_time(self, frames: Frames, position: int) -> None:
        """A process that was started again alone, or a file of another run, has other times."""
        time, expected = frames.time_of(self._kept[position]), self._times[position]
        if time != expected:
            raise IoError(
                f"{frames.path}: its record {self._kept[position]} has the time {time:.17g}; the other processes have "
                f"{expected:.17g} there"
            )

    def check(self, position: int) -> list[str]:
        """See `Dataset.check`."""
        found = []
        for part in self._parts:
            try:
                self._check_time(part.frames, position)
            except IoError as error:
                found.append(str(error))
        return found


class Slices(Planes):
    """One field in one plane.

    Scalars are `position` and `coordinate`, the number of the grid point, counted from 1 with ghost zones.
    """

    def __init__(
        self, path: str, run: Run, kind: str, names: tuple[str, ...], shape: Triple, parts: list[PlanePart]
    ) -> None:
        super().__init__(path, run, kind, names, shape, parts, 1)
        normal = next((at for at, axis in enumerate("xyz") if axis not in kind.rpartition("_")[2]), 2)
        points = read_points(run)
        along = () if points is None else points.axes[normal].points
        g = run.dim.ghosts[normal]
        self._along = [float(value) for value in along[: len(along) - g]]

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset.scalars`."""
        frames = self._parts[0].frames
        size = np.dtype(frames.real).itemsize
        begin = self._kept[position] * frames.size + frames.time + size
        value = np.empty((1, 1, 1), frames.real)
        FlatArray(frames.path, begin, (1, 1, 1), frames.real).read(Box((0, 0, 0), (1, 1, 1)), value)
        place = float(value[0, 0, 0])
        found: dict[str, Scalar] = {"position": place}
        if self._along:
            found["coordinate"] = int(np.argmin(np.abs(np.array(self._along) - place))) + 1
        return found


def describe(dataset: Dataset, run: Run, kind: str, shape: Triple) -> None:
    """Give a dataset of planes its grid, and what a writer of the same format needs."""
    points = read_points(run)
    dataset.attributes = {**carried(run, points), "pencil/file": kind}
    if points is None:
        return
    whole = points.placed(False, None)
    if any(n not in (1, m) for n, m in zip(shape, whole.points, strict=True)):
        return
    coordinates = whole.coordinates if isinstance(whole, StretchedGrid) else ((), (), ())
    if any(len(along) for along in coordinates):
        x, y, z = (along if n > 1 else () for along, n in zip(coordinates, shape, strict=True))
        dataset.grid = StretchedGrid(shape, whole.origin, whole.spacing, coordinates=(x, y, z))
    else:
        dataset.grid = UniformGrid(shape, whole.origin, whole.spacing)
