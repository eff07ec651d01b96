"""Averages: `zaverages.dat` of each process or of all, `xyaverages.dat` as text. All functions are local."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tailrace.core import InputError, IoError
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Triple, triple

from ..files.frames import Frames, whole_frames
from ..files.records import Records
from ..run.dim import Run, read_text
from ..snapshots.byte_order import frames_in_order
from .assembled import PlanePart, Planes
from .text_averages import TextAverages

_NAME = re.compile(r"(x|y|z|xy|xz|yz)averages\.dat")
_COUNTERS = {"z": "nnamexy", "y": "nnamexz", "xy": "nnamez", "xz": "nnamey", "yz": "nnamex"}


def is_average(path: Path) -> bool:
    """By its name."""
    return _NAME.fullmatch(path.name) is not None


def averages_at(path: Path, run: Run, parameters: Mapping[str, str]) -> Dataset:
    """The averages over the directions that the name of a file says.

    :param path: the file of any of the processes, or of all.
    :param parameters: "names", with commas, where there is no list of them, such as `zaver.in`, beside the data
        directory.
    :raises InputError: the names are not as many as the averages.
    :raises IoError: a file is missing, damaged, or of another size than `dim.dat` says.
    """
    match = _NAME.fullmatch(path.name)
    assert match is not None
    over = match[1]
    shape = triple(1 if axis in over else n for axis, n in zip("xyz", run.dim.points, strict=True))
    if len(over) == 2 and _is_text(path):
        names = _names(run, over, parameters)
        return TextAverages(str(path), run, f"averages/{over}", names, shape, _counter(run, over))
    if path.parent.name == "allprocs" or len(over) == 2:
        parts, count, notes = _of_all(path, run, over, shape, parameters)
    else:
        parts, count, notes = _of_processes(path, run, over, shape)
    names = _names(run, over, parameters) or tuple(f"average{at + 1}" for at in range(count))
    if len(names) != count:
        raise InputError(f"{path}: has {count} averages at each time; found {len(names)} names: {', '.join(names)}")
    found = Planes(str(path), run, f"averages/{over}", names, shape, parts, 0)
    found.notes = notes + found.notes
    if names[0] == "average1":
        found.notes.append(
            f"The names of the averages are not known, as there is no {over}aver.in beside the data directory; the "
            "parameter 'names' gives them."
        )
    return found


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(64)


def _names(run: Run, over: str, parameters: Mapping[str, str]) -> tuple[str, ...]:
    """From the parameter, or from the list that the run has read."""
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


def _of_all(
    path: Path, run: Run, over: str, shape: Triple, parameters: Mapping[str, str]
) -> tuple[list[PlanePart], int, list[str]]:
    """One file: without records (io_mpi2), or with them (averages of one dimension in binary form)."""
    real = np.dtype(run.dim.real).itemsize
    one = int(np.prod(shape, dtype=object)) * real
    if len(over) == 2:
        frames, count, notes = _records(path, run, shape)
        return [PlanePart(frames, Box((0, 0, 0), shape))], count, notes
    names = _names(run, over, parameters)
    count = len(names) or _counter(run, over)
    if not count:
        raise IoError(
            f"{path}: nothing says how many averages it has at each time; give their names by the parameter 'names'"
        )
    size = real + count * one
    found, _ = whole_frames(path, size, False)
    frames, notes = frames_in_order(run, Frames(path, f"<{run.dim.real}", size, 0, real, (), found))
    return [PlanePart(frames, Box((0, 0, 0), shape))], count, notes


def _counter(run: Run, over: str) -> int:
    path = run.data / "index.pro"
    text = read_text(path) if path.is_file() else ""
    match = re.search(rf"^\s*{_COUNTERS.get(over, 'n')}=(\d{{1,6}})\s*$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _of_processes(path: Path, run: Run, over: str, whole: Triple) -> tuple[list[PlanePart], int, list[str]]:
    flat = "xyz".index(over)
    local = triple(1 if at == flat else n for at, n in enumerate(run.dim.local().points))
    assert run.dim.processes is not None
    parts, counts, notes = [], set(), []
    for process in range(int(np.prod(run.dim.processes))):
        place = run.place(process)
        file = run.data / f"proc{process}" / path.name
        if place[flat] or not file.is_file():  # only the first process of those that are averaged writes
            continue
        frames, count, more = _records(file, run, local)
        start = triple(0 if at == flat else i * n for at, (i, n) in enumerate(zip(place, local, strict=True)))
        parts.append(PlanePart(frames, Box(start, local)))
        counts.add(count)
        notes += more
    covered = sum(int(np.prod(part.box.count)) for part in parts)
    if covered != int(np.prod(whole)) or len(counts) != 1:
        raise IoError(
            f"{path}: the files of this name in proc0, proc1, ... have {covered} points of {sorted(counts)} averages; "
            f"expected {' x '.join(map(str, whole))} points of equally many: a file is missing, or is of another run"
        )
    return parts, counts.pop(), notes


def _records(path: Path, run: Run, shape: Triple) -> tuple[Frames, int, list[str]]:
    """Two records each: time; values."""
    real = np.dtype(run.dim.real).itemsize
    one = int(np.prod(shape, dtype=object)) * real
    with Records(path) as records:
        order, head = records.order, records.at(0)
        values = records.at(head.end).size if head.size == real else 0
    if head.size != real or values % one or not values:
        raise IoError(
            f"{path}: its first records have {head.size} and {values} bytes; expected {real}, a time of precision "
            f"{run.dim.precision}, and a multiple of {one}: averages of {' x '.join(map(str, shape))} points"
        )
    size = real + values + 16
    count, notes = whole_frames(path, size, True)
    at = 8 + real
    marks = ((0, real), (4 + real, real), (at, values), (size - 4, values))
    return Frames(path, order + run.dim.real, size, 4, at + 4, marks, count), values // one, notes
