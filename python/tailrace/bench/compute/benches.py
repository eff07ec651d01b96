"""The benches of computation: their options and their jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..bench import Bench
from ..options import Precision, ResultOptions, RoundOptions, SizeOptions, check_precision

if TYPE_CHECKING:
    from tailrace.grids import Triple

    from ..ranks.job import Job

Transposes = Annotated[
    list[str],
    typer.Option(
        "--transpose",
        metavar="METHOD",
        help="How data move between ranks: auto, shared, alltoall, subarray; repeatable.",
    ),
]
_USUAL = [(128, 128, 128)]  # points of a whole


def shapes_on(sizes: SizeOptions, ranks: int) -> list[Triple]:
    """The points in x, y and z of the grids that `ranks` ranks share as pencils.

    :raises ValueError: see `SizeOptions.shapes`.
    """
    from ..ranks.partition import partition_of

    return sizes.shapes(partition_of("pencils", ranks), _USUAL)


@dataclass(frozen=True)
class TransposeSizes(SizeOptions):
    """SizeOptions for at least two ranks: on one rank nothing moves."""

    ranks: Annotated[
        str, typer.Option("--ranks", metavar="N,N...", help="Numbers of ranks; by default 2,4 up to the cores.")
    ] = ""

    def counts(self, started: int | None) -> tuple[int, ...]:
        """:raises ValueError: a number is 1, or see `ranks_of`."""
        found = super().counts(started)
        if not self.ranks:
            return tuple(count for count in found if count > 1) or (2,)
        if 1 in found:
            raise ValueError("--ranks 1: nothing moves on one rank; expected two ranks at least")
        return found


@dataclass(frozen=True)
class TransposeBench(Bench):
    """Measure how fast data move from x to y to z pencils and back, by every method on every process grid.

    The solver chooses the fastest of them when a run begins. The limit is a copy in memory.
    """

    name = "transpose"
    methods: Annotated[
        list[str],
        typer.Option("--transpose", metavar="METHOD", help="shared, alltoall, subarray; by default all; repeatable."),
    ] = field(default_factory=list)
    sizes: TransposeSizes = field(default_factory=TransposeSizes)
    rhythm: RoundOptions = field(default_factory=RoundOptions)
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.job import Job
        from .rounds import ComputeSetting, checked_transposes
        from .transposes import METHODS, TransposeProgram

        methods = checked_transposes(self.methods, METHODS)
        if "auto" in methods:
            raise ValueError(f"--transpose auto: is what is found out here; expected some of {', '.join(METHODS)}")
        jobs = []
        for ranks in self.sizes.counts(started):
            settings = [ComputeSetting(self.name, ranks, shape) for shape in shapes_on(self.sizes, ranks)]
            jobs.append(Job(ranks, TransposeProgram(tuple(settings), methods, self.rhythm), directories))
        return jobs


@dataclass(frozen=True)
class SolverBench(Bench):
    """Measure steps of the solver: seconds, by phase, and memory. A round is one step.

    A direction with ends has one node more than the points that are given. The limits are additions of arrays in
    memory, and runs on one rank each that are started together.
    """

    name = "solver"
    devices: Annotated[
        list[str],
        typer.Option(
            "--device",
            metavar="NAME",
            help="cpu, or gpu: a device for each rank; repeatable, then they take turns. By default cpu.",
        ),
    ] = field(default_factory=list)
    flows: Annotated[
        list[str],
        typer.Option(
            "--flow",
            metavar="NAME",
            help="periodic, free-slip, channel, stretched; with scalars as stretched,scalars=2; repeatable.",
        ),
    ] = field(default_factory=list)
    transposes: Transposes = field(default_factory=list)
    sizes: SizeOptions = field(default_factory=SizeOptions)
    precision: Precision = "float64"
    rhythm: RoundOptions = field(default_factory=lambda: RoundOptions(rounds=8))
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.job import Job
        from .flow import flow_of
        from .rounds import ComputeSetting, checked_transposes
        from .steps import SolverProgram, ways_of

        check_precision(self.precision)
        ways = ways_of(self.devices, checked_transposes(self.transposes))
        kinds = [flow_of(text) for text in self.flows or ("periodic", "free-slip")]
        jobs = []
        for ranks in self.sizes.counts(started):
            pairs = [
                (kind, ComputeSetting(self.name, ranks, kind.nodes(shape), self.precision, kind.word))
                for kind in kinds
                for shape in shapes_on(self.sizes, ranks)
            ]
            jobs.append(Job(ranks, SolverProgram(tuple(pairs), ways, self.rhythm), directories))
        return jobs


@dataclass(frozen=True)
class AnalysisBench(Bench):
    """Measure operators on fields of a periodic box, called from Python as analyses call them.

    The limits are copies and additions of arrays in memory, and ranks that each compute alone.
    """

    name = "analysis"
    operations: Annotated[
        str, typer.Option("--operations", help="Some of gradients,curl,enstrophy,spectrum; by default all.")
    ] = ""
    transposes: Transposes = field(default_factory=list)
    sizes: SizeOptions = field(default_factory=SizeOptions)
    precision: Precision = "float64"
    rhythm: RoundOptions = field(default_factory=lambda: RoundOptions(rounds=8))
    results: ResultOptions = field(default_factory=ResultOptions)

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """One job for each number of ranks; see `Bench.jobs`."""
        from ..ranks.job import Job
        from .operators import OPERATIONS, AnalysisProgram
        from .rounds import ComputeSetting, checked_transposes

        check_precision(self.precision)
        transposes = checked_transposes(self.transposes)
        operations = tuple(word.strip() for word in self.operations.split(",")) if self.operations else (*OPERATIONS,)
        for name in operations:
            if name not in OPERATIONS:
                raise ValueError(f"--operations: {name!r} is not known; expected some of {', '.join(OPERATIONS)}")
        jobs = []
        for ranks in self.sizes.counts(started):
            settings = [
                ComputeSetting(self.name, ranks, shape, self.precision) for shape in shapes_on(self.sizes, ranks)
            ]
            jobs.append(Job(ranks, AnalysisProgram(tuple(settings), operations, transposes, self.rhythm), directories))
        return jobs
