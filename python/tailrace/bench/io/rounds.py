"""The rounds of the benchmark of input and output, on the ranks that write and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.flow.memory import check_memory
from tailrace.parallel import agree

from ..options import ColdRhythm
from ..ranks.events import Emit
from ..ranks.eviction import COLD
from ..ranks.job import Job
from ..ranks.limits import PlainFile
from ..ranks.partition import Values
from ..ranks.rounds import LIMITS, Rounds
from ..ranks.scratch_directory import check_room
from ..ranks.series_io import Found, OneSeries
from ..ranks.timing import Timing
from ..records.records import Cell
from ..records.variants import Variant
from .held_values import values_of
from .setting import IoSetting

if TYPE_CHECKING:
    from mpi4py import MPI

WRITES = ("page cache", "synced")
READS = (COLD, "warm")


@dataclass(frozen=True)
class IoProgram:
    """The benchmark of input and output on one number of ranks."""

    settings: tuple[IoSetting, ...]
    variants: tuple[Variant, ...]
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    rhythm: ColdRhythm

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return len(self.settings) * (self.rhythm.rounds + 1) * (len(self.variants) + 1)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            IoRounds(comm, self, job, number, job.directories[setting.directory], emit).run()


class IoRounds(Rounds):
    """Measures all variants of one setting; see `Rounds`."""

    def __init__(self, comm: MPI.Comm, program: IoProgram, job: Job, number: int, directory: Path, emit: Emit) -> None:
        super().__init__(comm, job, program.rhythm, number, directory, emit)
        self._program, self._setting = program, program.settings[number]
        self._reads = [program.rhythm.cold if cache == COLD else cache for cache in program.reads]
        self._variants = {variant.name: variant for variant in program.variants}
        self._failed_limits: set[Cell] = set()  # which are not tried again

    def _names(self) -> list[str]:
        return [LIMITS, *self._variants]

    @cached_property
    def _values(self) -> Values:
        """Made when the first cell needs them: if they do not fit into memory, that cell has failed."""
        return values_of(self._setting, self._comm)

    @cached_property
    def _plain(self) -> PlainFile:
        """The files of the limits, with two more copies of the values; made when first needed."""
        one, expected = self._setting, self._values.expected
        check_memory(one.shape, (1 + 2 * one.steps) * one.point_bytes, self._comm)
        return agree(self._comm, lambda: PlainFile(self._comm, self._directory, expected * one.steps))

    def _measure(self, name: str) -> bool:
        return self._measure_limits() if name == LIMITS else self._measure_variant(self._variants[name])

    def _measure_variant(self, variant: Variant) -> bool:
        one = self._setting
        series: OneSeries | None = None
        writes = [one.cell("write", cache, variant) for cache in self._program.writes]
        reads = [one.cell("read", cache, variant) for cache in self._reads]
        first = [*writes, *reads][0]
        with self._round_robin.failures(first) as outcome:
            self._round_robin.begin(first, outcome)
            check_room(self._comm, self._directory, one.bytes)
            series = OneSeries(self._comm, self._directory, variant, self._values, one.steps)
            for number, cell in enumerate(writes, 1):
                self._write(series, cell, one.bytes, outcome, reads if number == len(writes) else ())
            if not writes:
                series.write(sync=False)
                self._read_all(series, reads, one.bytes, outcome)
        if series is not None:
            self._remove(series)
        return outcome.right

    def _measure_limits(self) -> bool:
        """One round of the limits; False if there are no values for them. One that fails leaves the others."""
        one = self._setting
        copy = one.limit("copy", "memory", "memory copy")
        if not self._prepare(copy, one.bytes, lambda: self._plain):
            return False
        plain = self._plain
        steps: list[tuple[Cell, Callable[[], Timing]]] = [(copy, plain.copy)]
        steps += [
            (one.limit("write", cache, "pwrite"), partial(plain.write, sync=cache == "synced"))
            for cache in self._program.writes
        ]
        if "synced" in self._program.writes:
            steps.append((one.limit("write", "synced", "pwrite direct"), partial(plain.write, sync=True, direct=True)))
        for cell, work in steps:
            self._try_limit(cell, lambda work=work: Found(work()), [])  # type: ignore[misc]
        self._measure_plain_reads(plain)
        agree(self._comm, plain.remove)
        return True

    def _try_limit(self, cell: Cell, work: Callable[[], Found], paths: Sequence[Path]) -> None:
        if cell not in self._failed_limits and not self._limit(cell, self._setting.bytes, work, paths):
            self._failed_limits.add(cell)

    def _measure_plain_reads(self, plain: PlainFile) -> None:
        """Measure plain reads of a file written through the page cache; a direct write leaves nothing there."""
        one = self._setting
        cells = [one.limit("read", cache, "pread") for cache in self._reads]
        if cells and self._prepare(cells[0], one.bytes, lambda: plain.write(sync=False)):
            for cell in cells:
                self._try_limit(cell, plain.read, [plain.path])
