"""Where series are: the usual endings of their paths, and whether there is something at a path."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

FileEngine = Literal["adios_hdf5", "bp4", "bp5", "hdf5", "mpiio", "raw", "sion"]
# Also those that store nothing.
OutputEngine = Literal["adios_hdf5", "bp4", "bp5", "hdf5", "mpiio", "null", "raw", "sion", "sst"]

EARLIER = ".earlier"  # behind the names of earlier results that are set aside
# What is put behind a name by engine; without an ending it is a directory of that name, or nothing.
SUFFIX = {"adios_hdf5": ".adios_hdf5", "bp4": ".bp4", "bp5": ".bp", "hdf5": ".h5", "sion": ".sion"}


def default_path(name: str, engine: str) -> str:
    """The path of a series of that name, where its user gives none."""
    return name + SUFFIX.get(engine, "")


def holds_something(path: Path) -> bool:
    """Whether there is a file, or a directory that is not empty; what is set aside does not count. Local."""
    return path.is_file() or (path.is_dir() and any(entry.suffix != EARLIER for entry in path.iterdir()))
