"""Data directories of the Pencil Code: snapshots of its five output strategies, averages, slices, particles.

    tr.open("run")                      the snapshots of a run directory, or of its data directory, as one series
    tr.open("run/data/allprocs/VAR1")   one snapshot
    tr.open("run/data/proc0/VAR1")      the part of one process, or of a layer of processes
    tr.open("run/data/slices/bb1_xy.h5")    averages, slices, particles, stalkers or time series, see `others`

The parameter ghosts="true" adds the ghost zones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tailrace.core import IoError
from tailrace.io.dataset import Dataset

from .auxiliary import others_at, others_in
from .run.dim import Dim, Run, find_data, read_dim, read_run
from .run.found import Source, snapshots_in, source_at
from .run.grid import Points, points_of_hdf5, read_grid_file, read_points
from .snapshots.dataset import Snapshot, Snapshots, ghosts_wanted, opened
from .snapshots.fortran import RecordSnapshot
from .snapshots.hdf5 import dim_of_hdf5, is_hdf5, open_hdf5


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The snapshots at a path; None where there is nothing of the Pencil Code. Local.

    :raises IoError: they are damaged.
    :raises InputError: a parameter is unknown.
    """
    given = dict(parameters or {})
    if path.is_dir():
        data = find_data(path)
        found = None if data is None else _series(path, data, given)
        return found or others_at(path, given)
    other = others_at(path, given)
    if other is not None:
        return other
    source = source_at(path)
    if path.is_file():
        if is_hdf5(path):
            return _hdf5_file(path, given)
        return None if source is None else _record_file(path, source, given)
    return None


def _series(path: Path, data: Path, given: dict[str, str]) -> Dataset | None:
    sources, notes = snapshots_in(data)
    if not sources:
        return None
    dim = _dim_of(data, sources)
    run = read_run(data, dim)
    snapshots: list[Snapshot] = []
    left_out: list[str] = []
    for source in sources:
        try:
            one = opened(source, run)
        except IoError as error:
            if source is not sources[-1] or len(sources) == 1:
                raise
            left_out.append(f"The last snapshot is left out, it may still be written: {error}.")
            continue
        if source.number is None and any(one.time == other.time for other in snapshots):
            notes.append(f"{source.path} is left out: it is of time {one.time:.8g}, as another snapshot.")
        else:
            snapshots.append(one)
    made = Snapshots(str(path), run, _points_of(run, sources), snapshots, ghosts_wanted(path, given))
    made.notes[:0] = notes
    made.left_out = left_out
    made.others = others_in(data)
    made.notes.append(f"Written by {', '.join(sorted({one.kind for one in snapshots}))}.")
    return made


def _points_of(run: Run, sources: list[Source]) -> Points | None:
    found = read_points(run)
    for source in sources if found is None else ():
        if source.is_hdf5:
            with open_hdf5(source.path) as file:
                return points_of_hdf5(file, run.dim)
    return found


def _dim_of(data: Path, sources: list[Source]) -> Dim:
    if (data / "dim.dat").exists():
        return read_dim(data / "dim.dat")
    for path in (*(source.path for source in sources if source.is_hdf5), data / "grid.h5"):
        if is_hdf5(path):
            found = dim_of_hdf5(path)
            if found is not None:
                return found
    raise IoError(f"{data}: has neither a dim.dat nor a HDF5 file with settings: the sizes are not known")


def _hdf5_file(path: Path, given: dict[str, str]) -> Dataset | None:
    dim = dim_of_hdf5(path)
    if dim is None:
        return None
    run = _run_above(path, dim)
    source = source_at(path) or Source(path.stem, None, path)
    source = replace(source, path=path)
    snapshot: Snapshot = opened(source, run)
    with open_hdf5(path) as file:
        points = points_of_hdf5(file, dim)
    return Snapshots(str(path), run, points or read_points(run), [snapshot], ghosts_wanted(path, given))


def _run_above(path: Path, dim: Dim) -> Run:
    """What the data directory of a file says, where it is in one: names and parameters."""
    for directory in (path.absolute().parent.parent, path.absolute().parent):
        data = find_data(directory)
        if data == directory:
            return read_run(data, dim)
    return Run(path.absolute().parent, dim, (), {}, {})


def _record_file(path: Path, source: Source, given: dict[str, str]) -> Dataset | None:
    data = path.absolute().parent.parent
    if (data / "dim.dat").exists():
        run = read_run(data, read_dim(data / "dim.dat"))
        snapshot = RecordSnapshot(run, source)
        if snapshot.is_whole:
            return Snapshots(str(path), run, read_points(run), [snapshot], ghosts_wanted(path, given))
        match = re.fullmatch(r"proc(\d{1,6})", path.absolute().parent.name)
        if match is None:
            return None
        box, part = snapshot.part_of(int(match[1]))
        whole = read_points(run)
        points = None if whole is None else whole.cut(box)
    elif (path.parent / "dim.dat").exists():
        part = read_run(data, read_dim(path.parent / "dim.dat"))
        grid = path.parent / "grid.dat"
        points = read_grid_file(grid, part.dim) if grid.exists() else None
    else:
        return None
    alone: Snapshot = RecordSnapshot(part, source, alone=True)
    made = Snapshots(str(path), part, points, [alone], ghosts_wanted(path, given), whole=False)
    made.notes.append(f"This is the part of {path.absolute().parent.name} only; open {data} for the whole.")
    return made
