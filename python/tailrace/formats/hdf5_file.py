"""HDF5 files of other programs, opened in one way everywhere."""

from __future__ import annotations

from pathlib import Path

import h5py

FAULTS = (OSError, RuntimeError, ValueError, KeyError, TypeError)  # what h5py raises on damaged files


def open_hdf5(path: str | Path) -> h5py.File:
    """A file to be read, without a lock, so that a program may write it at the same time.

    HDF5 refuses to open a file twice in a process with different ways of locking: where the caller has it open in
    another way, that one is taken.

    :raises OSError: and what else h5py raises on damaged files.
    """
    for locking in (False, "best-effort"):
        try:
            return h5py.File(path, "r", locking=locking)
        except OSError as error:
            if "flag values don't match" not in str(error):
                raise
    return h5py.File(path, "r", locking=True)
