"""Data directories of the Pencil Code: snapshots of its five output strategies, averages, slices, particles.

    tr.open("run")                      the snapshots of a run directory, or of its data directory, as one series
    tr.open("run/data/allprocs/VAR1")   one snapshot
    tr.open("run/data/proc0/VAR1")      the part of one process, or of a layer of processes
    tr.open("run/data/slices/bb1_xy.h5")    averages, slices, particles, stalkers or time series, see `auxiliary`

The parameter ghosts="true" adds the ghost zones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tailrace.core import IoError
from tailrace.formats.file_bytes import is_hdf5
from tailrace.io.dataset import Dataset

from .auxiliary import auxiliary_at, auxiliary_in
from .files.hdf5 import has_group, open_hdf5
from .run.dimensions import Dimensions, dim_in, dim_of_hdf5, read_dim
from .run.grid import points_of_hdf5, read_grid_file
from .run.run import PencilRun, data_above, find_data, read_run, run_in
from .run.sources import SnapshotSource, snapshots_in, source_at
from .snapshots.dataset import PencilSnapshots, Snapshot, ghosts_wanted, opened
from .snapshots.fortran import FortranSnapshot


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The snapshots at a path; None if they are not of the Pencil Code. Raises InputError if a parameter is unknown."""
    given = dict(parameters or {})
    if path.is_dir():
        data = find_data(path)
        series = None if data is None else _series(path, data, given)
        return series or auxiliary_at(path, given)
    other = auxiliary_at(path, given)
    if other is not None or not path.is_file():
        return other
    if is_hdf5(path):
        return _hdf5_file(path, given)
    source = source_at(path)
    return None if source is None else _fortran_file(path, source, given)


def _series(path: Path, data: Path, given: dict[str, str]) -> Dataset | None:
    sources, notes = snapshots_in(data)
    if not sources:
        return None
    hdf5 = [source.path for source in sources if source.is_hdf5]
    run = run_in(data, hdf5)
    if not hdf5 and not (data / "dim.dat").exists():
        notes.append(f"dim.dat is missing; the sizes are those of the dim.dat of its {run.dim.ranks} processes.")
    if run.points is None and hdf5:
        with open_hdf5(hdf5[0]) as file:
            run = replace(run, points=points_of_hdf5(file, run.dim))
    snapshots: list[Snapshot] = []
    left_out: list[str] = []
    for source in sources:
        try:
            snapshot = opened(source, run)
        except IoError as error:
            if source is not sources[-1] or len(sources) == 1:
                raise
            left_out.append(f"The last snapshot is left out, it may still be written: {error}.")
            continue
        if source.number is None and any(snapshot.time == other.time for other in snapshots):
            notes.append(f"{source.path} is left out: it is of time {snapshot.time:.8g}, as another snapshot.")
        else:
            snapshots.append(snapshot)
    made = PencilSnapshots(str(path), run, snapshots, ghosts_wanted(path, given))
    made.notes[:0] = notes
    made.left_out = left_out
    made.auxiliary = auxiliary_in(data)
    made.notes.append(f"Written by {', '.join(sorted({snapshot.kind for snapshot in snapshots}))}.")
    return made


def _hdf5_file(path: Path, given: dict[str, str]) -> Dataset | None:
    with open_hdf5(path) as file:
        dim = dim_of_hdf5(file) if has_group(file, "data") else None
        if dim is None:
            return None
        points = points_of_hdf5(file, dim)
    data = data_above(path)
    run = PencilRun(path.absolute().parent, dim, points) if data is None else read_run(data, dim, points)
    source = source_at(path) or SnapshotSource(None, path)
    return PencilSnapshots(str(path), run, [opened(source, run)], ghosts_wanted(path, given))


def _fortran_file(path: Path, source: SnapshotSource, given: dict[str, str]) -> Dataset | None:
    directory = path.absolute().parent
    data = directory.parent
    whole = _dim_of_all(data)
    if whole is not None:
        run = read_run(data, whole)
        snapshot = FortranSnapshot(run, source)
        if snapshot.is_whole:
            return PencilSnapshots(str(path), run, [snapshot], ghosts_wanted(path, given))
        match = re.fullmatch(r"proc(\d{1,6})", directory.name)
        if match is None:
            return None
        run = snapshot.part_of(int(match[1]))
    elif (directory / "dim.dat").exists():
        dim, grid = replace(read_dim(directory / "dim.dat"), processes=None), directory / "grid.dat"
        run = read_run(data, dim, read_grid_file(grid, dim) if grid.exists() else None)
    else:
        return None
    made = PencilSnapshots(str(path), run, [FortranSnapshot(run, source)], ghosts_wanted(path, given))
    where = f"open {data} for the whole" if whole else f"{data} has neither a dim.dat nor those of all processes"
    made.notes.append(f"This is the part of {directory.name} only; {where}.")
    return made


def _dim_of_all(data: Path) -> Dimensions | None:
    """The sizes of a data directory; None if they are not known, as where directories of processes are missing."""
    try:
        return dim_in(data)
    except IoError:
        if (data / "dim.dat").exists():
            raise
        return None
