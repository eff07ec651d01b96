"""The rounds of the benchmark of checkpoints on other ranks than those that have written the files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree, on_root

from .checkpoint_rounds import OTHER
from .checkpoint_setting import CheckpointSetting
from .job import Emit, Job
from .limits import PlainFile
from .room import check_room
from .rounds import LIMITS, Rhythm, Rounds
from .series_io import OneSeries
from .ways import Way

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


class RestartRounds(Rounds):
    """Measures all ways of one setting; see `Rounds`."""

    def __init__(self, comm: MPI.Comm, work: RestartWork, job: Job, number: int, directory: Path, emit: Emit) -> None:
        super().__init__(comm, job, work.rhythm, number, directory, emit)
        self._setting = one = work.settings[number]
        self._lists = one.lists(comm.rank)
        self._plain = PlainFile(comm, directory, list(self._lists.lists.values()))
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
        series = OneSeries(self._comm, one.folder(self._directory, way), way, self._lists, 1)
        cell = one.cell(OTHER, "cold", way)
        with self._turns.failures(cell) as outcome:
            self._read(series, cell, one.bytes, outcome)
        return outcome.right

    def _measure_limit(self) -> bool:
        one, plain = self._setting, self._plain
        cell = one.limit(OTHER, "cold", "pread")
        with self._turns.failures(cell) as outcome:
            check_room(self._comm, self._directory, one.bytes)
            plain.write(sync=False)
        right = outcome.right and self._limit(cell, one.bytes, plain.read, [plain.path])
        agree(self._comm, plain.remove)
        return right
