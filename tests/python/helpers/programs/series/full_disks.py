"""Ranks that write to a disk with little room left. Every function is called on all ranks (see `workers`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tailrace as tr
from helpers.inputs.steps import write_arrays, write_step


@contextlib.contextmanager
def almost_full(comm: Any, disk: str, pages: int) -> Iterator[None]:
    """Leaves a number of free pages on the disk."""
    ballast = Path(disk) / "ballast"
    if comm.rank == 0:
        free = os.statvfs(disk).f_bavail - pages
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free) * os.statvfs(disk).f_bsize)
    comm.barrier()
    try:
        yield
    finally:
        comm.barrier()
        if comm.rank == 0:
            ballast.unlink()
        comm.barrier()


def fill_disk(comm: Any, disk: str, path: str, engine: str, parameters: dict[str, Any], pages: int) -> dict[str, Any]:
    """Write steps 1 and 2, steps 3 and 4 with so many free pages, and step 5 with space again."""
    error, at = "", ""
    out = tr.open(path, "w", comm=comm, engine=engine, parameters=parameters)
    for index in (1, 2):
        write_step(out, comm, index)
    if "buffers" in parameters:  # both must be on the disk before it fills
        out.close()
        out = tr.open(path, "a", comm=comm, engine=engine, parameters=parameters)
    before = [step.index for step in out]
    assert before == [1, 2], before
    with almost_full(comm, disk, pages):
        for index in (3, 4):
            try:
                at = f"step {index}"
                write_step(out, comm, index)
            except tr.IoError as caught:
                error = str(caught)
                break
        if not error and "buffers" in parameters:
            try:
                at = "close"
                out.close()
            except tr.IoError as caught:
                error = str(caught)
    kept = None
    if at != "close":
        kept = [step.index for step in out]
        write_step(out, comm, 5)
        out.close()
    else:
        with contextlib.suppress(tr.IoError):
            out.close()
        del out
        with tr.open(path, "a", comm=comm, engine=engine) as out:
            kept = [step.index for step in out]
            write_step(out, comm, 5)
    return {"error": error, "at": at, "kept": kept}


def lose_steps(comm: Any, disk: str, path: str, engine: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Steps in the background when the disk is full: 2, 3, 4 are given before an error can be seen."""
    with tr.open(path, "w", comm=comm, engine=engine, parameters=parameters) as out:
        write_step(out, comm, 1)
    out = tr.open(path, "a", comm=comm, engine=engine, parameters=parameters)
    result: dict[str, Any] = {}
    with almost_full(comm, disk, 0):
        given = 0  # begun, from step 2 on
        try:
            for index in (2, 3, 4):
                out.begin_step(index, 0.5 * index)
                given += 1
                write_arrays(out, comm, index)
                out.end_step()
            out.close()
        except tr.IoError as error:
            result = {"lost": given - 1, "error": str(error), "kept": [step.index for step in out]}
    with contextlib.suppress(tr.IoError):
        out.close()
    return result


def write_too_much(
    comm: Any, disk: str, path: str, engine: str, parameters: dict[str, Any], megabytes: int
) -> dict[str, Any]:
    """Step 1, a step 2 of so many MiB per rank that fails, and step 3; `lost` is the space that step 2 used."""

    def free() -> int:
        comm.barrier()
        return os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize

    out = tr.open(path, "w", comm=comm, engine=engine, parameters=parameters)
    write_step(out, comm, 1)
    if "buffers" in parameters:
        out.flush()
    before, error = free(), ""
    values = np.random.default_rng(comm.rank).random((megabytes, 512, 256))
    try:
        out.begin_step(2, 1.0)
        out.write("large", tr.Block(values, (256, 512, megabytes * comm.size), (0, 0, megabytes * comm.rank)))
        out.end_step()
        out.flush()
    except tr.IoError as caught:
        error = str(caught)
    lost = before - free()
    write_step(out, comm, 3)
    out.close()
    return {"error": error, "lost": lost}
