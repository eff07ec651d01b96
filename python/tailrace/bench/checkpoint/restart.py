"""Restart rounds of the benchmark of checkpoints: other ranks read than those that wrote the files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree, on_root

from ..options import ColdRhythm
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.rounds import LIMITS
from ..ranks.series_io import OneSeries
from ..records.variants import Variant
from .rounds import OTHER, ListRounds
from .setting import CheckpointSetting

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class RestartProgram:
    """Reads the files that a `CheckpointProgram` has left, and removes them.

    A variant without a file has failed before, and its failure is recorded already.
    """

    settings: tuple[CheckpointSetting, ...]
    variants: tuple[Variant, ...]
    rhythm: ColdRhythm

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return len(self.settings) * (self.rhythm.rounds + 1) * (len(self.variants) + 1)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            directory = job.directories[setting.directory]
            RestartRounds(comm, self, job, number, directory, emit).run()
            if comm.rank == 0:
                shutil.rmtree(directory / setting.place, ignore_errors=True)  # else the end of the run removes it


class RestartRounds(ListRounds):
    """Measures all variants of one setting; see `Rounds`."""

    def __init__(
        self, comm: MPI.Comm, program: RestartProgram, job: Job, number: int, directory: Path, emit: Emit
    ) -> None:
        super().__init__(comm, job, program.rhythm, number, directory, emit)
        self._setting = one = program.settings[number]
        variants = {variant.name: variant for variant in program.variants}
        self._variants = on_root(
            comm,
            lambda: {
                n: variant
                for n, variant in variants.items()
                if (one.folder(directory, variant) / variant.file).exists()
            },
        )

    def _names(self) -> list[str]:
        return [LIMITS, *self._variants]

    def _measure(self, name: str) -> bool:
        if name == LIMITS:
            return self._measure_limit()
        one, variant = self._setting, self._variants[name]
        cell = one.cell(OTHER, self._rhythm.cold, variant)
        with self._round_robin.failures(cell) as outcome:
            self._round_robin.begin(cell, outcome)
            series = OneSeries(self._comm, one.folder(self._directory, variant), variant, self._lists, 1)
            self._read(series, cell, one.bytes, outcome)
        return outcome.right

    def _measure_limit(self) -> bool:
        one = self._setting
        cell = one.limit(OTHER, self._rhythm.cold, "pread")
        if not self._prepare(cell, one.bytes, lambda: self._plain.write(sync=False)):
            return False
        right = self._limit(cell, one.bytes, self._plain.read, [self._plain.path])
        agree(self._comm, self._plain.remove)
        return right
