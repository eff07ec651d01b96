"""The benchmark of output that is written while the program computes: how long it still delays the program."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, floor, log10
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.io import series as arrays

from ..io.held_values import values_of
from ..io.setting import IoSetting
from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.noise import Warmer, Watch
from ..ranks.partition import Values
from ..ranks.round_robin import RoundRobin
from ..ranks.scratch_directory import check_room
from ..ranks.series_io import OneSeries
from ..ranks.timing import Timing, Together, slowest
from ..records.variants import Variant, with_buffers

if TYPE_CHECKING:
    from mpi4py import MPI

ALONE = "computing alone"  # the limit: a run whose output costs nothing
CACHES = ("page cache", "synced")
_UNSEEN = 2  # steps at the start of a run that are not counted: they fill the buffers
_LONGER = 1.25  # computing time between two steps, over the time in which the slowest engine writes one


@dataclass(frozen=True)
class OverlapProgram:
    """The benchmark of overlap on one number of ranks."""

    settings: tuple[tuple[IoSetting, str], ...]  # each with where the data go: page cache, synced
    variants: tuple[Variant, ...]
    buffers: int
    rhythm: RoundOptions
    compute: float

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return len(self.settings) * (self.rhythm.rounds + 1) * (2 * len(self.variants) + 1)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number in range(len(self.settings)):
            OverlapRounds(comm, self, job, number, emit).run()


class OverlapRounds:
    """Runs of one setting: a program that computes and writes in turn. All methods are collective."""

    def __init__(self, comm: MPI.Comm, program: OverlapProgram, job: Job, number: int, emit: Emit) -> None:
        self._comm, self._program = comm, program
        self._setting, self._cache = program.settings[number]
        self._cells = self._setting  # the setting that the cells name
        self._directory = job.directories[self._setting.directory]
        self._round_robin = RoundRobin(job, number, emit, self._directory)
        self._warmer, self._watch = Warmer(comm, self._directory), Watch(comm)
        self._computing = Computing(comm)

    @cached_property
    def _values(self) -> Values:
        """Made when the first cell needs them: if they do not fit into memory, that cell has failed."""
        return values_of(self._setting, self._comm)

    def run(self) -> None:
        """Measure all rounds; the first one does not count."""
        seconds = self._program.compute or rounded_up(_LONGER * self._slowest_step())
        # The source names the computing time, because runs with another one are not repetitions of these.
        self._cells = replace(self._setting, source=f"{seconds:g} s of computing")
        self._computing.last(seconds)
        variants: dict[str, Callable[[], bool]] = {ALONE: self._alone}
        for variant in self._program.variants:
            buffered = with_buffers(variant, self._program.buffers)
            variants |= {variant.name: partial(self._measure, variant), buffered.name: partial(self._measure, buffered)}
        self._round_robin.run(variants, self._program.rhythm)

    def _slowest_step(self) -> float:
        """Seconds of output in a step of the slowest engine without computing; the median of its steps."""
        found = [0.0]
        for variant in self._program.variants:
            if variant.name in self._round_robin.failed:
                continue
            with self._round_robin.failures(self._cells.cell("write", self._cache, variant)) as outcome:
                self._round_robin.begin(outcome.cell, outcome, variant.name)
                found.append(self._steps(variant)[1]["step_seconds"])
            if not outcome.right:
                self._round_robin.failed.add(variant.name)
        return max(found)

    def _measure(self, variant: Variant) -> bool:
        with self._round_robin.failures(self._cells.cell("write", self._cache, variant)) as outcome:
            self._round_robin.begin(outcome.cell, outcome)
            timing, counts = self._steps(variant)
            disturbed = self._watch.stop()
            self._round_robin.keep(outcome.cell, timing, self._setting.bytes, disturbed=disturbed, counts=counts)
        return outcome.right

    def _alone(self) -> bool:
        """Measure the same computing without output: the rate of output that costs nothing."""
        with self._round_robin.failures(self._cells.limit("write", self._cache, ALONE)) as outcome:
            self._round_robin.begin(outcome.cell, outcome)
            self._watch.start()
            clock = Together(self._comm)
            clock.start()
            for _ in range(self._setting.steps):
                self._computing.work()
                self._comm.barrier()
                clock.marks.end("compute")
            timing = clock.stop()
            self._round_robin.keep(outcome.cell, timing, self._setting.bytes, disturbed=self._watch.stop())
        return outcome.right

    def _steps(self, variant: Variant) -> tuple[Timing, dict[str, float]]:
        """One run, timed from the first counted step to the end of close, and the seconds of output in a step."""
        count = _UNSEEN + self._setting.steps
        check_room(self._comm, self._directory, self._setting.bytes // self._setting.steps * count)
        series = OneSeries(self._comm, self._directory, variant, self._values, count)
        series.remove()
        self._warmer.warm((count + self._program.buffers) * self._values.bytes)
        self._watch.start()
        parameters: dict[str, Any] = {**dict(variant.parameters), **({"sync": True} if self._cache == "synced" else {})}
        clock = Together(self._comm)
        with arrays.open(series.path, "w", comm=self._comm, engine=variant.engine, parameters=parameters) as out:
            self._write(out, 0, _UNSEEN, clock)
            clock = Together(self._comm)
            clock.start()
            writes, ends = self._write(out, _UNSEEN, self._setting.steps, clock)
        clock.marks.end("close")
        timing = clock.stop()
        series.remove()
        steps = [w + e for w, e in zip(writes, ends, strict=True)]
        both, last = (self._slowest(values) for values in (steps, ends))
        counts = {"step_seconds": median(both), "step_seconds_most": max(both), "end_step_seconds": median(last)}
        return timing, {**counts, "compute_seconds": self._computing.seconds}

    def _write(
        self, out: arrays.ArraySeries, first: int, count: int, clock: Together
    ) -> tuple[list[float], list[float]]:
        """Compute and write steps; returns for each step the seconds of begin_step and write, and those of end_step."""
        writes, ends = [], []
        for step in range(first, first + count):
            self._computing.work()
            self._comm.barrier()
            clock.marks.end("compute")
            out.begin_step(step, float(step))
            for name, block in zip(self._values.names(), self._values.blocks, strict=True):
                out.write(name, block)
            writes.append(clock.marks.end("write"))
            out.end_step()
            ends.append(clock.marks.end("end_step"))
        return writes, ends

    def _slowest(self, values: list[float]) -> list[float]:
        return list(slowest(self._comm, {str(step): value for step, value in enumerate(values)}).values())


def rounded_up(seconds: float) -> float:
    """The seconds, rounded up to two digits, so that nearly equal times get the same name."""
    if seconds <= 0:
        return 0.0
    unit = 10.0 ** (floor(log10(seconds)) - 1)
    return float(f"{ceil(seconds / unit - 1e-9) * unit:.2g}")


class Computing:
    """Arithmetic on numbers that stay in the cache, for a number of seconds; 0 until `last` is called."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self._numbers = np.linspace(1.0, 2.0, 1024)  # 8 KiB
        self._cycles = 0
        self.seconds = 0.0  # on the slowest rank, when it was tried

    def work(self) -> None:
        """Compute once."""
        for _ in range(self._cycles):
            np.sqrt(self._numbers, out=self._numbers)
            np.square(self._numbers, out=self._numbers)

    def last(self, seconds: float) -> None:
        """From now on the work takes at least `seconds`. Collective.

        The work is calibrated in processor time: beside other programs a little work may take long, and would then be
        far too short in the rounds.
        """
        self._cycles = 10
        while True:
            self._comm.barrier()
            begin = time.thread_time()
            self.work()
            self.seconds = slowest(self._comm, {"work": time.thread_time() - begin})["work"]
            if self.seconds >= seconds:
                return
            self._cycles = int(self._cycles * min(10.0, 1.1 * seconds / self.seconds)) + 1
