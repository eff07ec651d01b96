"""Programs of several ranks that fail inside a library. Arguments: a function, the path of the series, and its own."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.steps import write_arrays, write_step

WORLD = MPI.COMM_WORLD


def inside(path: str, engine: str, which: str, name: str, when: str = "early") -> None:
    """The file of that name fails on one rank, early: before it writes, or late: before the end of the step."""
    out = tr.open(path, "w", comm=WORLD, engine=engine, parameters={"failure_timeout": 1})
    write_step(out, WORLD, 1)
    out.begin_step(2, 1.0)
    if when == "late":
        write_arrays(out, WORLD, 2)
    if WORLD.rank == int(which):  # the open file fails, and nothing shows it beforehand
        full = os.open("/dev/full", os.O_RDWR)
        for entry in list(Path("/proc/self/fd").iterdir()):
            if entry.exists() and entry.resolve().name == name:
                os.dup2(full, int(entry.name))
    if when != "late":
        write_arrays(out, WORLD, 2)
    out.end_step()


def _written() -> int:
    return int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0])


def _cut(before: int) -> None:
    """Let all writes fail after 20 MiB, on the rank that writes for others."""
    while _written() < before + (20 << 20):
        time.sleep(0.001)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))


def midway(path: str, engine: str) -> None:
    """A collective write fails after it has begun."""
    parameters = {"transfer": "collective", "failure_timeout": 1}
    out = tr.open(path, "w", comm=WORLD, engine=engine, parameters=parameters)
    n, planes = 256, 64
    first = planes * n * n * WORLD.rank
    values = np.arange(first, first + planes * n * n, dtype=float).reshape(planes, n, n)
    data = tr.Block(values, (n, n, planes * WORLD.size), (0, 0, planes * WORLD.rank))
    for step in range(2):
        out.begin_step(step, 0.0)
        if step:
            threading.Thread(target=_cut, args=(_written(),), daemon=True).start()
        out.write("u", data)
        out.end_step()


def after_a_kill(path: str, engine: str) -> None:
    """A step whose file another program has opened before, and was killed."""
    parameters = {"collect_bytes": 0} if engine == "mpiio" else {}  # engine: its own parameter
    with tr.open(path, "w", comm=WORLD, engine=engine, parameters=parameters) as out:
        out.begin_step(97531, 0.0)
        out.write("u", tr.Block(np.ones((2, 3, 4)), (4, 3, 2 * WORLD.size), (0, 0, 2 * WORLD.rank)))
        out.end_step()


if __name__ == "__main__":
    {"inside": inside, "midway": midway, "after_a_kill": after_a_kill}[sys.argv[1]](*sys.argv[2:])
