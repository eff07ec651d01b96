"""The bench of coupling: its options and its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..bench import Bench
from ..options import (
    Against,
    Directories,
    Precision,
    ResultOptions,
    RoundOptions,
    Whole,
    check_precision,
    numbers,
    size_of,
)

if TYPE_CHECKING:
    from tailrace.grids import Triple

    from ..ranks.job import Job
    from ..records.records import Measurement
    from .setting import CoupleSetting, StreamVariant

POLICIES = ("block", "drop_newest", "drop_oldest", "adapt")


@dataclass(frozen=True)
class CoupleBench(Bench):
    """Measure the coupling of a simulation with an analysis by a stream (SST): two programs at the same time.

    Each figure has two sides: how long the producer took for its steps, how long the consumer, and what each of them
    waited for. The work of a step (--cost, --producer-cost) is shared by the ranks of a side. Values are compared.
    """

    name = "couple"
    paired = True
    quick: Annotated[bool, typer.Option("--quick", help="A small grid and few steps: about a minute.")] = False
    splits: Annotated[
        str,
        typer.Option(
            "--splits", metavar="P:C,P:C...", help="Ranks of the producer and the consumer; by default of all cores."
        ),
    ] = ""
    whole: Whole = field(default_factory=list)
    queues: Annotated[str, typer.Option("--queues", metavar="Q,Q...", help="Steps that may wait for the consumer.")] = (
        "1,2"
    )
    policies: Annotated[
        str, typer.Option("--policies", help="If the queue is full: block, drop_newest, drop_oldest, adapt; a list.")
    ] = "block"
    cost: Annotated[
        str, typer.Option("--cost", metavar="S,S...", help="Seconds of one core that the consumer computes for a step.")
    ] = "0,0.05"
    producer_cost: Annotated[
        str, typer.Option("--producer-cost", metavar="S,S...", help="The same of the producer.")
    ] = "0.05"
    variables: Annotated[int, typer.Option("--variables", min=1, help="Arrays in each step.")] = 1
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps that count in each stream; by default 20, quick 5.")
    ] = None
    precision: Precision = "float64"
    directories: Directories = field(default_factory=list)
    rhythm: RoundOptions = field(default_factory=RoundOptions)
    results: ResultOptions = field(default_factory=ResultOptions)
    against: Against = None

    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """The job of the producer of each split, which knows that of its consumer; see `Bench.jobs`."""
        from tailrace.core import build_info

        from ..ranks.job import Job
        from ..ranks.partition import check_fit, partition_of
        from .plan import CouplePlan
        from .producer import ProducerProgram

        if not build_info()["adios2"]:
            raise ValueError("this build has no streams (engine sst); build Tailrace with ADIOS2")
        if started is not None:
            raise ValueError("bench couple starts two jobs of its own; start it without mpiexec")
        check_precision(self.precision)
        shapes = [size_of(text) for text in self.whole] or [(64, 64, 64) if self.quick else (128, 128, 128)]
        variants = self._variants()
        jobs = []
        for producers, consumers in _splits(self.splits):
            settings = self._settings(list(directories), producers, consumers, shapes)
            for shape in shapes:
                for ranks in (producers, consumers):
                    check_fit(shape, partition_of("pencils", ranks))
            program = ProducerProgram(CouplePlan(settings, variants, self.rhythm), consumers)
            jobs.append(Job(producers, program, directories))
        return jobs

    def conclusions(self, measured: Iterable[Measurement]) -> list[str]:
        """Which side waited, and which one to give more ranks."""
        from .words import advice

        return advice(measured)

    def _variants(self) -> tuple[StreamVariant, ...]:
        """:raises ValueError: a queue is no number, or a policy is not known."""
        from .setting import StreamVariant

        queues = numbers("--queues", self.queues)
        policies = dict.fromkeys(word.strip() for word in self.policies.split(","))
        for word in policies:
            if word not in POLICIES:
                known = ", ".join(POLICIES)
                raise ValueError(f"--policies {self.policies}: {word!r} is not known; expected some of {known}")
        return tuple(StreamVariant(queue, policy) for policy in policies for queue in queues)

    def _settings(
        self, directories: list[str], producers: int, consumers: int, shapes: list[Triple]
    ) -> tuple[CoupleSetting, ...]:
        from .setting import CoupleSetting

        steps = self.steps or (5 if self.quick else 20)
        return tuple(
            CoupleSetting(name, producers, consumers, shape, self.variables, steps, self.precision, produce, consume)
            for name in directories
            for shape in shapes
            for produce in _seconds("--producer-cost", self.producer_cost)
            for consume in _seconds("--cost", self.cost)
        )


def _splits(text: str) -> tuple[tuple[int, int], ...]:
    """:raises ValueError: the text is no list of splits."""
    if not text:
        from tailrace.machine import physical_cores

        cores = max(2, physical_cores())
        return tuple(dict.fromkeys([(1, 1), (cores // 2, cores - cores // 2), (cores - 1, 1)]))
    pairs = [word.strip().split(":") for word in text.split(",")]
    if not all(len(pair) == 2 and all(side.isdigit() and int(side) > 0 for side in pair) for pair in pairs):
        raise ValueError(f"--splits {text}: expected ranks of the producer and the consumer as 1:1,3:1")
    return tuple(dict.fromkeys((int(first), int(second)) for first, second in pairs))


def _seconds(option: str, text: str) -> tuple[float, ...]:
    """:raises ValueError: the text of the option is no list of seconds from 0."""
    try:
        found = tuple(dict.fromkeys(float(word) for word in text.split(",")))
    except ValueError:
        found = ()
    if not found or not all(0 <= seconds < 3600 for seconds in found):
        raise ValueError(f"{option} {text}: expected seconds from 0 to an hour, as 0,0.05")
    return found
