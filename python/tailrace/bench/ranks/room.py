"""Whether a directory has room for what is written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import on_root
from tailrace.text import size

if TYPE_CHECKING:
    from mpi4py import MPI

_ROOM = 1.2  # free bytes on the disk, in parts of the bytes that are written


def check_room(comm: MPI.Comm, directory: Path, needed: int) -> None:
    """Collective.

    :param needed: bytes that are written.
    :raises OSError: there is no room for them and a fifth more; on all ranks.
    """
    free = on_root(comm, lambda: shutil.disk_usage(directory).free)
    if free < _ROOM * needed:
        raise OSError(f"{size(free)} are free in the directory, and {size(_ROOM * needed)} are needed")
