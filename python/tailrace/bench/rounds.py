"""Rounds in which ways of doing the same thing take turns, and the records that they leave."""

from __future__ import annotations

import random
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace import _core
from tailrace.parallel import agree, on_root
from tailrace.text import size

from .eviction import Device, drop_all, evict, send_to_disk
from .job import Emit, Job
from .noise import Warmer, Watch
from .records import Cell, Failure, Measurement
from .series_io import Found, OneSeries
from .timing import Timing

if TYPE_CHECKING:
    from mpi4py import MPI

LIMITS = "limits"  # the name of the limits among the ways of a round
_ROOM = 1.2  # free bytes on the disk, in parts of the bytes that are written
_COLD = 0.9  # the share of the bytes that must come from the device


@dataclass(frozen=True)
class Rhythm:
    """How the rounds of a setting go.

    :param rounds: so many count; one more, the first, does not.
    :param seed: of the order in which ways take turns.
    :param drop_caches: before cold reads, let the kernel give up all that it has cached.
    """

    rounds: int = 5
    seed: int = 0
    drop_caches: bool = False


class Outcome:
    """Of a way in a round: the cell that is being measured, and whether all is right so far."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.right = cell, True


class Rounds(ABC):
    """Measures all ways of one setting, in rounds. All methods are collective.

    :param number: of the setting in its job.
    :param directory: of this run alone.
    :param emit: gets what happens, on rank 0: records, and `{"kind": "begin", ...}` before each of them.
    """

    def __init__(self, comm: MPI.Comm, job: Job, rhythm: Rhythm, number: int, directory: Path, emit: Emit) -> None:
        self._comm, self._job, self._rhythm, self._number = comm, job, rhythm, number
        self._directory, self._emit = directory, emit
        self._warmer, self._watch = Warmer(comm, directory), Watch(comm)
        self._device = Device(directory)
        self._first = self._watch.first_of_node
        self._round = self._order = 0

    @abstractmethod
    def _names(self) -> list[str]:
        """Of the ways, and `LIMITS` where they are measured."""

    @abstractmethod
    def _measure(self, name: str) -> bool:
        """One round of a way; False where it has failed and must not be tried again."""

    def run(self) -> None:
        """All rounds; the first one is not counted."""
        names = self._names()
        failed = {name for number, name in self._job.failed if number == self._number}
        shuffle = random.Random(self._rhythm.seed).shuffle  # the same on all ranks
        for number in range(self._rhythm.rounds + 1):
            shuffle(names)  # the data of one way may still be on the way to the disk while the next one writes
            for order, name in enumerate(names):
                if name in failed or (self._number, number, name) in self._job.done:
                    continue
                self._round, self._order = number, order
                if not self._measure(name):
                    failed.add(name)
                self._emit({"kind": "done", "setting": self._number, "round": number, "way": name})

    # ---- reading -----------------------------------------------------------------------------------------------------
    def _read(
        self, cell: Cell, size: int, paths: Sequence[Path], outcome: Outcome, work: Callable[[bool], Found]
    ) -> None:
        """Measure how `work` reads `paths`, of `size` bytes in all.

        :param work: called with whether it should keep stacks.
        """
        self._begin(cell, outcome)
        if cell.cache == "cold":
            self._make_cold(paths)
        before = self._device.bytes_read()
        self._watch.start()
        found = work(self._round == 0)
        disturbed, counts = self._watch.stop(), dict(found.counts)
        after = self._device.bytes_read()
        if before is not None and after is not None:
            counts["device_bytes"] = float(after - before)
            share = counts["device_bytes"] / max(1, size)
            if cell.cache == "cold" and share < _COLD and self._watch.nodes == 1:
                disturbed = ", ".join(filter(None, [disturbed, f"{share:.0%} of the bytes came from the device"]))
        self._keep(cell, size, replace(found, counts=counts, disturbed=disturbed))

    def _make_cold(self, paths: Sequence[Path]) -> None:
        agree(self._comm, lambda: send_to_disk(paths) if self._comm.rank == 0 else None)
        if self._first:
            evict(paths)
            if self._rhythm.drop_caches:
                drop_all()
        self._comm.barrier()

    # ---- limits ------------------------------------------------------------------------------------------------------
    def _limit(self, cell: Cell, size: int, work: Callable[[], Timing], paths: Sequence[Path]) -> bool:
        """Measure a limit; False where it has failed.

        :param size: bytes of all ranks.
        :param paths: those of this rank that a cold read must not find in the page cache.
        """
        with self._failures(cell) as outcome:
            self._begin(cell, outcome)
            self._check_room(size)
            if not paths:
                self._warmer.warm(size // self._comm.size)
            elif cell.cache == "cold":
                agree(self._comm, lambda: send_to_disk(paths))
                evict(paths)  # each rank its own
                self._comm.barrier()
            self._watch.start()
            timing = work()
            self._keep(cell, size, Found(timing, disturbed=self._watch.stop()))
        return outcome.right

    # ---- records -----------------------------------------------------------------------------------------------------
    def _begin(self, cell: Cell, outcome: Outcome) -> None:
        outcome.cell = cell
        way = LIMITS if cell.role == "limit" else cell.name
        text = Failure(cell, self._round, "").to_json()
        self._emit({**text, "kind": "begin", "setting": self._number, "way": way})

    def _keep(self, cell: Cell, size: int, found: Found) -> None:
        """A round that counts is a record; of the first one only the stacks and wrong values are."""
        if self._round == 0 and not found.stacks and found.verified is not False:
            return
        timing = found.timing
        record = Measurement(
            cell, self._round, timing.seconds, size, self._order, timing.phases, timing.per_rank,
            dict(found.counts), dict(found.stacks), found.verified, found.disturbed,
        )  # fmt: skip
        self._emit(record.to_json())

    def _check_room(self, bytes_written: int) -> None:
        need = _ROOM * bytes_written
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
