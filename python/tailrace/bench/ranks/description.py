"""The description of a run of a benchmark: machine, software, directories."""

from __future__ import annotations

import datetime
import os
import platform
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tailrace import machine
from tailrace.core import build_info
from tailrace.files.command_line import command

from ..records.records import Run
from .job import LEFT_OUT, PARAMETERS


def now() -> str:
    """The time as ISO 8601, in seconds, with the offset of the time zone."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def describe(directories: Mapping[str, Path], nodes: int, notes: Iterable[str] = ()) -> Run:
    """The record of a run, with this machine and this program. `directories`: the measured directories by name."""
    built = build_info()
    began = now()
    room = machine.memory()
    return Run(
        run=f"{began}-{secrets.token_hex(3)}",
        command=command(),
        began=began,
        tailrace=built["version"],
        machine={
            "processor": machine.processor(),
            "cores": machine.physical_cores(),
            "memory": room[0] if room else 0,
            "nodes": nodes,
            "load": os.getloadavg()[0],
            "system": platform.platform(),
        },
        software={
            **{name: built[name] for name in ("mpi", "hdf5", "adios2", "compiler", "commit") if built.get(name)},
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        directories={name: _directory(path) for name, path in directories.items()},
        notes=[*notes, *([LEFT_OUT] if os.environ.get(PARAMETERS) else [])],
    )


def _directory(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": str(path.resolve()),
        "kind": machine.file_system(path),
        "free": shutil.disk_usage(path).free,
    }
    stripes = machine.stripes(path)
    return {**found, "stripes": stripes} if stripes else found
