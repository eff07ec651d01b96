"""Appends steps until it is killed: python io_killed.py PATH ENGINE PARAMETERS-AS-JSON.

Rank 0 prints "opening", and then a line for every step that is complete: without buffers when end_step has returned,
with n buffers when begin_step has found one for the step n later, for by then the background has done with it.
"""

import json
import sys

import tailrace as tr
from mpi4py import MPI

from helpers.io_programs import write_arrays


def main() -> None:
    """Write until the end."""
    path, engine, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    comm = MPI.COMM_WORLD
    buffers = parameters.get("buffers", 0)

    def say(*words: object) -> None:
        if comm.rank == 0:
            print(*words, flush=True)

    comm.barrier()
    say("opening")
    with tr.open(path, "a", engine=engine, parameters=parameters) as out:
        there = len(out)
        for index in range(there + 1, 1000000):
            out.begin_step(index, 0.5 * index)
            if buffers and index - buffers > there:
                say("complete", index - buffers)
            write_arrays(out, comm, index)
            out.end_step()
            if not buffers:
                say("complete", index)


if __name__ == "__main__":
    main()
