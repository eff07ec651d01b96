"""The reading side of the benchmark of coupling. All functions are collective over the ranks of the consumer."""

from __future__ import annotations

import json
import resource
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from tailrace.io import series as arrays
from tailrace.parallel import on_root

from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.partition import all_ranks
from ..ranks.timing import Timing, Together
from .computing import compute
from .plan import CouplePlan, CoupleTask
from .values import StreamValues

if TYPE_CHECKING:
    from mpi4py import MPI

CONNECT = 120  # seconds that one side waits for the other to come
PHASES = ("wait", "read", "verify", "compute")


@dataclass(frozen=True)
class Consumed:
    """The results of the consumer for one stream. The producer reads them from a file beside the stream.

    :param timing: the time from the end of the first step to the end of the stream.
    :param steps: the number of steps that were read, with the first one.
    :param verified: whether their values were right.
    :param processor: seconds of processor time, in the program itself, of all its ranks.
    """

    timing: Timing
    steps: int
    verified: bool
    processor: float

    @staticmethod
    def path(directory: Path, task: CoupleTask) -> Path:
        """The path of the file."""
        return directory / f"{task.name}.consumed"

    def write(self, path: Path) -> None:
        """Write the file, as a whole or not at all."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)), encoding="ascii")
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file."""
        found = json.loads(path.read_text(encoding="ascii"))
        return cls(Timing(**found.pop("timing")), **found)


@dataclass(frozen=True)
class ConsumerProgram:
    """The consumer: reads every stream of the plan and computes after each step."""

    plan: CouplePlan

    @property
    def tasks(self) -> int:
        """0: only the producer emits events."""
        return 0

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Read all streams. Collective."""
        for task in self.plan.tasks(job):
            directory = job.directories[task.setting.directory]
            found = _consume(comm, task, directory)
            on_root(comm, lambda: found.write(Consumed.path(directory, task)))  # noqa: B023


def _consume(comm: MPI.Comm, task: CoupleTask, directory: Path) -> Consumed:
    one = task.setting
    values = StreamValues(one, comm.size, comm.rank)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    waits = {"OpenTimeoutSecs": CONNECT, "timeout": CONNECT + ceil(2 * (one.produce + one.consume))}
    with arrays.open(f"sst:{directory / task.name}", comm=comm, parameters=waits) as series:
        first = series.next_step()
        right = first is not None and values.right(_read(first, values), first.index, all_of_them=True)
        clock = Together(comm)
        clock.marks.phases.update(dict.fromkeys(PHASES, 0.0))  # there may be no other step
        clock.start()
        while (step := series.next_step()) is not None:
            clock.marks.end("wait")
            read = _read(step, values)
            clock.marks.end("read")
            right = values.right(read, step.index, all_of_them=task.round == 0) and right
            clock.marks.end("verify")
            compute(one.consume / comm.size)
            clock.marks.end("compute")
        steps = len(series)
    clock.marks.end("wait")  # for the end of the stream
    timing = clock.stop()
    processor = comm.allreduce(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return Consumed(timing, steps, all_ranks(comm, right), processor)


def _read(step: arrays.ArrayStep, values: StreamValues) -> list[NDArray[Any]]:
    return [step.read(name, values.box) for name in values.names]
