"""What the tests of hdf5 series run on kept ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailrace.core import InputError, IoError
from tailrace.io import series as tr


def write_filtered(comm: Any, path: str, compression: str) -> None:
    """Steps 0, 1 and 5 of parts that no chunk fits, the last one by a program that goes on."""
    nx, ny, nz = shape = (17, 12, 9)
    whole = np.arange(nx) + 100.0 * np.arange(ny)[:, None] + 10000.0 * np.arange(nz)[:, None, None]
    begin, end = ny * comm.rank // comm.size, ny * (comm.rank + 1) // comm.size

    def block(salt: float) -> tr.Block:
        return tr.Block(np.ascontiguousarray((whole + salt)[:, begin:end]), shape, (0, begin, 0))

    parameters = {"compression": compression, "chunk_bytes": 3000}
    with tr.open(path, "w", comm=comm, grid=tr.UniformGrid(shape), parameters=parameters) as out:
        for step in range(4):
            out.write_step(step, index=step, ux=block(step))
    with tr.open(path, "a", comm=comm, rewind_to=1) as out:  # goes on as it was laid out
        out.write_step(2.0, index=5, ux=block(50), pp=block(0))


def lose_the_file(comm: Any, path: str, how: str) -> list[str]:
    """The errors of the next step and of the end, after the file was moved, or replaced too."""
    out = tr.open(path, "w", comm=comm)
    block = tr.Block(np.zeros((2, 3, 4)), (4, 3, 2 * comm.size), (0, 0, 2 * comm.rank))
    out.write_step(0.0, index=0, ux=block)
    if comm.rank == 0:
        Path(path).rename(f"{path}.moved")
        if how == "replaced":
            Path(path).write_text("precious")
    comm.barrier()
    errors = []
    for work in (lambda: out.write_step(1.0, index=1, ux=block), out.close):
        try:
            work()
        except IoError as error:
            errors.append(str(error))
    return errors


def leave_a_gap(comm: Any, path: str) -> tuple[str, list[int]]:
    """The error of a step whose blocks overlap and leave out a plane, and the steps after the next one."""
    shape = (4, 3, 2 * comm.size)
    with tr.open(path, "w", comm=comm, parameters={"compression": "gzip", "chunk_bytes": 8 * 4 * 3 * 3}) as out:
        begin = 2 * comm.rank
        said = ""
        try:
            out.write_step(0.0, index=0, ux=tr.Block(np.ones((2, 3, 4)), shape, (0, 0, max(1, begin))))
        except InputError as error:
            said = str(error)
        out.write_step(1.0, index=1, ux=tr.Block(np.ones((2, 3, 4)), shape, (0, 0, begin)))
    with tr.open(path, comm=comm) as series:
        assert series.verify() == []
        return said, [step.index for step in series]
