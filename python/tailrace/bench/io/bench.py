"""The bench of input and output: its options and its jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailrace.text import counted

from ..bench import Bench
from ..options import Against, ColdRhythm, Directories, Precision, ResultOptions, check_precision, chosen
from .grid_options import GridOptions

if TYPE_CHECKING:
    from ..ranks.job import Job

_USUAL = {"whole": [(256, 256, 256)]}
_QUICK = {"whole": [(128, 128, 128)], "each": [(128, 128, 64)]}


@dataclass(frozen=True)
class IoBench(Bench):
    """Measure every way of writing and reading a grid, against plain copies of the same bytes.

    Each value is read again and compared. Started under mpiexec, it measures inside that job.
    """

    name = "io"
    quick: Annotated[bool, typer.Option("--quick", help="A small matrix: some minutes on two cores.")] = False
    grid: GridOptions = field(default_factory=GridOptions)
    halo: Annotated[int, typer.Option("--halo", min=0, help="Layers of ghost points around each part.")] = 0
    variables: Annotated[
        int | None, typer.Option("--variables", min=1, help="Arrays in each step; by default 1, or all of --from.")
    ] = None
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps in each series.")] = 1
    precision: Precision = "float64"
    operations: Annotated[str, typer.Option("--operations", help="write,read, or one of them.")] = "write,read"
    caches: Annotated[
        str,
        typer.Option("--caches", help="Of writes: page cache, synced; of reads: cold, warm. A comma-separated list."),
    ] = "page cache,synced,cold,warm"
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Write the values of the last step of this file.")
    ] = None
    directories: Directories = field(default_factory=list)
    rhythm: ColdRhythm = field(default_factory=ColdRhythm)
    results: ResultOptions = field(default_factory=ResultOptions)
    against: Against = None
    darshan: Annotated[
        bool, typer.Option("--darshan", help="Darshan's library watches the ranks; its figures join the results.")
    ] = False

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.eviction import check_drop
        from ..ranks.job import Job
        from ..records.variants import QUICK
        from .rounds import IoProgram

        counts = self.grid.sizes.counts(started)
        writes, reads = self._caches()
        check_precision(self.precision)
        values = self._values()
        if self.rhythm.drop_caches:
            check_drop()
        variants = self.grid.variants(QUICK if self.quick else ())
        jobs = []
        for ranks in counts:
            settings = self.grid.settings(ranks, directories, **values)
            program = IoProgram(tuple(settings), variants, writes, reads, self.rhythm)
            jobs.append(Job(ranks, program, directories))
        return jobs

    def _caches(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The caches of the writes and of the reads that are measured."""
        from .rounds import READS, WRITES

        operations = chosen("--operations", self.operations, ("write", "read"))
        caches = chosen("--caches", self.caches, (*WRITES, *READS))
        writes = tuple(name for name in WRITES if name in caches and "write" in operations)
        reads = tuple(name for name in READS if name in caches and "read" in operations)
        if not writes and not reads:
            raise ValueError("--operations and --caches leave nothing to measure")
        return writes, reads

    def _values(self) -> dict[str, Any]:
        """The default sizes, and further values of each setting."""
        found = {"halo": self.halo, "variables": self.variables or 1, "steps": self.steps, "precision": self.precision}
        if self.source is None:
            return {**found, **(_QUICK if self.quick else _USUAL)}
        from .stored_values import shape_of

        sizes = self.grid.sizes
        wrong_precision = self.precision != "float64"
        for option, given in (("--global", sizes.whole), ("--local", sizes.each), ("--precision", wrong_precision)):
            if given:
                raise ValueError(f"{option}: the file of --from has its own; leave one of them out")
        path = str(self.source.absolute())
        shape, names, dtype = shape_of(path)
        count = self.variables or len(names)
        if count > len(names):
            raise ValueError(f"--variables {count}: the file of --from has {counted(len(names), 'variable')}")
        return {**found, "whole": [shape], "variables": count, "precision": dtype, "source": path}
