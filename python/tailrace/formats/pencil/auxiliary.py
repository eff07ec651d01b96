"""Averages, slices, time series, particles and stalkers: the other files of a data directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.formats.file_bytes import is_hdf5
from tailrace.io.dataset import Dataset

from .particles.files import Particles, is_particles
from .particles.hdf5 import Hdf5Lists, is_lists
from .particles.stalkers import NAME as STALKERS
from .particles.stalkers import Stalkers
from .planes.averages import averages_at, is_average
from .planes.numbered import Numbered, is_numbered
from .planes.slices import is_slice, slices_at
from .run.run import PencilRun, data_above, find_data, has_sizes, run_in
from .time_series import TimeSeriesColumns, is_time_series

_MOST_LISTED = 1000
# A test for the name of a file, and the function that opens it.
_KINDS: tuple[tuple[Callable[[Path], bool], Callable[[Path, PencilRun], Dataset]], ...] = (
    (is_average, averages_at),
    (is_slice, slices_at),
    (is_particles, Particles),
    (lambda path: path.name == STALKERS, Stalkers),
    (is_numbered, Numbered),
    (is_lists, lambda path, run: Hdf5Lists(path, run, [path])),
)


def _opener(path: Path) -> Callable[[Path, PencilRun], Dataset] | None:
    return next((open_as for is_kind, open_as in _KINDS if is_kind(path)), None)


def auxiliary_at(path: Path, parameters: Mapping[str, str]) -> Dataset | None:
    """The averages, slices, particles, stalkers or the time series in a file; None for another file.

    :param parameters: "names" of averages, with commas, if no file has them.
    :raises IoError: it is damaged, or its data directory is.
    :raises InputError: a parameter is unknown or wrong.
    """
    if path.is_dir():
        return _alone(path, parameters)
    if not path.is_file():
        return None
    if path.name in ("time_series.dat", "time_series.h5") and is_time_series(path):
        _refuse(path, parameters, ())
        return TimeSeriesColumns(path, run_beside(path))
    open_as = _opener(path)
    run = None if open_as is None or (path.suffix == ".h5" and not is_hdf5(path)) else run_beside(path)
    if open_as is None or run is None:
        return None
    if open_as is averages_at:
        _refuse(path, parameters, ("names",))
        return averages_at(path, run, parameters)
    _refuse(path, parameters, ())
    return open_as(path, run)


def _alone(path: Path, parameters: Mapping[str, str]) -> Dataset | None:
    """The only content of a directory without snapshots, as after a conversion; None if it has several."""
    data = find_data(path) or (path if (path / "time_series.h5").is_file() else None)
    files = [] if data is None else [Path(file) for file in auxiliary_in(data)]
    if data is not None and {file.name for file in files} == {"time_series.dat", "time_series.h5"}:
        files = [data / "time_series.h5"]
    lists = [file for file in files if is_lists(file)]
    if lists == files and len(lists) > 1 and len({file.name[:3] for file in lists}) == 1:
        run = run_beside(lists[0])
        return None if run is None else Hdf5Lists(path, run, lists)
    return auxiliary_at(files[0], parameters) if len(files) == 1 else None


def _refuse(path: Path, parameters: Mapping[str, str], known: tuple[str, ...]) -> None:
    wrong = sorted(set(parameters) - set(known))
    if wrong:
        there = f"there is {', '.join(known)}" if known else "there are none"
        raise InputError(f"{path}: the parameter {wrong[0]!r} is unknown; {there}")


def run_beside(path: Path) -> PencilRun | None:
    """The run of the data directory of a file; None if it is not in one, or if no file has the sizes."""
    data = data_above(path)
    return run_in(data) if data is not None and has_sizes(data) else None


def auxiliary_in(data: Path) -> list[str]:
    """Paths in a data directory that can be opened by themselves; at most 1000, in the order of their names."""
    found: list[Path] = []
    for name in ("time_series.dat", "time_series.h5"):
        if (data / name).is_file() and is_time_series(data / name):
            found.append(data / name)
    files: dict[str, Path] = {}
    directories = [data, data / "averages", data / "slices", data / "allprocs"]
    processes = [path for path in data.glob("proc*") if path.name[4:].isdecimal() and path.is_dir()]
    directories += sorted(processes, key=lambda path: int(path.name[4:]))
    for directory in directories:
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            if _opener(path) is not None:
                files.setdefault(path.name, path)  # the file of the first process stands for those of all
    return [str(path) for path in [*found, *files.values()] if path.is_file()][:_MOST_LISTED]
