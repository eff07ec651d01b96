"""Slices: `slice_bb1.xy` of each process or of all of them. All functions are local."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tailrace.core import IoError
from tailrace.io.placement import Box, Triple, triple

from ..files.frames import Frames, whole_frames
from ..files.records import Records
from ..run.dim import Run
from ..snapshots.byte_order import frames_in_order
from .assembled import PlanePart, Slices

_NAME = re.compile(r"slice_(\w{1,60})\.((xy|xz|yz)\d?)", re.ASCII)


def is_slice(path: Path) -> bool:
    """By its name."""
    return _NAME.fullmatch(path.name) is not None


def slices_at(path: Path, run: Run) -> Slices:
    """The slices of one field in one plane, of all processes that the plane goes through.

    :param path: the file of any of the processes, or that in `allprocs`.
    :raises IoError: a file is missing, damaged, or of another size than `dim.dat` says.
    """
    match = _NAME.fullmatch(path.name)
    assert match is not None
    field, plane = match[1], match[2]
    flat = next(at for at, axis in enumerate("xyz") if axis not in plane)
    whole = _plane(run.dim.points, flat)
    notes: list[str] = []
    if path.parent.name == "allprocs":
        frames, notes = frames_in_order(run, _raw(path, run, whole))
        parts = [PlanePart(frames, Box((0, 0, 0), whole))]
    else:
        parts = []
        assert run.dim.processes is not None
        local = _plane(run.dim.local().points, flat)
        for process in range(int(np.prod(run.dim.processes))):
            file = run.data / f"proc{process}" / path.name
            if file.is_file():
                place = run.place(process)
                start = triple(0 if at == flat else i * n for at, (i, n) in enumerate(zip(place, local, strict=True)))
                frames, more = _records(file, run, local)
                parts.append(PlanePart(frames, Box(start, local)))
                notes += more
        _check_whole(path, parts, whole)
    found = Slices(str(path), run, f"slices/{field}_{plane}", (field,), whole, parts)
    found.notes = notes + found.notes
    return found


def _plane(points: Triple, flat: int) -> Triple:
    return triple(1 if at == flat else n for at, n in enumerate(points))


def _check_whole(path: Path, parts: list[PlanePart], whole: Triple) -> None:
    starts = [part.box.start for part in parts]
    covered = sum(int(np.prod(part.box.count)) for part in parts)
    if len(set(starts)) != len(starts) or covered != int(np.prod(whole)):
        raise IoError(
            f"{path}: the files of this name in proc0, proc1, ... have {covered} points at {len(set(starts))} places; "
            f"expected a plane of {' x '.join(map(str, whole))} points: a file is missing, or is of another run"
        )


def _records(path: Path, run: Run, shape: Triple) -> tuple[Frames, list[str]]:
    """A record each: values, time, position, and in newer versions the time once more."""
    real = np.dtype(run.dim.real).itemsize
    values = int(np.prod(shape, dtype=object)) * real
    with Records(path) as records:
        order, first = records.order, records.at(0).size
    if first not in (values + 2 * real, values + 3 * real):
        raise IoError(
            f"{path}: its first record has {first} bytes; expected {values + 2 * real}: {' x '.join(map(str, shape))} "
            f"values of precision {run.dim.precision}, time and position"
        )
    size = first + 8
    count, notes = whole_frames(path, size, True)
    frames = Frames(path, order + run.dim.real, size, 4 + values, 4, ((0, first), (size - 4, first)), count)
    return frames, notes


def _raw(path: Path, run: Run, shape: Triple) -> Frames:
    """Without records (io_mpi2)."""
    real = np.dtype(run.dim.real).itemsize
    values = int(np.prod(shape, dtype=object)) * real
    count, _ = whole_frames(path, values + 2 * real, False)
    return Frames(path, f"<{run.dim.real}", values + 2 * real, values, 0, (), count)
