"""The writing side of the benchmark of coupling; it makes the records of both sides. All functions are collective."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.io import series as arrays
from tailrace.parallel import on_root

from ..ranks.events import Begin, Done, Emit
from ..ranks.job import Job
from ..ranks.noise import Watch
from ..ranks.timing import Timing, Together, meet_asleep
from ..records.records import Measurement
from .computing import compute
from .consumer import CONNECT, Consumed, ConsumerProgram
from .plan import CouplePlan, CoupleTask
from .values import StreamValues

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Produced:
    """The results of the producer for one stream.

    :param timing: the time from the end of the first step until the consumer has ended.
    :param per_step: the mean seconds of a step, without the end of the stream.
    :param steps: the number of steps that the consumer got, with the first one.
    :param dropped: the number of steps that the consumer did not get.
    """

    timing: Timing
    per_step: float
    steps: int
    dropped: int


@dataclass(frozen=True)
class ProducerProgram:
    """The producer: writes every stream of the plan, and computes before each step.

    The consumer is another job with the same plan. The producer waits for it without a limit: the program that started
    both jobs ends this one when the other one dies.

    :param consumers: the number of ranks of the consumer.
    """

    plan: CouplePlan
    consumers: int

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return self.plan.size

    def other(self, job: Job) -> Job:
        """The job of the consumer that belongs to this job."""
        return Job(self.consumers, ConsumerProgram(self.plan), job.directories, job.done, job.failed)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Write all streams. Collective. An error ends the job, because the consumer cannot be told."""
        watch = Watch(comm)
        for task in self.plan.tasks(job):
            emit(Begin(task.cell("produce"), task.round, task.number, task.variant.name))
            directory = job.directories[task.setting.directory]
            watch.start()
            produced = _produce(comm, task, directory)
            consumed = _wait_for_consumer(comm, Consumed.path(directory, task))
            disturbed = watch.stop(friends=consumed.processor)
            for record in _records(task, produced, consumed, disturbed):
                emit(record)
            emit(Done(task.number, task.round, task.variant.name))


def _produce(comm: MPI.Comm, task: CoupleTask, directory: Path) -> Produced:
    one = task.setting
    values = StreamValues(one, comm.size, comm.rank)
    parameters = {"policy": task.variant.policy, "QueueLimit": task.variant.queue, "wait_for_reader": CONNECT}
    with arrays.open(f"sst:{directory / task.name}", "w", comm=comm, parameters=parameters) as series:
        _write(series, values, 0)  # the two connect, and everything happens for the first time
        before = series.coupling.own.wait
        clock = Together(comm)
        clock.start()
        for index in range(1, one.steps + 1):
            compute(one.produce / comm.size)
            clock.marks.end("compute")
            _write(series, values, index)
            clock.marks.end("write")
        per_step = sum(clock.marks.phases.values()) / one.steps
        clock.marks.move(comm.bcast(series.coupling.own.wait - before), "write", "wait")  # rank 0 waits for all
    clock.marks.end("close")
    timing = clock.stop()
    return comm.bcast(Produced(timing, per_step, series.coupling.own.steps, len(series.dropped)))


def _write(series: arrays.ArraySeries, values: StreamValues, index: int) -> None:
    series.begin_step(index, float(index))
    for name, block in zip(values.names, values.blocks(index), strict=True):
        series.write(name, block)
    series.end_step()


def _wait_for_consumer(comm: MPI.Comm, path: Path) -> Consumed:
    """The results of the consumer. Waiting leaves the cores free, because the consumer may still compute."""
    while comm.rank == 0 and not path.exists():
        time.sleep(0.005)
    meet_asleep(comm)
    found = on_root(comm, lambda: Consumed.read(path))
    if comm.rank == 0:
        path.unlink()
    return found


def _records(task: CoupleTask, produced: Produced, consumed: Consumed, disturbed: str) -> list[Measurement]:
    """The records of both sides. The first round does not count: of it, only wrong values are recorded."""
    verified = consumed.verified and consumed.steps == produced.steps
    if task.round == 0 and verified:
        return []

    def record(operation: str, timing: Timing, wait: tuple[str, ...], counts: Mapping[str, float]) -> Measurement:
        size = int(counts["steps"]) * task.setting.step_bytes
        share = sum(timing.phases.get(name, 0.0) for name in wait) / max(timing.seconds, 1e-9)
        return Measurement(
            task.cell(operation), task.round, timing.seconds, size, task.order, timing.phases, timing.per_rank,
            {**counts, "wait_share": min(1.0, share)}, {}, verified, disturbed,
        )  # fmt: skip

    given = {"steps": produced.steps - 1, "dropped": produced.dropped, "seconds_per_step": produced.per_step}
    got = {"steps": consumed.steps - 1, "dropped": produced.dropped}
    return [
        record("produce", produced.timing, ("wait", "close"), given),
        record("consume", consumed.timing, ("wait",), got),
    ]
