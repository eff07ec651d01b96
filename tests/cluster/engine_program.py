"""Every engine written, read by other blocks, verified and appended to, on ranks of several nodes."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tailrace as tr

sys.path.append(str(Path(__file__).parents[1] / "python"))
from helpers.harness.engines import ENGINES

comm = MPI.COMM_WORLD
SHAPE = (12, 10, 9)


def part(n):
    return n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size


def values(step):
    return 1000.0 * step + np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE[::-1])


def block(step):
    begin, end = part(SHAPE[2])
    return tr.Block(values(step)[begin:end], SHAPE, (0, 0, begin))


def write(out, steps):
    for step in steps:
        out.write_step(0.5 * step, index=step, ux=block(step), lists={"p": np.full((comm.rank, 3), float(comm.rank))})


def check(engine, path, steps):
    begin, end = part(SHAPE[1])
    with tr.open(path, comm=comm) as series:
        assert [step.index for step in series] == steps
        for step in series:
            got = step.read("ux", ((0, begin, 0), (SHAPE[0], end - begin, SHAPE[2])))
            np.testing.assert_array_equal(got, values(step.index)[:, begin:end])
            assert step.verify() == [], engine


for engine in ENGINES:
    path = str(engine.path(Path(engine.label)))
    if comm.rank == 0:
        Path(engine.label).mkdir()
    comm.barrier()
    with tr.open(path, "w", engine=engine.name, comm=comm, parameters=engine.parameters) as out:
        write(out, [0, 1, 2])
    check(engine, path, [0, 1, 2])
    with tr.open(path, "a", engine=engine.name, comm=comm, parameters=engine.parameters, rewind_to=1) as out:
        write(out, [7])
    check(engine, path, [0, 1, 7])
    if comm.rank == 0:
        print("done", engine, flush=True)
