"""Programs that write in the background, and how they end. Arguments: the function, and its own."""

from __future__ import annotations

import sys
from typing import Any

import mpi4py

import tailrace as tr
from helpers.harness.engines import ENGINES
from helpers.inputs.steps import part, write_step


def all_engines(world: Any, level: str) -> None:
    """With any level of threads: only with `multiple` there is something in the background."""
    from helpers.programs.series.io_programs import check_series

    for engine in ENGINES:
        path = f"{engine.label}-{level}-{engine.place}"
        parameters = {**engine.parameters, "buffers": 2}
        with tr.open(path, "w", comm=world, engine=engine.name, parameters=parameters) as out:
            notes = "".join(out.notes)
            assert ("MPI_THREAD_MULTIPLE" in notes) == (level != "multiple"), (engine.label, notes)
            for index in (1, 2, 3):
                write_step(out, world, index)
                if level != "multiple" and world.rank == 0:
                    assert len(tr.open(path)) == index or engine.name == "hdf5", "written at once"
        world.barrier()
        assert world.bcast(check_series(world, path)) == [1, 2, 3]


def never_closed(world: Any) -> None:
    """The program ends in the middle of a step of each engine."""
    for engine in ENGINES:
        path, parameters = f"{engine.label}-{engine.place}", {**engine.parameters, "buffers": 3}
        out = tr.open(path, "w", comm=world, engine=engine.name, parameters=parameters)
        for index in (1, 2, 3):
            write_step(out, world, index)
        out.begin_step(4, 2.0)
        OPEN.append(out)


OPEN: list[Any] = []  # until Python has ended


def raises(world: Any, path: str, engine: str, buffers: str) -> None:
    """One rank raises between two calls of a step."""
    with tr.open(path, "w", comm=world, engine=engine, parameters={"buffers": int(buffers)}) as out:
        write_step(out, world, 1)
        out.begin_step(2, 1.0)
        if world.rank == 1:
            raise ArithmeticError("rank 1 alone")
        out.write("ux", part(world, 2))


def main(name: str, *words: str) -> None:
    if name == "all_engines":
        mpi4py.rc.thread_level = words[0]
    from mpi4py import MPI

    {"all_engines": all_engines, "never_closed": never_closed, "raises": raises}[name](MPI.COMM_WORLD, *words)


if __name__ == "__main__":
    main(*sys.argv[1:])
