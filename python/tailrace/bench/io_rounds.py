"""The rounds of the benchmark of input and output, on the ranks that write and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree

from .io_setting import IoSetting
from .job import Emit, Job
from .limits import PlainFile
from .parts import Values, box_of
from .records import Cell
from .room import check_room
from .rounds import LIMITS, Rhythm, Rounds
from .series_io import Found, OneSeries
from .stored_values import stored_values
from .timing import Timing
from .ways import Way

if TYPE_CHECKING:
    from mpi4py import MPI

WRITES = ("page cache", "synced")
READS = ("cold", "warm")


@dataclass(frozen=True)
class IoWork:
    """What the benchmark of input and output does on one number of ranks."""

    settings: tuple[IoSetting, ...]
    ways: tuple[Way, ...]
    writes: tuple[str, ...] = WRITES
    reads: tuple[str, ...] = READS
    rounds: int = 5
    seed: int = 0
    drop_caches: bool = False
    limits: bool = True

    @property
    def tasks(self) -> int:
        """Of all settings; see `job.Work`."""
        return len(self.settings) * (self.rounds + 1) * (len(self.ways) + int(self.limits))

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            IoRounds(comm, self, job, number, job.directories[setting.directory], emit).run()


class IoRounds(Rounds):
    """Measures all ways of one setting; see `Rounds`."""

    def __init__(self, comm: MPI.Comm, work: IoWork, job: Job, number: int, directory: Path, emit: Emit) -> None:
        super().__init__(comm, job, Rhythm(work.rounds, work.seed, work.drop_caches), number, directory, emit)
        self._work, self._setting = work, work.settings[number]
        one = self._setting
        box = box_of(one.shape, one.decomposition, comm.rank)
        stored = agree(comm, lambda: stored_values(one, box)) if one.source else []
        self._values = Values(one.shape, box, one.variables, one.precision, one.halo, stored)
        self._plain = PlainFile(comm, directory, self._values.expected * one.steps) if work.limits else None
        self._ways = {way.name: way for way in work.ways}

    def _names(self) -> list[str]:
        return [*([LIMITS] if self._work.limits else []), *self._ways]

    # ---- ways --------------------------------------------------------------------------------------------------------
    def _measure(self, name: str) -> bool:
        return self._measure_limits() if name == LIMITS else self._measure_way(self._ways[name])

    def _measure_way(self, way: Way) -> bool:
        series = OneSeries(self._comm, self._directory, way, self._values, self._setting.steps)
        one = self._setting
        writes = [one.cell("write", cache, way) for cache in self._work.writes]
        reads = [one.cell("read", cache, way) for cache in self._work.reads]
        with self._turns.failures([*writes, *reads][0]) as outcome:
            check_room(self._comm, self._directory, one.bytes)
            for number, cell in enumerate(writes, 1):
                self._write(series, cell, one.bytes, outcome, reads if number == len(writes) else ())
            if not writes:
                series.write(sync=False)
                self._read_all(series, reads, one.bytes, outcome)
        self._remove(series)
        return outcome.right

    # ---- limits ------------------------------------------------------------------------------------------------------
    def _measure_limits(self) -> bool:
        """One round of the limits; False where one has failed."""
        plain = self._plain
        assert plain is not None
        paths = [plain.path]
        one, right = self._setting, True
        steps: list[tuple[Cell, Callable[[], Timing]]] = [(one.limit("copy", "memory", "memory copy"), plain.copy)]
        steps += [
            (one.limit("write", cache, "pwrite"), partial(plain.write, sync=cache == "synced"))
            for cache in self._work.writes
        ]
        if "synced" in self._work.writes:
            steps.append((one.limit("write", "synced", "pwrite direct"), partial(plain.write, sync=True, direct=True)))
        for cell, work in steps:
            right = self._limit(cell, one.bytes, lambda work=work: Found(work()), []) and right  # type: ignore[misc]
        right = self._measure_plain_reads(plain, paths) and right
        agree(self._comm, plain.remove)
        return right

    def _measure_plain_reads(self, plain: PlainFile, paths: list[Path]) -> bool:
        """Of a file that goes through the page cache, as a direct write leaves none of it there."""
        one, right = self._setting, True
        cells = [one.limit("read", cache, "pread") for cache in self._work.reads]
        for cell in cells[:1]:
            with self._turns.failures(cell) as outcome:
                check_room(self._comm, self._directory, one.bytes)
                plain.write(sync=False)
            right = outcome.right
        return right and all(self._limit(cell, one.bytes, plain.read, paths) for cell in cells)
