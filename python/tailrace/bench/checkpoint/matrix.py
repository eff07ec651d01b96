"""The matrix of the benchmark of checkpoints: from the words of the command line to jobs. All is local."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..ranks.eviction import check_drop
from ..ranks.job import Job
from ..ranks.rounds import Rhythm
from ..records.variants import variant_of
from .restart import RestartProgram
from .rounds import CheckpointProgram
from .setting import CheckpointSetting

ENGINES = ("raw", "mpiio", "hdf5", "bp4", "bp5", "sion")  # without a choice of the user
QUICK_ENGINES = ("raw", "hdf5", "bp5", "sion")


@dataclass(frozen=True)
class CheckpointMatrix:
    """What is measured: every variant, on every number of ranks, of every size, in every directory.

    :param ranks: numbers that write, each with the number that restarts from its files.
    :param whole: numbers of elements that all numbers of ranks share: strong scaling.
    :param each: mean numbers of elements of a rank: weak scaling.
    """

    ranks: tuple[tuple[int, int], ...]
    whole: tuple[int, ...]
    each: tuple[int, ...]
    columns: tuple[int, ...]
    uneven: float
    engines: tuple[str, ...]
    rhythm: Rhythm
    small_steps: int

    def jobs(self, directories: dict[str, Path], nodes: int = 1) -> list[Job]:
        """See `job.Matrix`: a job that writes, and one that restarts on other ranks, for each number of ranks."""
        if self.rhythm.drop_caches:
            check_drop()
        variants = tuple(variant_of(text) for text in self.engines)
        jobs = []
        for writers, readers in self.ranks:
            settings = self._settings(list(directories), writers, min(nodes, writers))
            others = tuple(setting.restarted_on(readers, nodes) for setting in settings)
            jobs.append(Job(writers, CheckpointProgram(settings, variants, self.rhythm, self.small_steps), directories))
            jobs.append(Job(readers, RestartProgram(others, variants, self.rhythm), directories))
        return jobs

    def _settings(self, directories: list[str], ranks: int, nodes: int) -> tuple[CheckpointSetting, ...]:
        sizes = [*self.whole, *(ranks * mean for mean in self.each)]
        different = [
            (directory, rows, columns) for directory in directories for rows in sizes for columns in self.columns
        ]
        return tuple(
            CheckpointSetting(
                directory, ranks, nodes, rows, columns, self.uneven, self.rhythm.seed, ranks,
                f"checkpoint.{ranks}.{number}",
            )
            for number, (directory, rows, columns) in enumerate(different)
        )  # fmt: skip
