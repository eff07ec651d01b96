"""Where series are: the usual endings of their paths, and whether there is something at a path."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

FileEngine = Literal["adios_hdf5", "bp4", "bp5", "hdf5", "mpiio", "raw", "sion"]

# What is put behind a name by engine; without an ending it is a directory of that name, or nothing.
SUFFIX = {
    "adios_hdf5": ".adios_hdf5",
    "bp4": ".bp4",
    "bp5": ".bp",
    "hdf5": ".h5",
    "mpiio": "",
    "null": "",
    "raw": "",
    "sion": ".sion",
}


def holds_something(path: Path) -> bool:
    """Whether there is a file, or a directory that is not empty. Local."""
    return path.is_file() or (path.is_dir() and any(path.iterdir()))
