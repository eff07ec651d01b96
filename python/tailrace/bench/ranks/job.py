"""Jobs of ranks: what the benchmark starts on them, and how it hears of what happens there.

A job travels in one word of the command line, and its events come back on standard output: neither needs a disk, which
may be full or be what is measured.
"""

from __future__ import annotations

import base64
import os
import pickle
import sys
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from .events import Emit, Event, Note, line_of, nothing, on_nodes

if TYPE_CHECKING:
    from mpi4py import MPI

PARAMETERS = "TAILRACE_PARAMETERS"  # of the environment: parameters of all series that a program writes
LEFT_OUT = f"{PARAMETERS} is left out: ways are measured with the parameters of --engine alone"

Task = tuple[int, int, str]  # a part of a job that is done or not: number of the setting, round, variant


class RankProgram(Protocol):
    """What a job does on its ranks: the part of a bench that needs MPI. It can be pickled."""

    @property
    def tasks(self) -> int:
        """How many `Done` events it emits, if nothing fails."""

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Collective."""


@dataclass(frozen=True)
class Job:
    """A program for a number of ranks, and what an earlier job of the same program has left undone."""

    ranks: int
    program: RankProgram
    directories: dict[str, Path]  # of this run alone, by the user's names for those that they are in
    done: frozenset[Task] = frozenset()
    failed: frozenset[tuple[int, str]] = frozenset()  # setting, variant: not to be tried again

    def without(self, done: set[Task], failed: set[tuple[int, str]]) -> Self:
        """The same job without what has been measured and what has failed."""
        return replace(self, done=self.done | done, failed=self.failed | failed)

    def to_word(self) -> str:
        """One word for the command line."""
        return base64.urlsafe_b64encode(zlib.compress(pickle.dumps(self))).decode("ascii")

    @staticmethod
    def from_word(word: str) -> Job:
        """What `to_word` has made a word of."""
        job: Job = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(word)))
        return job


def run_on(comm: MPI.Comm, job: Job, emit: Emit) -> None:
    """Run the program of a job on these ranks and no others. Collective.

    Cells get the number of nodes that hold the ranks, which is known here only. Parameters that the environment
    has for all series are left out, because the cells would not say that they were measured with them.

    :param emit: gets the events, on rank 0.
    """
    nodes = nodes_of(comm)
    with _without_parameters() as left_out:
        if left_out and comm.rank == 0:
            emit(Note(LEFT_OUT))
        job.program.run(comm, job, lambda event: emit(on_nodes(event, nodes)))


def nodes_of(comm: MPI.Comm) -> int:
    """How many nodes hold the ranks. Collective."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    try:
        return int(comm.allreduce(int(node.rank == 0)))
    finally:
        node.Free()


@contextmanager
def _without_parameters() -> Iterator[bool]:
    """Whether there were some; they come back in the end."""
    former = os.environ.pop(PARAMETERS, None)
    try:
        yield bool(former)
    finally:
        if former is not None:
            os.environ[PARAMETERS] = former


def run_on_ranks(word: str) -> None:
    """Run a job on all ranks of MPI_COMM_WORLD; events go to standard output of rank 0. Collective.

    An error of one rank ends all of them, so that no rank waits for it.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    try:
        run_on(comm, Job.from_word(word), _print if comm.rank == 0 else nothing)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)


def _print(event: Event) -> None:
    print(line_of(event), flush=True)
