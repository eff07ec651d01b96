"""Averages and slices from files of processes, or of all of them, as planes or lines over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.damage import errors_of
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.overlaps import overlap
from tailrace.grids import Triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from ..files.frames import Frames, latest
from ..run.run import PencilRun
from .dataset import PlaneDataset, flat_box


@dataclass(frozen=True)
class PlanePart:
    """A file and its box of the plane; the variables follow each other."""

    frames: Frames
    box: Box
    variables: int = 1


def parts_of_processes(
    path: Path, run: PencilRun, flat: int, read: Callable[[Path, PencilRun, Box], PlanePart], first_only: bool
) -> list[PlanePart]:
    """The files of one name of all processes that have it; together they make a whole plane.

    :param flat: the direction that is cut or averaged.
    :param read: makes the part of a file.
    :param first_only: only the processes that are the first in that direction have written.
    :raises IoError: the files do not make a plane.
    """
    parts = []
    for process, file in run.process_files(path.name):
        if file.is_file() and not (first_only and run.place(process)[flat]):
            parts.append(read(file, run, flat_box(run.dim.box_at(run.place(process)), flat)))
    whole = flat_box(Box((0, 0, 0), run.dim.points), flat).count
    covered, starts = sum(math.prod(part.box.count) for part in parts), {part.box.start for part in parts}
    counts = {part.variables for part in parts}
    if len(starts) != len(parts) or covered != math.prod(whole) or len(counts) != 1:
        raise IoError(
            f"{path}: the files of this name in proc0, proc1, ... have {covered} points of {sorted(counts)} variables "
            f"at {len(starts)} places; expected {' x '.join(map(str, whole))} points of equally many: a file is "
            "missing, or is of another run"
        )
    return parts


class Planes(PlaneDataset):
    """Planes or lines in files of frames.

    :param names: names of the variables, in their order in a frame.
    :param first: index of the first step.
    :raises IoError: the files disagree about times.
    """

    def __init__(
        self,
        path: str,
        run: PencilRun,
        kind: str,
        names: tuple[str, ...],
        shape: Triple,
        parts: list[PlanePart],
        first: int,
    ) -> None:
        super().__init__(path, run, kind, shape)
        self._names, self._parts, self._dtype = names, parts, run.dim.dtype
        count = min(part.frames.count for part in parts)
        times = parts[0].frames.times()[:count]
        self._kept, more = latest(path, times)
        self.notes = [*(note for part in parts for note in part.frames.notes), *more]
        if any(part.frames.count != count for part in parts):
            self.notes.append(f"Some processes have written more than {count} times; those that all have are read.")
        self.steps = [(first + at, times[frame]) for at, frame in enumerate(self._kept)]
        self.files = sorted(str(part.frames.path) for part in parts)

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        return dict.fromkeys(self._names, Stored(self._dtype, self._shape, False))

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        variable = self._names.index(name)
        for part in self._parts:
            common, frames = overlap(box, part.box), part.frames
            if common is not None:
                inner, place = common
                self._check_time(frames, position)
                before = variable * math.prod(part.box.count) * np.dtype(frames.real).itemsize
                begin = self._kept[position] * frames.size + frames.data + before
                FlatArray(frames.path, begin, part.box.count, frames.real).read(inner, out[place])

    def _check_time(self, frames: Frames, position: int) -> None:
        """Check the time of a frame: a process that was restarted alone, or a file of another run, has other times."""
        time, expected = frames.time_of(self._kept[position]), self.steps[position][1]
        if time != expected:
            raise IoError(
                f"{frames.path}: its record {self._kept[position]} has the time {time:.17g}; the other processes have "
                f"{expected:.17g} there"
            )

    def check(self, position: int) -> list[str]:
        """See `Dataset.check`."""
        return errors_of(*(partial(self._check_time, part.frames, position) for part in self._parts))


class Slices(Planes):
    """One field in one plane.

    Scalars are `position` and `coordinate`, the number of the grid point, counted from 1 with ghost zones.
    """

    def __init__(
        self, path: str, run: PencilRun, field: str, plane: str, shape: Triple, parts: list[PlanePart]
    ) -> None:
        super().__init__(path, run, f"slices/{field}_{plane}", (field,), shape, parts, 1)
        normal = next(at for at, axis in enumerate("xyz") if axis not in plane)
        along = () if run.points is None else run.points.axes[normal].points
        self._along = [float(value) for value in along[: len(along) - run.dim.ghosts[normal]]]

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset.scalars`."""
        frames = self._parts[0].frames
        width = np.dtype(frames.real).itemsize
        place = frames.value_at(self._kept[position] * frames.size + frames.time + width)
        found: dict[str, Scalar] = {"position": place}
        if self._along:
            found["coordinate"] = int(np.argmin(np.abs(np.array(self._along) - place))) + 1
        return found
