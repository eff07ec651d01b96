"""The rounds of the benchmark of input and output, on the ranks that write and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree

from .eviction import Device, drop_all, evict, send_to_disk
from .io_setting import IoSetting
from .job import Emit, Job
from .limits import PlainFile
from .noise import Warmer, Watch
from .parts import Values, box_of
from .records import Cell
from .room import check_room
from .series_io import OneSeries
from .stored_values import stored_values
from .timing import Timing
from .turns import Outcome, Turns
from .ways import Way

if TYPE_CHECKING:
    from mpi4py import MPI

LIMITS = "limits"  # the name of the limits among the ways of a round
_COLD = 0.9  # the share of the bytes that must come from the device

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


class IoRounds:
    """Measures all ways of one setting, in rounds. All methods are collective.

    :param directory: of this run alone.
    :param emit: gets what happens, on rank 0: records, and `{"kind": "begin", ...}` before each of them.
    """

    def __init__(self, comm: MPI.Comm, work: IoWork, job: Job, number: int, directory: Path, emit: Emit) -> None:
        self._comm, self._work, self._directory = comm, work, directory
        self._setting = work.settings[number]
        self._turns = Turns(job, number, emit, directory)
        box = box_of(self._setting.shape, self._setting.decomposition, comm.rank)
        stored = agree(comm, lambda: stored_values(self._setting, box)) if self._setting.source else []
        one = self._setting
        self._values = Values(one.shape, box, one.variables, one.precision, one.halo, stored)
        self._plain = PlainFile(comm, directory, self._values.expected * one.steps) if work.limits else None
        self._warmer, self._watch = Warmer(comm, directory), Watch(comm)
        self._device = Device(directory)
        self._first = self._watch.first_of_node

    def run(self) -> None:
        """All rounds; the first one is not counted."""
        ways: dict[str, Callable[[], bool]] = {LIMITS: self._measure_limits} if self._work.limits else {}
        ways |= {way.name: partial(self._measure, way) for way in self._work.ways}
        self._turns.run(ways, self._work.rounds, self._work.seed)

    # ---- ways --------------------------------------------------------------------------------------------------------
    def _measure(self, way: Way) -> bool:
        """One round of a way; False where it has failed."""
        series = OneSeries(self._comm, self._directory, way, self._values, self._setting.steps)
        cells = [self._setting.cell("write", cache, way) for cache in self._work.writes]
        first = cells[0] if cells else self._setting.cell("read", self._work.reads[0], way)
        with self._turns.failures(first) as outcome:
            check_room(self._comm, self._directory, self._setting.bytes)
            for cell in cells:
                self._write(series, cell, outcome)
            if not cells:
                series.write(sync=False)
            for cache in self._work.reads:
                self._read(series, self._setting.cell("read", cache, way), outcome)
        self._remove(series)
        return outcome.right

    def _write(self, series: OneSeries, cell: Cell, outcome: Outcome) -> None:
        self._turns.begin(cell, outcome)
        series.remove()
        self._warmer.warm(self._values.bytes * self._setting.steps * 5 // 4)  # for the file and buffers of the engine
        self._watch.start()
        timing, stacks = series.write(sync=cell.cache == "synced", stacks=self._turns.round == 0)
        disturbed = self._watch.stop()
        last = cell.cache == self._work.writes[-1]
        verified = None if last and self._work.reads else series.read()[1]  # else the reads verify it
        self._turns.keep(
            cell, timing, self._setting.bytes,
            disturbed=disturbed, counts=series.counts(), verified=verified, stacks=stacks,
        )  # fmt: skip
        if verified is False:
            outcome.right = False

    def _read(self, series: OneSeries, cell: Cell, outcome: Outcome) -> None:
        self._turns.begin(cell, outcome)
        counts = {}
        if cell.cache == "cold":
            self._make_cold([series.path])
        before = self._device.bytes_read()
        self._watch.start()
        timing, right, stacks = series.read(stacks=self._turns.round == 0)
        disturbed = self._watch.stop()
        after = self._device.bytes_read()
        if before is not None and after is not None:
            counts["device_bytes"] = float(after - before)
            share = counts["device_bytes"] / max(1, self._setting.bytes)
            if cell.cache == "cold" and share < _COLD and self._watch.nodes == 1:
                disturbed = ", ".join(filter(None, [disturbed, f"{share:.0%} of the bytes came from the device"]))
        self._turns.keep(
            cell, timing, self._setting.bytes, disturbed=disturbed, counts=counts, verified=right, stacks=stacks
        )

    def _make_cold(self, paths: list[Path]) -> None:
        agree(self._comm, lambda: send_to_disk(paths) if self._comm.rank == 0 else None)
        if self._first:
            evict(paths)
            if self._work.drop_caches:
                drop_all()
        self._comm.barrier()

    # ---- limits ------------------------------------------------------------------------------------------------------
    def _measure_limits(self) -> bool:
        """One round of the limits; False where one has failed."""
        plain = self._plain
        assert plain is not None
        paths = [plain.path]
        one, right = self._setting, True
        steps: list[tuple[Cell, Callable[[], Timing]]] = [(one.limit("copy", "memory", "memory copy"), plain.copy)]
        for cache in self._work.writes:
            steps.append((one.limit("write", cache, "pwrite"), lambda s=cache == "synced": plain.write(sync=s)))  # type: ignore[misc]
        if "synced" in self._work.writes:
            steps.append((one.limit("write", "synced", "pwrite direct"), lambda: plain.write(sync=True, direct=True)))
        for cell, work in steps:
            right = self._limit(cell, work, []) and right
        if self._work.reads and not self._work.writes:
            plain.write(sync=False)
        for cache in self._work.reads:
            right = self._limit(one.limit("read", cache, "pread"), lambda: plain.read()[0], paths) and right
        agree(self._comm, plain.remove)
        return right

    def _limit(self, cell: Cell, work: Callable[[], Timing], paths: list[Path]) -> bool:
        with self._turns.failures(cell) as outcome:
            self._turns.begin(cell, outcome)
            check_room(self._comm, self._directory, self._setting.bytes)
            if cell.operation != "read":
                self._warmer.warm(self._values.bytes * self._setting.steps)
            elif cell.cache == "cold":
                agree(self._comm, lambda: send_to_disk(paths))
                evict(paths)  # each rank its own
                self._comm.barrier()
            self._watch.start()
            timing = work()
            self._turns.keep(cell, timing, self._setting.bytes, disturbed=self._watch.stop())
        return outcome.right

    def _remove(self, series: OneSeries) -> None:
        try:
            series.remove()
        except OSError as error:  # the directory of the run is removed in the end
            self._turns.note(f"{series.path.name} cannot be removed: {error}")
