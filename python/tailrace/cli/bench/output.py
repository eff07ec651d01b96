"""The commands `tailrace bench overlap`, `steps` and `memory`: what output costs besides its speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Append, Directories, Limit, Out, Ranks, Rounds, Seed, named, ranks_of
from .sizes import Each, Whole, run, sizes_of

if TYPE_CHECKING:
    from tailrace.bench.ranks.job import Matrix

    from .sizes import Sizes

Engines = Annotated[
    list[str],
    typer.Option("--engine", metavar="NAME[,KEY=VALUE...]", help="An engine and its parameters; repeatable."),
]
Decomposition = Annotated[
    str, typer.Option("--decomposition", help="slabs, pencils, blocks, or parts in x, y, z as 1,2,4.")
]


def overlap(
    engines: Engines = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    decomposition: Decomposition = "pencils",
    buffers: Annotated[int, typer.Option("--buffers", min=1, help="Copies of a step for the background.")] = 2,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps that count in each run.")] = 8,
    compute: Annotated[
        float,
        typer.Option(
            "--compute",
            min=0.0,
            metavar="SECONDS",
            help="Computing between two steps; by default a quarter longer than the slowest engine writes one.",
        ),
    ] = 0.0,
    caches: Annotated[str, typer.Option("--caches", help="page cache,synced, or one of them.")] = "page cache,synced",
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 3,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure how long output delays a program that computes and writes in turn, without and with buffers.

    The limit is the same computing without output.
    """
    from tailrace.bench.output.overlap import CACHES, OverlapPlan

    def plan() -> Matrix:
        chosen = {word.strip() for word in caches.split(",")}
        if strange := chosen - set(CACHES):
            raise ValueError(f"--caches: {', '.join(sorted(strange))!r} is not known; expected {' or '.join(CACHES)}")
        sizes = sizes_of(whole, each, 256, 256, 256)
        common = _common(ranks, sizes, engines, decomposition, rounds, seed)
        where = tuple(name for name in CACHES if name in chosen)
        return OverlapPlan(**common, caches=where, buffers=buffers, steps=steps, compute=compute)

    run(plan, lambda: named(directories), limit, out, append)


def steps(
    engines: Engines = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    decomposition: Decomposition = "pencils",
    count: Annotated[int, typer.Option("--count", min=2, help="Tiny steps in a series.")] = 1000,
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 5,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure steps with little data: a series of one small step, and one of many tiny ones.

    A tiny step has 2 x 2 x 2 points of each rank and a number. The limits are plain writes of the same bytes, and a
    series that goes nowhere.
    """
    from tailrace.bench.output.small_steps import StepsPlan

    def plan() -> Matrix:
        sizes = sizes_of(whole, each, 128, 128, 64)
        return StepsPlan(**_common(ranks, sizes, engines, decomposition, rounds, seed), count=count)

    run(plan, lambda: named(directories), limit, out, append)


def memory(
    engines: Engines = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    decomposition: Decomposition = "pencils",
    buffers: Annotated[
        int, typer.Option("--buffers", min=0, help="Copies of a step for the background; 0: do not measure it.")
    ] = 2,
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 1,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure the memory that a rank needs besides its own block while it writes, at most.

    Each engine has ranks of its own, except under mpiexec, where all have the same.
    """
    from tailrace.bench.output.peak_memory import MemoryPlan

    def plan() -> Matrix:
        sizes = sizes_of(whole, each, 256, 256, 256)
        return MemoryPlan(**_common(ranks, sizes, engines, decomposition, rounds), buffers=buffers)

    run(plan, lambda: named(directories), limit, out, append)


def _common(
    ranks: str, sizes: Sizes, engines: list[str], decomposition: str, rounds: int, seed: int = 0
) -> dict[str, Any]:
    """What all plans of output have."""
    from tailrace.bench.records.variants import USUAL

    whole, each = sizes
    return {
        "ranks": ranks_of(ranks), "whole": whole, "each": each, "engines": tuple(engines) or USUAL,
        "decomposition": decomposition, "rounds": rounds, "seed": seed,
    }  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (overlap, steps, memory):
        app.command()(command)
