"""The benchmark of steps with little data: the fixed cost of opening, of a step, and of closing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from tailrace.io import series as arrays
from tailrace.parallel import agree

from ..io.held_values import values_of
from ..io.setting import IoSetting
from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.limits import PlainFile
from ..ranks.noise import Warmer, Watch
from ..ranks.partition import Values
from ..ranks.round_robin import RoundRobin
from ..ranks.series_io import OneSeries
from ..ranks.timing import Timing, Together, slowest
from ..records.records import Cell
from ..records.variants import Variant

if TYPE_CHECKING:
    from mpi4py import MPI

ONE = "open"  # a series of one step
MANY = "steps"  # a series of many tiny steps
_NULL = Variant("null")  # the time of Tailrace itself: this engine writes nothing
_TINY = 2  # points of a rank in each direction


def tiny_settings(ranks: int, directories: Iterable[str], count: int) -> list[IoSetting]:
    """Series of tiny steps, one in each directory. `directories`: the names of the directories."""
    shape = (_TINY, _TINY, _TINY * ranks)
    return [IoSetting(name, ranks, (1, 1, ranks), shape, steps=count, bench="steps") for name in directories]


@dataclass(frozen=True)
class StepsProgram:
    """The benchmark of small steps on one number of ranks. A series of one step is opened, written and closed."""

    settings: tuple[IoSetting, ...]
    variants: tuple[Variant, ...]
    rhythm: RoundOptions

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        limits = sum(1 if setting.steps == 1 else 2 for setting in self.settings)
        return (self.rhythm.rounds + 1) * (len(self.settings) * len(self.variants) + limits)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number in range(len(self.settings)):
            StepsRounds(comm, self, job, number, emit).run()


class StepsRounds:
    """The rounds of one setting. All methods are collective."""

    def __init__(self, comm: MPI.Comm, program: StepsProgram, job: Job, number: int, emit: Emit) -> None:
        self._comm, self._program = comm, program
        self._setting = one = program.settings[number]
        self._directory = job.directories[one.directory]
        self._round_robin = RoundRobin(job, number, emit, self._directory)
        self._warmer, self._watch = Warmer(comm, self._directory), Watch(comm)

    @cached_property
    def _values(self) -> Values:
        """Made when the first cell needs them: if they do not fit into memory, that cell has failed."""
        return values_of(self._setting, self._comm)

    @cached_property
    def _plain(self) -> PlainFile:
        """The files of the limits, with two more copies of the values; made when first needed."""
        expected = self._values.expected
        return agree(self._comm, lambda: PlainFile(self._comm, self._directory, expected))

    def run(self) -> None:
        """Measure all rounds; the first one does not count."""
        operation, many = (ONE, False) if self._setting.steps == 1 else (MANY, True)
        variants: dict[str, Callable[[], bool]] = {}
        for variant in self._program.variants:
            cell = self._setting.cell(operation, "page cache", variant)
            variants[variant.name] = partial(self._measure, cell, partial(self._many if many else self._one, variant))
        if many:
            null = replace(self._setting.cell(operation, "page cache", _NULL), role="limit")
            variants[null.name] = partial(self._measure, null, partial(self._many, _NULL))
        plain = self._setting.limit(operation, "page cache", "pwrite")
        variants[plain.name] = partial(self._measure, plain, self._plain_steps if many else self._plain_one)
        self._round_robin.run(variants, self._program.rhythm)

    def _measure(self, cell: Cell, work: Callable[[], tuple[Timing, dict[str, float]]]) -> bool:
        with self._round_robin.failures(cell) as outcome:
            self._round_robin.begin(cell, outcome)
            self._warmer.warm(self._values.bytes * 5 // 4)
            self._watch.start()
            timing, counts = work()
            disturbed = self._watch.stop()
            self._round_robin.keep(cell, timing, self._setting.bytes, disturbed=disturbed, counts=counts)
        return outcome.right

    def _one(self, variant: Variant) -> tuple[Timing, dict[str, float]]:
        series = OneSeries(self._comm, self._directory, variant, self._values, 1)
        found = series.write(sync=False)
        counts = series.counts()
        series.remove()
        return found.timing, counts

    def _plain_one(self) -> tuple[Timing, dict[str, float]]:
        timing = self._plain.write(sync=False)
        agree(self._comm, self._plain.remove)
        return timing, {}

    def _many(self, variant: Variant) -> tuple[Timing, dict[str, float]]:
        """Write steps of a tiny array and a number; also the seconds of their first and last tenth."""
        count = self._setting.steps
        files = OneSeries(self._comm, self._directory, variant, self._values, count)
        files.remove()
        moments = np.zeros(count)
        clock = Together(self._comm)
        clock.start()
        series = arrays.open(
            files.path, "w", comm=self._comm, engine=variant.engine, parameters=dict(variant.parameters)
        )
        clock.marks.end("open")
        with series:
            for step in range(count):
                series.begin_step(step, float(step))
                series.write("u0", self._values.blocks[0])
                series.write_scalar("energy", float(step))
                series.end_step()
                moments[step] = clock.marks.end("steps")
        clock.marks.end("close")
        timing = clock.stop()
        counts = self._tenths(moments)
        if variant.engine != _NULL.engine:
            counts |= files.counts()
        files.remove()
        return timing, counts

    def _plain_steps(self) -> tuple[Timing, dict[str, float]]:
        """One pwrite on each rank for each step."""
        data, count = self._values.expected[0].data.cast("B"), self._setting.steps
        moments = np.zeros(count)
        clock = Together(self._comm)
        clock.start()

        def work() -> None:
            file = os.open(self._plain.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            clock.marks.end("open")
            try:
                for step in range(count):
                    os.pwrite(file, data, step * len(data))
                    moments[step] = clock.marks.end("steps")
            finally:
                os.close(file)
            clock.marks.end("close")

        agree(self._comm, work)
        timing = clock.stop()
        agree(self._comm, self._plain.remove)
        return timing, self._tenths(moments)

    def _tenths(self, seconds: np.ndarray) -> dict[str, float]:
        """Seconds of the first and the last tenth of the steps, each on its slowest rank."""
        tenth = max(1, seconds.size // 10)
        own = {"first_tenth_seconds": seconds[:tenth].sum(), "last_tenth_seconds": seconds[-tenth:].sum()}
        return slowest(self._comm, {name: float(value) for name, value in own.items()})
