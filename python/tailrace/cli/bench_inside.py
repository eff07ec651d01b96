"""A benchmark inside a job that mpiexec or a scheduler has started: rank 0 keeps the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .common import fail

if TYPE_CHECKING:
    from tailrace.bench.job import Plan


def measure(plan: Plan, directories: dict[str, Path], out: Path, append: bool) -> int:
    """Run all jobs of a plan on ranks of this job. Collective. Returns 1 where something failed.

    A rank that dies ends the whole job, as it does of any program under MPI; what was measured before is kept.
    """
    from mpi4py import MPI

    from tailrace.bench.driver import run_here
    from tailrace.bench.job import nothing
    from tailrace.bench.session import Session

    comm = MPI.COMM_WORLD
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    nodes = comm.allreduce(int(node.rank == 0))
    session, places, error = None, {}, ""
    if comm.rank == 0:
        try:
            session = Session(directories, out, append=append, nodes=nodes)
            places = session.places
        except OSError as problem:
            error = str(problem)
    places, error = comm.bcast((places, error))
    if error:
        fail(error)
    jobs = plan.jobs(places, nodes)
    if session is None:
        for job in jobs:
            run_here(job, comm, nothing)
        return int(comm.bcast(0))
    with session:
        for job in jobs:
            session.run_here(job, comm)
    return int(comm.bcast(1 if session.failures else 0))
