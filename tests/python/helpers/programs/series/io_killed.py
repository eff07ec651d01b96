"""Appends steps until it is killed: python io_killed.py PATH ENGINE PARAMETERS-AS-JSON REPORT.

Rank 0 prints "opening", and then a line for every step that is complete: without buffers when end_step has returned,
with n buffers when begin_step has found one for the step n later, because the background has then finished it. The file
REPORT gets the same lines, because printed lines may be lost with mpiexec.
"""

import json
import sys
from pathlib import Path

from mpi4py import MPI

import tailrace as tr
from helpers.inputs.steps import write_arrays


def main() -> None:
    """Write until killed."""
    path, engine, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    report = Path(sys.argv[4])
    if MPI.COMM_WORLD.rank == 0:
        report.unlink(missing_ok=True)
    comm = MPI.COMM_WORLD
    buffers = parameters.get("buffers", 0)

    def say(*words: object) -> None:
        if comm.rank == 0:
            with report.open("a") as file:
                print(*words, file=file)
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
