"""Rounds of the benchmark of checkpoints: ranks write their rows and read them again."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree, on_root

from ..options import ColdRhythm
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.limits import PlainFile
from ..ranks.round_robin import Outcome
from ..ranks.rounds import LIMITS, Rounds
from ..ranks.scratch_directory import check_room
from ..ranks.series_io import Found, OneSeries
from ..records.variants import Variant
from .element_lists import ElementLists
from .setting import CheckpointSetting

if TYPE_CHECKING:
    from mpi4py import MPI

SAME, OTHER = "restart same", "restart other"  # operations: on the ranks that have written, and on others


@dataclass(frozen=True)
class CheckpointProgram:
    """The benchmark of checkpoints on one number of ranks. Its files stay for `restart.RestartProgram`.

    :param small_steps: steps with one row of each rank, which are nearly all metadata; 0 for none.
    """

    settings: tuple[CheckpointSetting, ...]
    variants: tuple[Variant, ...]
    rhythm: ColdRhythm
    small_steps: int = 0

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return len(self.settings) * (self.rhythm.rounds + 1) * (len(self.variants) + 1)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            CheckpointRounds(comm, self, job, number, job.directories[setting.directory], emit).run()


class ListRounds(Rounds):
    """Rounds whose values are lists of elements; see `Rounds`. A derived class sets the setting."""

    _setting: CheckpointSetting

    @cached_property
    def _lists(self) -> ElementLists:
        """Made when the first cell needs them: if they do not fit into memory, that cell has failed."""
        return agree(self._comm, lambda: self._setting.lists(self._comm.rank))

    @cached_property
    def _plain(self) -> PlainFile:
        """The files of the limits, with two more copies of the values; made when first needed."""
        lists = list(self._lists.lists.values())
        return agree(self._comm, lambda: PlainFile(self._comm, self._directory, lists))


class CheckpointRounds(ListRounds):
    """Measures all variants of one setting; see `Rounds`."""

    def __init__(
        self, comm: MPI.Comm, program: CheckpointProgram, job: Job, number: int, directory: Path, emit: Emit
    ) -> None:
        super().__init__(comm, job, program.rhythm, number, directory, emit)
        self._program, self._setting = program, program.settings[number]
        self._small = ElementLists(comm.size, 0, comm.rank, comm.rank + 1)
        self._variants = {variant.name: variant for variant in program.variants}
        on_root(comm, self._remove_failed)

    def _remove_failed(self) -> None:
        """Remove the files of ranks that died while they wrote."""
        for name in self._round_robin.failed:
            if name in self._variants:
                shutil.rmtree(self._setting.folder(self._directory, self._variants[name]), ignore_errors=True)

    def _names(self) -> list[str]:
        return [LIMITS, *self._variants]

    def _measure(self, name: str) -> bool:
        return self._measure_limits() if name == LIMITS else self._measure_variant(self._variants[name])

    def _measure_variant(self, variant: Variant) -> bool:
        """Measure a variant. Its series stays only if nothing failed."""
        one = self._setting
        folder, cell = one.folder(self._directory, variant), one.cell("write", "synced", variant)
        series: OneSeries | None = None
        with self._round_robin.failures(cell) as outcome:
            self._round_robin.begin(cell, outcome)
            check_room(self._comm, self._directory, one.bytes)
            on_root(self._comm, lambda: folder.mkdir(parents=True, exist_ok=True))
            series = OneSeries(self._comm, folder, variant, self._lists, 1)
            self._write(series, cell, one.bytes, outcome, [one.cell(SAME, self._rhythm.cold, variant)])
            if self._program.small_steps:
                self._measure_small(variant, folder, outcome)
        if not outcome.right and series is not None:
            self._remove(series)
        return outcome.right

    def _measure_small(self, variant: Variant, folder: Path, outcome: Outcome) -> None:
        cell = self._setting.small(variant, self._program.small_steps)
        place = folder / "small"
        on_root(self._comm, lambda: place.mkdir(exist_ok=True))
        series = OneSeries(self._comm, place, variant, self._small, cell.steps)
        size = 8 * self._comm.size * cell.steps
        self._write(series, cell, size, outcome)
        self._remove(series)

    def _measure_limits(self) -> bool:
        one = self._setting
        write = one.limit("write", "synced", "pwrite")
        if not self._prepare(write, one.bytes, lambda: self._plain):
            return False
        plain = self._plain
        right = self._limit(write, one.bytes, lambda: Found(plain.write(sync=True)), [])
        read = one.limit(SAME, self._rhythm.cold, "pread")
        right = right and self._limit(read, one.bytes, plain.read, [plain.path])
        agree(self._comm, plain.remove)
        return right
