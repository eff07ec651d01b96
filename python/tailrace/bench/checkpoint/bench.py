"""The bench of checkpoints: its options and its jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..bench import Bench
from ..options import Against, ColdRhythm, Directories, Engines, Ranks, ResultOptions, numbers, ranks_of

if TYPE_CHECKING:
    from ..ranks.job import Job
    from .setting import CheckpointSetting

ENGINES = ("raw", "mpiio", "hdf5", "bp4", "bp5", "sion")  # without a choice of the user
QUICK_ENGINES = ("raw", "hdf5", "bp5", "sion")


@dataclass(frozen=True)
class CheckpointRhythm(ColdRhythm):
    """A ColdRhythm whose seed is also that of the rows."""

    seed: Annotated[int, typer.Option("--seed", help="Of the order of the ways and of the rows of the ranks.")] = 0


@dataclass(frozen=True)
class CheckpointBench(Bench):
    """Measure checkpoints of an unstructured code: lists of elements, uneven on the ranks, and restarts from them.

    Each way writes the lists to the disk. The same ranks read their rows again, and then other ranks read other rows,
    with empty caches. Each value is compared. Started under mpiexec, it measures inside that job.
    """

    name = "checkpoint"
    quick: Annotated[bool, typer.Option("--quick", help="Fewer ways: about a minute on two cores.")] = False
    engines: Engines = field(default_factory=list)
    ranks: Ranks = ""
    restart_ranks: Annotated[
        str,
        typer.Option(
            "--restart-ranks",
            metavar="M,M...",
            help="Ranks that restart from each of --ranks; by default half of them.",
        ),
    ] = ""
    whole: Annotated[
        list[int], typer.Option("--elements", min=1, help="Elements that all ranks share; repeatable.")
    ] = field(default_factory=list)
    each: Annotated[
        list[int], typer.Option("--local", min=1, help="Mean number of elements of a rank; repeatable.")
    ] = field(default_factory=list)
    columns: Annotated[
        list[int], typer.Option("--columns", min=1, help="Coefficients of each element; repeatable.")
    ] = field(default_factory=lambda: [64])
    uneven: Annotated[
        float, typer.Option("--uneven", min=0.0, max=1.0, help="0: as many on each rank; 1: up to twice the mean.")
    ] = 0.5
    small_steps: Annotated[
        int, typer.Option("--small-steps", min=0, help="Steps with a row of each rank, nearly all metadata; 0: none.")
    ] = 20
    directories: Directories = field(default_factory=list)
    rhythm: CheckpointRhythm = field(default_factory=CheckpointRhythm)
    results: ResultOptions = field(default_factory=ResultOptions)
    against: Against = None

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """A job that writes, and one that restarts on other ranks, for each number of ranks; see `Bench.jobs`."""
        from ..ranks.eviction import check_drop
        from ..ranks.job import Job
        from ..records.variants import variant_of
        from .restart import RestartProgram
        from .rounds import CheckpointProgram

        pairs = self._pairs(started)
        if self.rhythm.drop_caches:
            check_drop()
        variants = tuple(variant_of(text) for text in self.engines or (QUICK_ENGINES if self.quick else ENGINES))
        jobs = []
        for writers, readers in pairs:
            settings = self._settings(list(directories), writers)
            others = tuple(setting.restarted_on(readers) for setting in settings)
            jobs.append(Job(writers, CheckpointProgram(settings, variants, self.rhythm, self.small_steps), directories))
            jobs.append(Job(readers, RestartProgram(others, variants, self.rhythm), directories))
        return jobs

    def _pairs(self, started: int | None) -> list[tuple[int, int]]:
        """Pairs of numbers of ranks: those that write, and those that restart.

        :raises ValueError: the texts are no lists of as many numbers.
        """
        writers, text = ranks_of(self.ranks, started), self.restart_ranks
        if not text:
            return [(count, count // 2 if count > 1 else min(2, started or 2)) for count in writers]
        readers = numbers("--restart-ranks", text)
        if len(readers) != len(writers):
            listed = ",".join(map(str, writers))
            raise ValueError(f"--restart-ranks {text}: expected a number for each of --ranks {listed}")
        if started is not None and max(readers) > started:
            raise ValueError(f"--restart-ranks {text}: mpiexec started {started} ranks only")
        return list(zip(writers, readers, strict=True))

    def _settings(self, directories: list[str], ranks: int) -> tuple[CheckpointSetting, ...]:
        from .setting import CheckpointSetting

        sizes = [*self.whole, *(ranks * mean for mean in self.each)] or [20_000]
        different = [
            (directory, rows, columns) for directory in directories for rows in sizes for columns in self.columns
        ]
        return tuple(
            CheckpointSetting(
                directory, ranks, rows, columns, self.uneven, self.rhythm.seed, ranks,
                f"checkpoint.{ranks}.{number}",
            )
            for number, (directory, rows, columns) in enumerate(different)
        )  # fmt: skip
