"""Averages: `zaverages.dat` of each process or of all, `xyaverages.dat` as text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError, IoError
from tailrace.formats.file_bytes import head
from tailrace.formats.texts import read_text
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box

from ..files.frames import Frames, whole_frames
from ..files.records import Records
from ..run.run import PencilRun
from ..snapshots.byte_order import frames_in_order
from .assembled import PlanePart, Planes, parts_of_processes
from .dataset import flat_box
from .text_averages import TextAverages

_NAME = re.compile(r"(x|y|z|xy|xz|yz)averages\.dat")
_COUNTERS = {"z": "nnamexy", "y": "nnamexz", "xy": "nnamez", "xz": "nnamey", "yz": "nnamex"}


def is_average(path: Path) -> bool:
    """Whether a file has averages, by its name."""
    return _NAME.fullmatch(path.name) is not None


def averages_at(path: Path, run: PencilRun, parameters: Mapping[str, str] | None = None) -> Dataset:
    """The averages over the directions in the name of a file.

    :param path: the file of any process, or of all.
    :param parameters: "names", with commas, if there is no list such as `zaver.in` beside the data directory.
    :raises InputError: the number of names is not that of the averages.
    :raises IoError: a file is missing, damaged, or of another size than `dim.dat` says.
    """
    match = _NAME.fullmatch(path.name)
    assert match is not None
    over = match[1]
    whole = flat_box(Box((0, 0, 0), run.dim.points), *("xyz".index(axis) for axis in over))
    names = _names(run, over, parameters or {})
    if len(over) == 2 and b"\0" not in head(path, 64):
        return TextAverages(str(path), run, f"averages/{over}", names, whole.count, _counter(run, over))
    if len(over) == 2:
        parts = [_part(path, run, whole)]
    elif path.parent.name == "allprocs":
        parts = [_raw_part(path, run, whole, len(names) or _counter(run, over))]
    else:
        parts = parts_of_processes(path, run, "xyz".index(over), _part, True)
    count = parts[0].variables
    if len(names or range(count)) != count:
        raise InputError(f"{path}: has {count} averages at each time; found {len(names)} names: {', '.join(names)}")
    numbered = tuple(f"average{at + 1}" for at in range(count))
    planes = Planes(str(path), run, f"averages/{over}", names or numbered, whole.count, parts, 0)
    if not names:
        planes.notes.append(
            f"The names of the averages are not known, as there is no {over}aver.in beside the data directory; the "
            "parameter 'names' gives them."
        )
    return planes


def _names(run: PencilRun, over: str, parameters: Mapping[str, str]) -> tuple[str, ...]:
    if "names" in parameters:
        names = tuple(name.strip() for name in parameters["names"].split(","))
        wrong = next((name for name in names if not re.fullmatch(r"\w{1,64}", name)), None)
        if wrong is not None or len(set(names)) != len(names):
            raise InputError(f"names: expected different names with commas, found {parameters['names'][:80]!r}")
        return names
    for directory in (run.data.parent, run.data):
        path = directory / f"{over}aver.in"
        if path.is_file():
            words = [re.split(r"[\s(#!]", line.strip())[0] for line in read_text(path).splitlines()]
            return tuple(dict.fromkeys(word for word in words if re.fullmatch(r"\w{1,64}", word)))
    return ()


def _raw_part(path: Path, run: PencilRun, box: Box, count: int) -> PlanePart:
    """A file without records (io_mpi2), with `count` averages at each time."""
    if not count:
        raise IoError(
            f"{path}: nothing says how many averages it has at each time; give their names by the parameter 'names'"
        )
    width = run.dim.width
    return PlanePart(frames_in_order(run, path, (1 + count * math.prod(box.count)) * width, 0, width), box, count)


def _counter(run: PencilRun, over: str) -> int:
    line = rf"^\s*{_COUNTERS.get(over, 'n')}=(\d{{1,6}})\s*$"
    match = re.search(line, run.texts["index.pro"], re.MULTILINE)
    return int(match[1]) if match else 0


def _part(path: Path, run: PencilRun, box: Box) -> PlanePart:
    """A file with two records at each time: time; values."""
    real = run.dim.width
    average = math.prod(box.count) * real
    with Records(path) as records:
        order, first = records.order, records.at(0)
        values = records.at(first.end).size if first.size == real else 0
    if first.size != real or values % average or not values:
        raise IoError(
            f"{path}: its first records have {first.size} and {values} bytes; expected {real}, a time of precision "
            f"{run.dim.precision}, and a multiple of {average}: averages of {' x '.join(map(str, box.count))} points"
        )
    size = real + values + 16
    count, notes = whole_frames(path, size, True)
    at = 8 + real
    marks = ((0, real), (4 + real, real), (at, values), (size - 4, values))
    return PlanePart(Frames(path, order + run.dim.real, size, 4, at + 4, marks, count, notes), box, values // average)
