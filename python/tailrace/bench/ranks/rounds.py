"""Rounds in which variants of the same work take turns, and their records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.parallel import agree

from ..options import ColdRhythm
from ..records.records import Cell
from .events import Emit
from .eviction import COLD, DROPPED, Device, check_drop, drop_all, evict, send_to_disk
from .job import Job
from .noise import Warmer, Watch
from .round_robin import Outcome, RoundRobin
from .scratch_directory import check_room
from .series_io import Found, OneSeries

if TYPE_CHECKING:
    from mpi4py import MPI

LIMITS = "limits"  # the name of the limits among the variants of a round
_COLD = 0.9  # the share of the bytes that must come from the device


class Rounds(ABC):
    """Measures all variants of one setting, in rounds. All methods are collective.

    :param number: the number of the setting in its job.
    :param directory: a directory of this run alone.
    :param emit: gets the events, on rank 0: records, and a `Begin` before each of them.
    """

    def __init__(self, comm: MPI.Comm, job: Job, rhythm: ColdRhythm, number: int, directory: Path, emit: Emit) -> None:
        if rhythm.drop_caches:
            agree(comm, check_drop)  # on all nodes, not only that of the command
        self._comm, self._rhythm, self._directory = comm, rhythm, directory
        self._round_robin = RoundRobin(job, number, emit, directory)
        self._warmer, self._watch = Warmer(comm, directory), Watch(comm)
        self._device = Device(directory)
        self._first = self._watch.first_of_node

    @abstractmethod
    def _names(self) -> list[str]:
        """The names of the variants, and `LIMITS` if limits are measured."""

    @abstractmethod
    def _measure(self, name: str) -> bool:
        """Measure one round of a variant; False if it has failed and must not be tried again."""

    def run(self) -> None:
        """Measure all rounds; the first one does not count."""
        variants = {name: partial(self._measure, name) for name in self._names()}
        self._round_robin.run(variants, self._rhythm)

    def _write(self, series: OneSeries, cell: Cell, size: int, outcome: Outcome, reads: Sequence[Cell] = ()) -> None:
        """Measure how a series is written, and then how it is read. Wrong values count against both.

        The record of writing comes after those of reading, because reading checks the values.

        :param size: bytes of all ranks.
        :param reads: cells of reading; without any, the series is read only to check it.
        """
        self._round_robin.begin(cell, outcome)
        series.remove()
        self._warmer.warm(series.bytes * 5 // 4)  # for the file and buffers of the engine
        self._watch.start()
        found = series.write(sync=cell.cache == "synced", stacks=self._round_robin.round == 0)
        found = replace(found, disturbed=self._watch.stop(), counts=series.counts())
        verdict: bool | None = None
        try:
            verdict = self._read_all(series, reads, size, outcome) if reads else bool(series.read().verified)
        finally:  # the time of writing is right even if reading fails
            self._keep(cell, size, replace(found, verified=verdict))
        outcome.right = outcome.right and verdict

    def _read_all(self, series: OneSeries, cells: Sequence[Cell], size: int, outcome: Outcome) -> bool:
        """Measure several ways of reading a series; returns whether all values were right every time."""
        right = [self._read(series, cell, size, outcome) for cell in cells]  # a list, because each must be measured
        return all(right)

    def _read(self, series: OneSeries, cell: Cell, size: int, outcome: Outcome) -> bool:
        """Measure how a series of `size` bytes is read; returns whether its values are right."""
        self._round_robin.begin(cell, outcome)
        if cell.cache in (COLD, DROPPED):
            paths = [series.path]
            self._make_cold(paths if self._comm.rank == 0 else (), paths if self._first else ())
        found = self._look_on(cell, size, lambda: series.read(stacks=self._round_robin.round == 0))
        self._keep(cell, size, found)
        outcome.right = outcome.right and bool(found.verified)
        return bool(found.verified)

    def _look_on(self, cell: Cell, size: int, work: Callable[[], Found]) -> Found:
        """The result of `work`, with its disturbances and, for reads of `size` bytes, the bytes of the device."""
        before = self._device.bytes_read()
        self._watch.start()
        found = work()
        disturbed, counts = self._watch.stop(), dict(found.counts)
        after = self._device.bytes_read()
        if before is not None and after is not None and cell.cache in (COLD, DROPPED, "warm"):
            counts["device_bytes"] = float(after - before)
            share = counts["device_bytes"] / max(1, size)
            if cell.cache != "warm" and share < _COLD and self._watch.nodes == 1:
                disturbed = ", ".join(filter(None, [disturbed, f"{share:.0%} of the bytes came from the device"]))
        return replace(found, counts=counts, disturbed=disturbed)

    def _make_cold(self, stored: Sequence[Path], evicted: Sequence[Path]) -> None:
        """Take files out of the page cache of all nodes, or drop the whole cache.

        :param stored: files that this rank sends to the disk before any rank evicts one.
        :param evicted: files that this rank evicts.
        """
        agree(self._comm, lambda: send_to_disk(stored))
        evict(evicted)
        self._comm.barrier()
        if self._rhythm.drop_caches:
            agree(self._comm, lambda: drop_all() if self._first else None)

    def _prepare(self, cell: Cell, size: int, work: Callable[[], object]) -> bool:
        """Prepare a cell before it is measured; False if that has failed, which counts as a failure of the cell.

        :param size: bytes of all ranks that are written.
        """
        with self._round_robin.failures(cell) as outcome:
            self._round_robin.begin(cell, outcome)
            check_room(self._comm, self._directory, size)
            work()
        return outcome.right

    def _limit(self, cell: Cell, size: int, work: Callable[[], Found], paths: Sequence[Path]) -> bool:
        """Measure a limit; False if it has failed or read wrong bytes.

        :param size: bytes of all ranks.
        :param paths: files of this rank that a cold read must not find in the page cache.
        """
        with self._round_robin.failures(cell) as outcome:
            self._round_robin.begin(cell, outcome)
            check_room(self._comm, self._directory, size)
            if not paths:
                self._warmer.warm(size // self._comm.size)
            elif cell.cache in (COLD, DROPPED):
                self._make_cold(paths, paths)  # each rank its own
            found = self._look_on(cell, size, work)
            self._keep(cell, size, found)
            if found.verified is False:
                outcome.right = False
        return outcome.right

    def _keep(self, cell: Cell, size: int, found: Found) -> None:
        self._round_robin.keep(
            cell, found.timing, size, disturbed=found.disturbed, counts=found.counts, verified=found.verified,
            stacks=found.stacks,
        )  # fmt: skip

    def _remove(self, series: OneSeries) -> None:
        try:
            series.remove()
        except OSError as error:  # the directory of the run is removed in the end
            self._round_robin.note(f"{series.path.name} cannot be removed: {error}")
