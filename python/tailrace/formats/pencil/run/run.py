"""The common data of all files of a data directory of the Pencil Code, read once when a path in it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailrace.core import IoError
from tailrace.formats.file_bytes import is_hdf5
from tailrace.formats.texts import read_text
from tailrace.grids import Triple

from ..files.hdf5 import open_hdf5
from .dimensions import Dimensions, dim_in, dim_of_hdf5, process_place, read_dim
from .grid import Points, read_points
from .names import field_names
from .parameters import MOST_BYTES, Value, parse_parameters

_NEEDED = ("index.pro", "varname.dat", "param.nml", "param2.nml")
_MORE = ("particle_index.pro", "legend.dat", "pdim.dat")  # not needed to read fields


@dataclass(frozen=True, eq=False)
class PencilRun:
    """The common data of all files of a run.

    :param data: the data directory.
    :param dim: the sizes of the whole grid.
    :param points: the whole grid, with ghost zones; None if no file has it.
    :param fields: names of the fields of a snapshot in their order, from `index.pro` and `varname.dat`.
    :param aliases: another usual name of a field -> the name in `fields`.
    :param parameters: "init_pars/lperi" -> values, from `param.nml` and `param2.nml`; the latter is preferred.
    :param texts: its small files by their names; "" for a missing file.
    """

    data: Path
    dim: Dimensions
    points: Points | None = None
    fields: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, list[Value]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    _places: dict[int, Triple] = field(default_factory=dict, repr=False)  # those that were read

    def parameter(self, *names: str) -> Any:
        """The first value of the first of these parameters that exists, else None."""
        return next((self.parameters[name][0] for name in names if self.parameters.get(name)), None)

    def place(self, process: int) -> Triple:
        """Position of a process in the grid of processes: from its own `dim.dat`, else by its number.

        :raises IoError: its `dim.dat` contradicts that of the data directory.
        """
        if process not in self._places:
            y_is_slowest = self.parameter("init_pars/lprocz_slowest") is False
            self._places[process] = process_place(self.data, self.dim, process, y_is_slowest)
        return self._places[process]

    def process_files(self, name: str) -> Iterator[tuple[int, Path]]:
        """The number of each process, and the path of its file of the given name."""
        for process in range(self.dim.ranks):
            yield process, self.data / f"proc{process}" / name


def read_run(data: Path, dim: Dimensions, points: Points | None = None) -> PencilRun:
    """Read the common data of a data directory.

    :param points: the grid, if it is known; otherwise it is read.
    :raises IoError: one of its texts or its grid is damaged, or does not fit the sizes.
    """
    texts = {name: read_text(data / name, MOST_BYTES) for name in _NEEDED}
    for name in _MORE:
        try:
            texts[name] = read_text(data / name)
        except IoError:
            texts[name] = ""  # not a text of the code
    fields, aliases = field_names(texts["index.pro"], texts["varname.dat"], dim.fields)
    parameters = {**parse_parameters(texts["param.nml"]), **parse_parameters(texts["param2.nml"])}
    run = PencilRun(data, dim, points, fields, aliases, parameters, texts)
    return run if points is not None else replace(run, points=read_points(data, dim, run.place))


def run_in(data: Path, hdf5: Sequence[Path] = ()) -> PencilRun:
    """The run of a data directory.

    :param hdf5: files that may have its sizes, too.
    :raises IoError: no file has its sizes, or one of its files is damaged.
    """
    whole = dim_in(data)
    if whole is not None:
        return read_run(data, whole)
    for path in filter(is_hdf5, (*hdf5, data / "grid.h5")):
        with open_hdf5(path) as file:
            dim = dim_of_hdf5(file)
        if dim is not None:
            return read_run(data, dim)
    raise IoError(
        f"{data}: has neither a dim.dat, here or of its processes, nor a HDF5 file with settings: the sizes are not "
        "known"
    )


def has_sizes(data: Path) -> bool:
    """Whether a file of a data directory has its sizes."""
    named = (data / name for name in ("dim.dat", "grid.h5"))
    return any(path.is_file() for path in named) or any(data.glob("proc[0-9]*/dim.dat"))


def find_data(path: Path) -> Path | None:
    """The data directory at a path: the path itself, or its `data`; else None."""
    for directory in (path, path / "data"):
        if directory.is_dir() and _is_data(directory):
            return directory
    return None


def _is_data(directory: Path) -> bool:
    texts = [(directory / name).is_file() for name in ("index.pro", "param.nml")]
    if any(texts) or not (directory / "dim.dat").is_file():
        return all(texts) or (directory / "dim.dat").is_file()
    try:
        read_dim(directory / "dim.dat")
    except IoError:
        return False
    return True


def data_above(path: Path) -> Path | None:
    """The data directory of a file: its directory or the one above; None if neither is one."""
    directories = (path.absolute().parent.parent, path.absolute().parent)
    return next((directory for directory in directories if find_data(directory) == directory), None)
