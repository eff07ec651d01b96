"""What the tests of raw series run on kept ranks."""

from __future__ import annotations

import os
import resource
from typing import Any

import numpy as np

from tailrace.core import IoError
from tailrace.io import series as tr

WHOLE = np.arange(7 * 10 * 12.0).reshape(7, 10, 12)  # z, y, x


def write_quarters(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """Two steps by four ranks with parts of different size and a layer of ghost points."""
    y, ny = ((0, 4), (4, 6))[comm.rank % 2]
    z, nz = ((0, 3), (3, 4))[comm.rank // 2]
    part = np.full((nz + 2, ny + 2, 14), -1.0)
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        for step in range(2):
            part[1:-1, 1:-1, 1:-1] = WHOLE[z : z + nz, y : y + ny] + step
            out.write_step(0.5 * step, index=10 * step, ux=tr.Block(part, (12, 10, 7), (0, y, z), ghosts=1))


def read_boxes(comm: Any, path: str) -> None:
    """Each rank reads boxes of its own."""
    random = np.random.default_rng(comm.rank)
    series = tr.open(path, comm=comm)
    for step in range(2):
        for _ in range(20):
            start = [int(random.integers(0, n)) for n in (12, 10, 7)]
            count = [int(random.integers(1, n - s + 1)) for s, n in zip(start, (12, 10, 7), strict=True)]
            part = tuple(slice(s, s + c) for s, c in zip(start[::-1], count[::-1], strict=True))
            np.testing.assert_array_equal(series[step].read("ux", box=(start, count)), WHOLE[part] + step)


def move_parts(comm: Any, path: str, strategy: str) -> None:
    """Three ranks, some of whose parts change between the steps."""
    with tr.open(path, "w", comm=comm, engine="raw", parameters={"strategy": strategy}) as out:
        for step, cuts in enumerate([(0, 2, 4, 7), (0, 1, 4, 7), (0, 1, 5, 7), (0, 2, 4, 7)]):
            z, end = cuts[comm.rank], cuts[comm.rank + 1]
            out.write_step(0.5 * step, index=step, ux=tr.Block(WHOLE[z:end] + step, (12, 10, 7), (0, 0, z)))


def open_without_files(comm: Any, path: str, mode: str, strategy: str) -> None:
    """Rank 1 cannot open any file, and the series is opened all the same."""
    parameters = {"strategy": strategy} if mode == "a" else {}
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if comm.rank == 1:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        series = tr.open(path, mode, comm=comm, parameters=parameters)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    if mode == "a":
        with series as out:
            out.write_step(1.0, index=2, ux=tr.Block(np.full((1, 3, 4), 2.0), (4, 3, 2), (0, 0, comm.rank)))
    else:
        assert [step.index for step in series] == [1]
        assert series[0].read("ux").min() == 1.0


def write_a_plane_each(comm: Any, path: str) -> str:
    """Two ranks write a step into files of their own; returns the error."""
    try:
        with tr.open(path, "w", comm=comm, parameters={"strategy": "dist"}) as out:
            out.write_step(0.0, index=1, ux=tr.Block(np.zeros((1, 3, 4)), (4, 3, 2), (0, 0, comm.rank)))
    except IoError as error:
        return str(error)
    raise AssertionError("nothing was refused")
