"""Jobs of ranks: how the benchmark starts a program on them, and how their events come back.

A job travels in one word of the command line, and its events come back on standard output. Neither needs a disk: the
disk may be full, or may be the device that is measured.
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

PARAMETERS = "TAILRACE_PARAMETERS"  # environment variable: parameters of all series that a program writes
LEFT_OUT = f"{PARAMETERS} is left out: ways are measured with the parameters of --engine alone"

Task = tuple[int, int, str]  # a part of a job: number of the setting, round, variant


class RankProgram(Protocol):
    """The program of a job on its ranks: the part of a bench that needs MPI. It can be pickled."""

    @property
    def tasks(self) -> int:
        """The number of `Done` events that it emits if nothing fails."""

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Run the program. Collective."""


@dataclass(frozen=True)
class Job:
    """A program for a number of ranks, without the parts that an earlier job has done."""

    ranks: int
    program: RankProgram
    directories: dict[str, Path]  # directories of this run alone, by the names that the user gave
    done: frozenset[Task] = frozenset()
    failed: frozenset[tuple[int, str]] = frozenset()  # (setting, variant) that are not tried again

    def without(self, done: set[Task], failed: set[tuple[int, str]]) -> Self:
        """The same job without the parts that are measured or have failed."""
        return replace(self, done=self.done | done, failed=self.failed | failed)

    def to_word(self) -> str:
        """The job as one word for the command line."""
        return base64.urlsafe_b64encode(zlib.compress(pickle.dumps(self))).decode("ascii")

    @staticmethod
    def from_word(word: str) -> Job:
        """The job of a word that `to_word` has made."""
        job: Job = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(word)))
        return job


def run_on(comm: MPI.Comm, job: Job, emit: Emit) -> None:
    """Run the program of a job on these ranks and no others. Collective.

    Cells get the number of nodes of the ranks, which is known only here. Parameters of the environment for all series
    are ignored, because the cells would not name them.

    :param emit: gets the events, on rank 0.
    """
    nodes = nodes_of(comm)
    with _without_parameters() as left_out:
        if left_out and comm.rank == 0:
            emit(Note(LEFT_OUT))
        job.program.run(comm, job, lambda event: emit(on_nodes(event, nodes)))


def nodes_of(comm: MPI.Comm) -> int:
    """The number of nodes of the ranks. Collective."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    try:
        return int(comm.allreduce(int(node.rank == 0)))
    finally:
        node.Free()


@contextmanager
def _without_parameters() -> Iterator[bool]:
    """Remove the parameters from the environment during the block; yields whether there were any."""
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
