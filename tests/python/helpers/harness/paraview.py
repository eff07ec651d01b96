"""The real ParaView, where it is installed, and a display for its programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

from mpi4py import MPI

from helpers.harness import mpi_run
from tailrace.catalyst.display import make_display

MISSING = "no ParaView here: pvbatch or Xvfb is not installed; tests/paraview/run.sh installs them"
_DISPLAY = ("DISPLAY", "XAUTHORITY")


def is_there() -> bool:
    return all(map(shutil.which, ("pvbatch", "pvpython", "Xvfb")))


@cache
def version() -> tuple[int, int]:
    """That of the ParaView that is there."""
    told = subprocess.run(["pvbatch", "--version"], capture_output=True, text=True, timeout=240, check=True).stdout
    major, minor = told.split("version ")[1].split(".")[:2]
    return int(major), int(minor)


@cache
def _display() -> dict[str, str]:
    """One of these tests, until they end."""
    before = {name: os.environ.pop(name, None) for name in _DISPLAY}
    try:
        make_display(MPI.COMM_SELF)
        return {name: os.environ[name] for name in _DISPLAY}
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def environment() -> dict[str, str]:
    """For ParaView's programs, which have a Python of their own."""
    kept = mpi_run.environment().items()
    return {key: value for key, value in kept if not key.startswith(("PYTHON", "VIRTUAL_ENV"))} | _display()
