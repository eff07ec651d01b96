"""The table of benches: one line for each, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from .bench import Bench

BENCHES = (  # module and class below this package
    "io.bench:IoBench",
    "checkpoint.bench:CheckpointBench",
    "couple.bench:CoupleBench",
    "output.benches:OverlapBench",
    "output.benches:StepsBench",
    "output.benches:MemoryBench",
    "compute.benches:TransposeBench",
    "compute.benches:SolverBench",
    "compute.benches:AnalysisBench",
)


def benches() -> Iterator[type[Bench]]:
    """The classes of the table."""
    for place in BENCHES:
        module, name = place.split(":")
        yield getattr(import_module(f"{__package__}.{module}"), name)
