"""The benches of the cost of output besides its speed: their options and their jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..bench import Bench
from ..io.grid_options import GridOptions
from ..options import Directories, ResultOptions, RoundCount, RoundOptions, chosen

if TYPE_CHECKING:
    from ..ranks.job import Job

_USUAL = [(256, 256, 256)]  # points of a whole


@dataclass(frozen=True)
class OverlapBench(Bench):
    """Measure how long output delays a program that computes and writes in turn, without and with buffers.

    The limit is the same computing without output.
    """

    name = "overlap"
    grid: GridOptions = field(default_factory=GridOptions)
    buffers: Annotated[int, typer.Option("--buffers", min=1, help="Copies of a step for the background.")] = 2
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps that count in each run.")] = 8
    compute: Annotated[
        float,
        typer.Option(
            "--compute",
            min=0.0,
            metavar="SECONDS",
            help="Computing between two steps; by default a quarter longer than the slowest engine writes one.",
        ),
    ] = 0.0
    caches: Annotated[str, typer.Option("--caches", help="page cache,synced, or one of them.")] = "page cache,synced"
    directories: Directories = field(default_factory=list)
    rhythm: RoundOptions = field(default_factory=lambda: RoundOptions(rounds=3))
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.job import Job
        from .overlap import CACHES, OverlapProgram

        caches = chosen("--caches", self.caches, CACHES, " or ".join(CACHES))
        variants = self.grid.variants()
        jobs = []
        for ranks in self.grid.sizes.counts(started):
            settings = self.grid.settings(ranks, directories, _USUAL, bench=self.name, steps=self.steps)
            pairs = tuple((setting, cache) for setting in settings for cache in caches)
            program = OverlapProgram(pairs, variants, self.buffers, self.rhythm, self.compute)
            jobs.append(Job(ranks, program, directories))
        return jobs


@dataclass(frozen=True)
class StepsBench(Bench):
    """Measure steps with little data: a series of one small step, and one of many tiny ones.

    A tiny step has 2 x 2 x 2 points of each rank and a number. The limits are plain writes of the same bytes, and a
    series that goes nowhere.
    """

    name = "steps"
    grid: GridOptions = field(default_factory=GridOptions)
    count: Annotated[int, typer.Option("--count", min=2, help="Tiny steps in a series.")] = 1000
    directories: Directories = field(default_factory=list)
    rhythm: RoundOptions = field(default_factory=RoundOptions)
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.job import Job
        from .small_steps import StepsProgram, tiny_settings

        variants = self.grid.variants()
        jobs = []
        for ranks in self.grid.sizes.counts(started):
            ones = self.grid.settings(ranks, directories, [(128, 128, 64)], bench=self.name)
            many = tiny_settings(ranks, directories, self.count)
            jobs.append(Job(ranks, StepsProgram((*ones, *many), variants, self.rhythm), directories))
        return jobs


@dataclass(frozen=True)
class MemoryBench(Bench):
    """Measure the memory that a rank needs besides its own block while it writes, at most.

    Each engine has ranks of its own, except under mpiexec, where all have the same.
    """

    name = "memory"
    grid: GridOptions = field(default_factory=GridOptions)
    buffers: Annotated[
        int, typer.Option("--buffers", min=0, help="Copies of a step for the background; 0: do not measure it.")
    ] = 2
    directories: Directories = field(default_factory=list)
    rounds: RoundCount = 1
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """A job for each number of ranks and each variant, so that no variant sees the memory of another one."""
        from ..ranks.job import Job
        from ..records.variants import with_buffers
        from .peak_memory import STEPS, MemoryProgram

        variants = [(variant, 0) for variant in self.grid.variants()]
        if self.buffers:
            variants += [(with_buffers(variant, self.buffers), self.buffers) for variant, _ in variants]
        jobs = []
        for ranks in self.grid.sizes.counts(started):
            for variant, buffers in variants:
                settings = self.grid.settings(ranks, directories, _USUAL, bench=self.name, steps=STEPS + buffers)
                jobs.append(Job(ranks, MemoryProgram(tuple(settings), variant, self.rounds), directories))
        return jobs
