"""Where the Python packages of ParaView are. All is local."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PLACE = "TAILRACE_PARAVIEW"  # the variable that names the place
INSTALL = (
    "install ParaView with Python and MPI (Debian: paraview python3-paraview xvfb libgl1-mesa-dri; on a cluster: load "
    f"its module), or set {PLACE} to its directory"
)
_PACKAGES = ("paraview", "vtkmodules")
_BELOW = ("", "lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/paraview*/site-packages")


class CatalystError(RuntimeError):
    """ParaView is not there, does not load, or has failed."""


def packages() -> Path | None:
    """The directory that holds the packages of ParaView; None if there is none.

    It is looked for in `TAILRACE_PARAVIEW`, which is that directory or that of an installation, then where Python looks
    for packages, in the installation of the program pvpython, and where Debian has it.
    """
    return next((place for place in _places() if (place / "paraview" / "catalyst").is_dir()), None)


def _places() -> Iterator[Path]:
    if told := os.environ.get(PLACE):
        yield from _below(Path(told))
        return
    yield from map(Path, sys.path)
    if program := shutil.which("pvpython"):
        yield from _below(Path(os.path.realpath(program)).parent.parent)
    yield Path("/usr/lib/python3/dist-packages")


def _below(prefix: Path) -> Iterator[Path]:
    for pattern in _BELOW:
        yield from sorted(prefix.glob(pattern)) if pattern else [prefix]


def linked(place: Path) -> tempfile.TemporaryDirectory[str]:
    """A directory that has only links to the packages of ParaView, to stand first on Python's path.

    The whole directory of an installation cannot: it may have another NumPy, and a wheel of VTK must not come before
    ParaView's own.
    """
    folder = tempfile.TemporaryDirectory(prefix="tailrace-paraview-")
    for name in _PACKAGES:
        if (place / name).is_dir():
            (Path(folder.name) / name).symlink_to(place / name)
    return folder
