"""Slices: `slice_bb1.xy` of each process or of all of them."""

from __future__ import annotations

import math
import re
from pathlib import Path

from tailrace.core import IoError
from tailrace.io.placement import Box

from ..files.frames import Frames, whole_frames
from ..files.records import Records
from ..run.run import PencilRun
from ..snapshots.byte_order import frames_in_order
from .assembled import PlanePart, Slices, parts_of_processes
from .dataset import flat_box

_NAME = re.compile(r"slice_(\w{1,60})\.((xy|xz|yz)\d?)", re.ASCII)


def is_slice(path: Path) -> bool:
    """Whether a file has slices, by its name."""
    return _NAME.fullmatch(path.name) is not None


def slices_at(path: Path, run: PencilRun) -> Slices:
    """The slices of one field in one plane, from all processes that it crosses.

    :param path: the file of any process, or the one in `allprocs`.
    :raises IoError: a file is missing, damaged, or of another size than `dim.dat` says.
    """
    match = _NAME.fullmatch(path.name)
    assert match is not None
    field, plane = match[1], match[2]
    flat = next(at for at, axis in enumerate("xyz") if axis not in plane)
    whole = flat_box(Box((0, 0, 0), run.dim.points), flat)
    if path.parent.name == "allprocs":  # io_mpi2, without records
        values = math.prod(whole.count) * run.dim.width
        parts = [PlanePart(frames_in_order(run, path, values + 2 * run.dim.width, values, 0), whole)]
    else:
        parts = parts_of_processes(path, run, flat, _part, False)
    return Slices(str(path), run, field, plane, whole.count, parts)


def _part(path: Path, run: PencilRun, box: Box) -> PlanePart:
    """A file with a record for each time: values, time, position, and in newer versions the time once more."""
    real = run.dim.width
    values = math.prod(box.count) * real
    with Records(path) as records:
        order, first = records.order, records.at(0).size
    if first not in (values + 2 * real, values + 3 * real):
        raise IoError(
            f"{path}: its first record has {first} bytes; expected {values + 2 * real}: time, position and "
            f"{' x '.join(map(str, box.count))} values of precision {run.dim.precision}"
        )
    size = first + 8
    count, notes = whole_frames(path, size, True)
    marks = ((0, first), (size - 4, first))
    return PlanePart(Frames(path, order + run.dim.real, size, 4 + values, 4, marks, count, notes), box)
