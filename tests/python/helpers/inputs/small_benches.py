"""Benches on one rank that end in a second, with the options of their commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailrace.bench.checkpoint.bench import CheckpointBench, CheckpointRhythm
from tailrace.bench.io.bench import IoBench
from tailrace.bench.io.grid_options import GridOptions
from tailrace.bench.options import ColdRhythm, SizeOptions

Shape = tuple[int, int, int]


def sizes(*shapes: Shape) -> SizeOptions:
    return SizeOptions("1", [",".join(map(str, shape)) for shape in shapes])


def grid(*shapes: Shape, engines: Sequence[str] = ("raw",)) -> GridOptions:
    return GridOptions(list(engines), sizes(*shapes))


def fields(
    *shapes: Shape, engines: Sequence[str] = ("raw",), rounds: int = 1, drop_caches: bool = False, **more: Any
) -> IoBench:
    """Of fields that are written and read."""
    rhythm = ColdRhythm(rounds, drop_caches=drop_caches)
    return IoBench(grid=grid(*(shapes or [(6, 5, 4)]), engines=engines), rhythm=rhythm, **more)


def lists(
    *rows: int, engines: Sequence[str] = ("raw",), small_steps: int = 0, drop_caches: bool = False
) -> CheckpointBench:
    """Of lists that are written and read again on the same rank and on another one."""
    return CheckpointBench(
        engines=list(engines), ranks="1", restart_ranks="1", whole=list(rows or [10]), columns=[2], uneven=0.0,
        small_steps=small_steps, rhythm=CheckpointRhythm(1, drop_caches=drop_caches),
    )  # fmt: skip
