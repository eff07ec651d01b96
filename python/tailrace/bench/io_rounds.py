"""The rounds of the benchmark of input and output, on the ranks that write and read."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace import _core
from tailrace.parallel import agree, on_root
from tailrace.text import size

from .eviction import Device, drop_all, evict, send_to_disk
from .io_setting import IoSetting
from .job import Emit, Job
from .limits import PlainFile
from .noise import Warmer, Watch
from .parts import Values, box_of
from .records import Cell, Failure, Measurement
from .series_io import OneSeries
from .stored_values import stored_values
from .timing import Timing
from .ways import Way

if TYPE_CHECKING:
    from mpi4py import MPI

LIMITS = "limits"  # the name of the limits among the ways of a round
_ROOM = 1.2  # free bytes on the disk, in parts of the bytes that are written
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
        self._comm, self._work, self._job, self._number, self._directory = comm, work, job, number, directory
        self._setting = work.settings[number]
        self._emit = emit
        box = box_of(self._setting.shape, self._setting.decomposition, comm.rank)
        stored = agree(comm, lambda: stored_values(self._setting, box)) if self._setting.source else []
        one = self._setting
        self._values = Values(one.shape, box, one.variables, one.precision, one.halo, stored)
        self._plain = PlainFile(comm, directory, self._values.expected * one.steps) if work.limits else None
        self._warmer, self._watch = Warmer(comm, directory), Watch(comm)
        self._device = Device(directory)
        self._first = self._watch.first_of_node
        self._round = self._order = 0

    def run(self) -> None:
        """All rounds; the first one is not counted."""
        names = [*([LIMITS] if self._work.limits else []), *(way.name for way in self._work.ways)]
        ways = {way.name: way for way in self._work.ways}
        failed = {name for number, name in self._job.failed if number == self._number}
        shuffle = random.Random(self._work.seed).shuffle  # the same on all ranks
        for number in range(self._work.rounds + 1):
            shuffle(names)  # the data of one way may still be on the way to the disk while the next one writes
            for order, name in enumerate(names):
                if name in failed or (self._number, number, name) in self._job.done:
                    continue
                self._round, self._order = number, order
                if not (self._measure_limits() if name == LIMITS else self._measure(ways[name])):
                    failed.add(name)
                self._emit({"kind": "done", "setting": self._number, "round": number, "way": name})

    # ---- ways --------------------------------------------------------------------------------------------------------
    def _measure(self, way: Way) -> bool:
        """One round of a way; False where it has failed."""
        series = OneSeries(self._comm, self._directory, way, self._values, self._setting.steps)
        cells = [self._setting.cell("write", cache, way) for cache in self._work.writes]
        with self._failures(cells[0] if cells else self._setting.cell("read", self._work.reads[0], way)) as outcome:
            self._check_room()
            for cell in cells:
                self._write(series, cell, outcome)
            if not cells:
                series.write(sync=False)
            for cache in self._work.reads:
                self._read(series, self._setting.cell("read", cache, way), outcome)
        self._remove(series)
        return outcome.right

    def _write(self, series: OneSeries, cell: Cell, outcome: Outcome) -> None:
        self._begin(cell, outcome)
        series.remove()
        self._warmer.warm(self._values.bytes * self._setting.steps * 5 // 4)  # for the file and buffers of the engine
        self._watch.start()
        timing, stacks = series.write(sync=cell.cache == "synced", stacks=self._round == 0)
        disturbed = self._watch.stop()
        last = cell.cache == self._work.writes[-1]
        verified = None if last and self._work.reads else series.read()[1]  # else the reads verify it
        self._keep(cell, timing, disturbed, series.counts(), verified, stacks)
        if verified is False:
            outcome.right = False

    def _read(self, series: OneSeries, cell: Cell, outcome: Outcome) -> None:
        self._begin(cell, outcome)
        counts = {}
        if cell.cache == "cold":
            self._make_cold([series.path])
        before = self._device.bytes_read()
        self._watch.start()
        timing, right, stacks = series.read(stacks=self._round == 0)
        disturbed = self._watch.stop()
        after = self._device.bytes_read()
        if before is not None and after is not None:
            counts["device_bytes"] = float(after - before)
            share = counts["device_bytes"] / max(1, self._setting.bytes)
            if cell.cache == "cold" and share < _COLD and self._watch.nodes == 1:
                disturbed = ", ".join(filter(None, [disturbed, f"{share:.0%} of the bytes came from the device"]))
        self._keep(cell, timing, disturbed, counts, right, stacks)

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
        with self._failures(cell) as outcome:
            self._begin(cell, outcome)
            self._check_room()
            if cell.operation != "read":
                self._warmer.warm(self._values.bytes * self._setting.steps)
            elif cell.cache == "cold":
                agree(self._comm, lambda: send_to_disk(paths))
                evict(paths)  # each rank its own
                self._comm.barrier()
            self._watch.start()
            timing = work()
            self._keep(cell, timing, self._watch.stop(), {}, None, {})
        return outcome.right

    # ---- records -----------------------------------------------------------------------------------------------------
    def _begin(self, cell: Cell, outcome: Outcome) -> None:
        outcome.cell = cell
        way = LIMITS if cell.role == "limit" else cell.name
        text = Failure(cell, self._round, "").to_json()
        self._emit({**text, "kind": "begin", "setting": self._number, "way": way})

    def _keep(
        self,
        cell: Cell,
        timing: Timing,
        disturbed: str,
        counts: dict[str, float],
        verified: bool | None,
        stacks: dict[str, float],
    ) -> None:
        """A round that counts is a record; of the first one only the stacks and wrong values are."""
        if self._round == 0 and not stacks and verified is not False:
            return
        record = Measurement(
            cell, self._round, timing.seconds, self._setting.bytes, self._order, timing.phases, timing.per_rank,
            counts, stacks, verified, disturbed,
        )  # fmt: skip
        self._emit(record.to_json())

    def _check_room(self) -> None:
        need = _ROOM * self._setting.bytes
        free = on_root(self._comm, lambda: shutil.disk_usage(self._directory).free)
        if free < need:
            raise OSError(f"{size(free)} are free in the directory, and {size(need)} are needed")

    @contextmanager
    def _failures(self, cell: Cell) -> Iterator[Outcome]:
        """An error that all ranks have becomes a record of the cell that was being measured."""
        outcome = Outcome(cell)
        try:
            yield outcome
        except (_core.InputError, _core.IoError, OSError, MemoryError) as error:
            outcome.right = False
            text = str(error).replace(str(self._directory), "...") or type(error).__name__
            self._emit(Failure(outcome.cell, self._round, text).to_json())

    def _remove(self, series: OneSeries) -> None:
        try:
            series.remove()
        except OSError as error:  # the directory of the run is removed in the end
            self._emit({"kind": "note", "text": f"{series.path.name} cannot be removed: {error}"})


class Outcome:
    """Of a way in a round: the cell that is being measured, and whether all is right so far."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.right = cell, True
