"""Write a series and read it again through an engine of Tailrace, with clocks. All functions are collective."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from tailrace.io import series as arrays
from tailrace.parallel import agree, on_root

from ..records.variants import Variant
from .eviction import files_below
from .partition import all_ranks
from .timing import Timing, Together, total

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Found:
    """The result of a measurement."""

    timing: Timing
    verified: bool | None = None
    counts: Mapping[str, float] = field(default_factory=dict)
    stacks: Mapping[str, float] = field(default_factory=dict)
    disturbed: str = ""


class Content(Protocol):
    """The data that one rank writes and must read again."""

    @property
    def bytes(self) -> int:
        """Bytes of this rank."""

    def write(self, series: arrays.ArraySeries) -> None:
        """Write it into the open step of a series. Collective."""

    def read(self, step: arrays.ArrayStep) -> list[NDArray[Any]]:
        """Read it. Collective."""

    def equal(self, read: Sequence[NDArray[Any]]) -> bool:
        """Whether arrays that were read are right, bit for bit."""


class OneSeries:
    """The series of a variant in a directory. `values`: the content of each step."""

    def __init__(self, comm: MPI.Comm, directory: Path, variant: Variant, values: Content, steps: int) -> None:
        self._comm, self._directory, self._variant = comm, directory, variant
        self._values, self._steps = values, steps
        self.path = directory / variant.file

    @property
    def bytes(self) -> int:
        """Bytes of the values that this rank writes in all steps."""
        return self._values.bytes * self._steps

    def write(self, *, sync: bool, stacks: bool = False) -> Found:
        """Write the series; an existing one is removed first.

        :param sync: each step waits until its data are on the disk.
        :param stacks: also return the seconds of the folded stacks of all ranks.
        :raises InputError: this build has no such engine or parameter.
        :raises IoError: it cannot be written.
        """
        self.remove()
        parameters: dict[str, Any] = {**dict(self._variant.parameters), **({"sync": True} if sync else {})}
        folded = self._directory / "folded.txt"
        if stacks:
            parameters["folded"] = str(folded)
        clock = Together(self._comm)
        clock.start()
        series = arrays.open(self.path, "w", comm=self._comm, engine=self._variant.engine, parameters=parameters)
        clock.marks.end("open")
        with series:
            for step in range(self._steps):
                series.begin_step(step, float(step))
                self._values.write(series)
                series.end_step()
            clock.marks.end("write")
            for part in ("sync", "metadata"):  # metadata are synced too: their sync counts as such
                clock.marks.move(series.counters[f"{part}_seconds"], "write", part)
        clock.marks.end("close")
        return Found(clock.stop(), stacks=self._stacks(folded) if stacks else {})

    def _stacks(self, folded: Path) -> dict[str, float]:
        def look() -> dict[str, float]:
            if not folded.is_file():
                return {}
            lines = [line.rpartition(" ") for line in folded.read_text(encoding="utf-8").splitlines()]
            folded.unlink()
            return {stack: int(micros) * 1e-6 for stack, _, micros in lines if stack}

        return on_root(self._comm, look)  # if rank 0 fails, all fail; otherwise they would wait for it

    def read(self, *, stacks: bool = False) -> Found:
        """Read every rank's part of all steps, and check all values on all ranks; `stacks` as in `write`.

        :raises IoError: it cannot be read.
        """
        folded = self._directory / "folded.txt"
        clock = Together(self._comm)
        clock.start()
        series = arrays.open(self.path, "r", comm=self._comm, parameters={"folded": str(folded)} if stacks else {})
        clock.marks.end("open")
        with series:
            timings = [clock.stop()]
            right = len(series) == self._steps
            for step in series:
                timing, found = self._read_step(step)
                timings.append(timing)
                right = self._values.equal(found) and right  # not timed
            clock = Together(self._comm)
            clock.start()
        clock.marks.end("close")
        timings.append(clock.stop())
        return Found(total(timings), all_ranks(self._comm, right), stacks=self._stacks(folded) if stacks else {})

    def _read_step(self, step: arrays.ArrayStep) -> tuple[Timing, list[NDArray[Any]]]:
        clock = Together(self._comm)
        clock.start()
        found = self._values.read(step)
        clock.marks.end("read")
        return clock.stop(), found

    def counts(self) -> dict[str, float]:
        """The number of its files, and their bytes."""

        def look() -> dict[str, float]:
            sizes = [path.stat().st_size for path in files_below(self._paths())]
            return {"files": len(sizes), "stored": sum(sizes)}

        return on_root(self._comm, look)

    def _paths(self) -> list[Path]:
        return sorted(self._directory.glob(f"{self._variant.file}*"))  # a journal or a lock may be beside it

    def remove(self) -> None:
        """Remove the series and the files beside it."""

        def work() -> None:
            if self._comm.rank == 0:
                for path in self._paths():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

        self._comm.barrier()
        agree(self._comm, work)
