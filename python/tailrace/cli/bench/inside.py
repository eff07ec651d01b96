"""A benchmark inside a job that mpiexec or a scheduler has started: rank 0 keeps the records."""

from __future__ import annotations

import signal
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailrace.text import message

from ..common import fail
from .show import announce, check_files, show, show_interrupted

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.bench.bench import Bench


def measure(bench: Bench, directories: dict[str, Path]) -> int:
    """Run all jobs of a bench on ranks of this job. Collective. Returns 1 if something failed.

    A rank that dies ends the whole job, as under MPI in general; earlier measurements are kept.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    try:
        return _measure(comm, bench, directories)
    except typer.Exit:  # all ranks have it
        raise
    except BaseException as error:  # the other ranks may wait for this one
        expected = isinstance(error, OSError | ValueError | MemoryError)
        said = f"{type(error).__name__}: {error}" if expected else traceback.format_exc()
        print(message(f"tailrace: rank {comm.rank}: {said}"), file=sys.stderr, flush=True)
        comm.Abort(1)
        raise


def _end_job(comm: MPI.Comm, bench: Bench) -> None:
    """After an interruption: write the report, and end the other ranks, which measure on."""
    show_interrupted(bench)
    sys.stdout.flush()
    comm.Abort(1)


def _measure(comm: MPI.Comm, bench: Bench, directories: dict[str, Path]) -> int:
    from mpi4py import MPI

    from tailrace.bench.ranks.driver import run_here
    from tailrace.bench.ranks.events import nothing
    from tailrace.bench.ranks.session import BenchSession

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    nodes = comm.allreduce(int(node.rank == 0))
    session, scratch, error = None, {}, ""
    if comm.rank == 0:
        try:
            check_files(bench)
            session = BenchSession(directories, bench.results.out, append=bench.results.append, nodes=nodes)
            scratch = session.directories
        except (OSError, ValueError) as problem:
            error = str(problem)
    scratch, error = comm.bcast((scratch, error))
    if error:
        fail(error)
    jobs = bench.jobs(scratch, comm.size)
    if session is None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # rank 0 writes the report first, and then ends this rank
        for job in jobs:
            run_here(job, comm, nothing)
        return int(comm.bcast(0))
    session.end_job = partial(_end_job, comm, bench)
    with session:
        announce(bench)
        session.expect(jobs)
        for job in jobs:
            session.run_here(job, comm)
    return int(comm.bcast(show(bench, session.record.run, session.failures, session.notes)))
