"""Recognise by its content which program has written a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import Error, InputError, IoError, engine_at, is_series
from tailrace.io.dataset import Dataset
from tailrace.io.dataset_reader import DatasetReader
from tailrace.io.engines import ENGINES, engine_by_extension, is_stream
from tailrace.io.placement import Box
from tailrace.parallel import on_root

from . import joined
from .known import known_and_not_read
from .patterns import is_pattern

if TYPE_CHECKING:
    from mpi4py import MPI

# Each is a package here with the function `dataset_at(path, parameters) -> Dataset | None`, which returns None if the
# content is not of its formats. "generic" reads all other files that the libraries can read.
FAMILIES: tuple[str, ...] = ("xcompact3d", "pencil", "nektar", "sion", "vtk", "generic")
_BP = "bp"  # the family of engines that write directories of ADIOS2


def is_series_of_ours(path: Path) -> bool:
    """Whether the files at a path are a series of Tailrace, perhaps a damaged one.

    :raises OSError, IoError: the path is a named pipe, a socket or a device.
    """
    if is_stream(path) or is_series(str(path)):
        return True
    return not engine_at(str(path)) and (path / "series.xdmf").exists()  # a raw series whose record is lost


def series_of_run(path: str | PathLike[str]) -> Path:
    """The series that a run of ours has written in the directory of an Xcompact3D input; else the path itself. Local.

    What the run wrote says what it computed, which the input does not: values can be replaced by `--set`.
    """
    written = Path(path) / "data"
    try:
        inputs = any(Path(path).glob("*.i3d"))
        return written if inputs and not is_series(str(path)) and is_series_of_ours(written) else Path(path)
    except (OSError, Error):  # whoever opens the path says so
        return Path(path)


def is_foreign_bp(path: Path) -> bool:
    """Whether the path is a BP directory of another program."""
    found = ENGINES.get(engine_at(str(path))) if path.is_dir() else None
    return found is not None and found.family == _BP and not (path / "tailrace.json").exists()


def dataset_at(path: Path, family: str | None = None, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The dataset of another program at a path.

    :param family: one of `FAMILIES`; by default the first that knows the content.
    :returns: None for a series of ours, or unknown content.
    :raises IoError: it is of a known format, and damaged.
    :raises InputError: a parameter is unknown, or the family does not know the content.
    """
    try:
        if family is None and (not (path.exists() or is_pattern(path)) or (path.exists() and is_series_of_ours(path))):
            return None
        for name in FAMILIES if family is None else (family,):
            found: Dataset | None = import_module(f".{name}", __package__).dataset_at(path, dict(parameters or {}))
            if found is not None:
                return found
        if family is None and (many := joined.dataset_at(path, dataset_at, dict(parameters or {}))) is not None:
            return many
    except (Error, IoError):
        raise
    except OSError as error:
        raise IoError(f"cannot read {error.filename or path}: {error.strerror or error}") from None
    if family is not None:
        raise InputError(f"{path}: its content is not of the format '{family}'")
    return None


def format_at(path: Path) -> str:
    """The name of the format of another program's data at a path; "" for other content.

    :raises IoError: see `dataset_at`.
    """
    found = dataset_at(path)
    return found.format if found is not None else ""


def open_dataset(
    path: str | PathLike[str] | Sequence[str],
    comm: MPI.Comm,
    family: str | None,
    parameters: Mapping[str, str],
    guard: bool,
) -> DatasetReader | None:
    """The dataset of another program at a path, for all ranks; rank 0 recognises it. Collective.

    :param path: or a list of the files of one series.
    :param guard: a child process reads it first, see `tailrace.io.guard`.
    :raises InputError, IoError: see `dataset_at`.
    """

    def find() -> Dataset | None:
        try:
            if not isinstance(path, str | PathLike):
                return _of_list([Path(one).absolute() for one in path], family, guard)
            if guard:
                check_in_child(Path(path))
            return dataset_at(Path(path).absolute(), family, parameters)  # as it is when the program goes elsewhere
        except (Error, IoError):
            raise
        except OSError as error:  # a name that is too long, a directory that may not be read
            raise IoError(f"cannot open {path}: {error.strerror or error}") from None

    found = on_root(comm, find)
    return None if found is None else DatasetReader(found, comm)


def _of_list(paths: Sequence[Path], family: str | None, guard: bool) -> Dataset:
    """Files that the user lists, as one series."""
    if family is not None:
        raise InputError(f"a list of {len(paths)} files: the engine '{family}' reads one; to fix this, leave it out")
    for path in paths if guard else ():
        check_in_child(path)
    return joined.dataset_of(paths, ", ".join(one.name for one in paths[:3]), dataset_at)


def refuse_unknown(path: Path) -> None:
    """Raise an error if the path exists and no engine and no family knows it.

    :raises InputError: it is unknown; the message says what can be read.
    """
    ours = engine_by_extension(path) is not None  # then the engine reports what is wrong with the file
    if known := known_and_not_read(path):
        raise InputError(known)
    if path.is_file() and not ours and not engine_at(str(path)):
        raise InputError(
            f"{path}: is no series of Tailrace, nor a file of {', '.join(FAMILIES[:-1])}, nor HDF5 or BP; to fix this, "
            "name a file or directory of one of these (docs/formats.md says which can be read)"
        )


def check_in_child(path: Path) -> None:
    """Let a child process read the metadata of another program's data, and one value of each variable.

    :raises IoError: the child died while reading, or the data are damaged.
    """
    from tailrace.io import guard

    if is_pattern(path) or (path.exists() and not is_series_of_ours(path)):
        guard.call(path, engine_at(str(path)), f"{__name__}:read_a_little", fspath(path))


def format_in_child(path: Path) -> str:
    """Like `format_at`, in a child process: damaged files can crash libraries."""
    from tailrace.io import guard

    if is_series_of_ours(path):
        return ""
    return str(guard.call(path, engine_at(str(path)), f"{__name__}:format_at", path))


def read_a_little(path: str) -> None:
    """Open the data and read one value of each variable of each step."""
    found = dataset_at(Path(path))
    for position in range(len(found.steps)) if found is not None else ():
        assert found is not None
        found.scalars(position)
        for name, one in found.variables(position).items():
            if 0 not in one.shape:
                found.read(position, name, Box((0, 0, 0), (1, 1, 1)), np.empty((1, 1, 1), one.dtype))
