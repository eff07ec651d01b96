"""Open HDF5 files of other programs."""

from __future__ import annotations

from pathlib import Path

import h5py

FAULTS = (OSError, RuntimeError, ValueError, KeyError, TypeError)  # what h5py raises on damaged files


def open_hdf5(path: str | Path) -> h5py.File:
    """A file to be read, without a lock, so that a program may write it at the same time.

    HDF5 refuses to open a file twice in a process with different locking modes. If the caller has it open in another
    mode, that mode is used.

    :raises OSError: one of `FAULTS`, the errors of h5py on damaged files.
    """
    for locking in (False, "best-effort"):
        try:
            return h5py.File(path, "r", locking=locking)
        except OSError as error:
            if "flag values don't match" not in str(error):
                raise
    return h5py.File(path, "r", locking=True)
