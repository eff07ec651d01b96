"""Plain HDF5 files and BP directories of programs that nobody here knows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.io.dataset import Dataset

from . import bp, hdf5

__all__ = ["dataset_at"]


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The dataset of a BP directory or an HDF5 file; None where there is none, or one of ours.

    :raises IoError: it is damaged.
    :raises InputError: there are parameters, and no format here has any.
    """
    found: Dataset | None = bp.dataset_at(path) or hdf5.dataset_at(path)
    if found is not None and parameters:
        raise InputError(f"{path}: {found.format} has no parameters; found {', '.join(parameters)}")
    return found
