"""The rounds of the benchmark of checkpoints on other ranks than those that have written the files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree, on_root

from ..ranks.job import Emit, Job
from ..ranks.rounds import LIMITS, Rhythm
from ..ranks.series_io import OneSeries
from ..records.variants import Way
from .rounds import OTHER, ListRounds
from .setting import CheckpointSetting

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class RestartWork:
    """Reads the files that a `CheckpointWork` has left, and removes them.

    A way without a file has failed there, and its failure is a record already.
    """

    settings: tuple[CheckpointSetting, ...]
    ways: tuple[Way, ...]
    rhythm: Rhythm

    @property
    def tasks(self) -> int:
        """Of all settings; see `job.Work`."""
        return len(self.settings) * (self.rhythm.rounds + 1) * (len(self.ways) + 1)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            directory = job.directories[setting.directory]
            RestartRounds(comm, self, job, number, directory, emit).run()
            if comm.rank == 0:
                shutil.rmtree(directory / setting.place, ignore_errors=True)  # else the end of the run removes it


class RestartRounds(ListRounds):
    """Measures all ways of one setting; see `Rounds`."""

    def __init__(self, comm: MPI.Comm, work: RestartWork, job: Job, number: int, directory: Path, emit: Emit) -> None:
        super().__init__(comm, job, work.rhythm, number, directory, emit)
        self._setting = one = work.settings[number]
        ways = {way.name: way for way in work.ways}
        self._ways = on_root(
            comm, lambda: {n: way for n, way in ways.items() if (one.folder(directory, way) / way.file).exists()}
        )

    def _names(self) -> list[str]:
        return [LIMITS, *self._ways]

    def _measure(self, name: str) -> bool:
        if name == LIMITS:
            return self._measure_limit()
        one, way = self._setting, self._ways[name]
        cell = one.cell(OTHER, self._rhythm.cold, way)
        with self._turns.failures(cell) as outcome:
            self._turns.begin(cell, outcome)
            series = OneSeries(self._comm, one.folder(self._directory, way), way, self._lists, 1)
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
