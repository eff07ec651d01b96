"""Jobs of ranks: what the benchmark starts on them, and how it hears of what happens there.

A job travels in one word of the command line, and its events come back on standard output: neither needs a disk, which
may be full or be what is measured.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from mpi4py import MPI

EVENT = "@tailrace-bench "  # begins a line of standard output that is an event

Emit = Callable[[dict[str, Any]], None]  # on rank 0
Task = tuple[int, int, str]  # a part of a job that is done or not: number of the setting, round, way


class Work(Protocol):
    """What a job does on its ranks. It can be pickled."""

    @property
    def tasks(self) -> int:
        """How many "done" events it emits, if nothing fails."""

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Collective."""


@dataclass(frozen=True)
class Job:
    """Work for a number of ranks, and what an earlier job of the same work has left undone."""

    ranks: int
    work: Work
    directories: dict[str, Path]  # of this run alone, by the user's names for those that they are in
    done: frozenset[Task] = frozenset()
    failed: frozenset[tuple[int, str]] = frozenset()  # setting, way: not to be tried again

    def without(self, done: set[Task], failed: set[tuple[int, str]]) -> Self:
        """The same job without what has been measured and what has failed."""
        return replace(self, done=self.done | done, failed=self.failed | failed)

    def to_word(self) -> str:
        """One word for the command line."""
        return base64.urlsafe_b64encode(zlib.compress(pickle.dumps(self))).decode("ascii")


class Plan(Protocol):
    """What a command measures, as jobs."""

    def jobs(self, places: dict[str, Path], nodes: int = 1) -> list[Job]:
        """The jobs, to be run one after the other.

        :param places: directories of this run alone, by the user's names.
        :param nodes: on which the ranks are.
        :raises ValueError: the numbers do not fit each other.
        :raises InputError: a file whose values are to be written has none.
        """


def run_on_ranks(word: str) -> None:
    """Run a job on all ranks of MPI_COMM_WORLD; events go to standard output of rank 0. Collective.

    An error of one rank ends all of them, so that no rank waits for it.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    try:
        job: Job = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(word)))
        job.work.run(comm, job, _print if comm.rank == 0 else nothing)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)


def _print(event: dict[str, Any]) -> None:
    print(EVENT + json.dumps(event), flush=True)


def nothing(_: dict[str, Any]) -> None:
    """For ranks whose events nobody hears."""
