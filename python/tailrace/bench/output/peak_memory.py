"""The benchmark of memory: the bytes that a rank needs besides its own block while it writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.grids import triple
from tailrace.io import series as arrays

from ..io.held_values import values_of
from ..io.setting import IoSetting
from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.round_robin import RoundRobin
from ..ranks.scratch_directory import check_room
from ..ranks.series_io import OneSeries
from ..ranks.timing import Together, slowest
from ..records.variants import Variant
from .peak import Peak

if TYPE_CHECKING:
    from mpi4py import MPI

STEPS = 2  # besides one for each buffer: all buffers are full, and one is used again
_TRIAL = 8  # points of a rank in each direction


@dataclass(frozen=True)
class MemoryProgram:
    """The benchmark of memory on one number of ranks with one way of writing. Every round counts."""

    settings: tuple[IoSetting, ...]
    variant: Variant
    rounds: int

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        return len(self.settings) * self.rounds

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            round_robin = RoundRobin(job, number, emit, job.directories[setting.directory])
            work = partial(self._measure, comm, setting, job.directories[setting.directory], round_robin)
            round_robin.run({self.variant.name: work}, RoundOptions(self.rounds), first=1)

    def _measure(self, comm: MPI.Comm, setting: IoSetting, directory: Path, round_robin: RoundRobin) -> bool:
        """The peak on the worst rank while a series is open and its steps are written."""
        with round_robin.failures(setting.cell("write", "page cache", self.variant)) as outcome:
            round_robin.begin(outcome.cell, outcome)
            check_room(comm, directory, setting.bytes)
            self._try(comm, setting, directory)
            values = values_of(setting, comm)
            files = OneSeries(comm, directory, self.variant, values, setting.steps)
            clock = Together(comm)
            clock.start()
            with Peak() as peak:
                series = arrays.open(
                    files.path, "w", comm=comm, engine=self.variant.engine, parameters=dict(self.variant.parameters)
                )
                clock.marks.end("open")
                for step in range(setting.steps):
                    series.write_step(float(step), dict(zip(values.names(), values.blocks, strict=True)))
                clock.marks.end("write")  # the series stays open: close would free memory that ranks share
            clock.marks.begin()
            series.close()
            clock.marks.end("close")
            timing = clock.stop()
            files.remove()
            own = {"private": peak.private, "shared": peak.shared, "block": values.bytes, "sampled": peak.sampled}
            counts = slowest(comm, {name: float(value) for name, value in own.items()})
            round_robin.keep(outcome.cell, timing, setting.bytes, counts=counts)
        return outcome.right

    def _try(self, comm: MPI.Comm, setting: IoSetting, directory: Path) -> None:
        """Write a tiny series, so that libraries are loaded and MPI and the engine have their permanent memory."""
        small = replace(setting, shape=triple([_TRIAL * parts for parts in setting.decomposition]))
        values = values_of(small, comm)
        files = OneSeries(comm, directory, self.variant, values, 1)
        files.write(sync=False)
        files.remove()
