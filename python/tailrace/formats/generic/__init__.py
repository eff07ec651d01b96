"""Plain HDF5 files, XDMF files that name them, and BP directories of unknown programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tailrace.core import InputError
from tailrace.io.dataset import Dataset

from . import bp, hdf5, xdmf_steps

__all__ = ["dataset_at"]


def dataset_at(path: Path, parameters: Mapping[str, str] | None = None) -> Dataset | None:
    """The dataset of BP, HDF5, or XDMF with values in HDF5; None for other files, and for our own.

    :raises InputError: parameters are given; the formats here have none.
    """
    found = bp.dataset_at(path) or hdf5.dataset_at(path) or xdmf_steps.dataset_at(path)
    if found is not None and parameters:
        raise InputError(f"{path}: {found.format} has no parameters; found {', '.join(parameters)}")
    return found
