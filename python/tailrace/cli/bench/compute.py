"""The commands `tailrace bench transpose`, `solver` and `analysis`: how fast this machine computes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Append, Limit, Out, Ranks, Rounds, Seed, ranks_of
from .sizes import Each, Whole, run, sizes_of

if TYPE_CHECKING:
    from tailrace.bench.ranks.job import Matrix

Transposes = Annotated[
    list[str],
    typer.Option(
        "--transpose",
        metavar="METHOD",
        help="How data move between ranks: auto, shared, alltoall, subarray; repeatable.",
    ),
]
Precision = Annotated[str, typer.Option("--precision", help="float64 or float32.")]


def transpose(
    methods: Annotated[
        list[str],
        typer.Option("--transpose", metavar="METHOD", help="shared, alltoall, subarray; by default all; repeatable."),
    ] = [],  # noqa: B006
    ranks: Annotated[
        str, typer.Option("--ranks", metavar="N,N...", help="Numbers of ranks; by default 2,4 up to the cores.")
    ] = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    rounds: Rounds = 5,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure how fast data move from x to y to z pencils and back, by every method on every process grid.

    The solver chooses the fastest of them when a run begins. The limit is a copy in memory.
    """
    from tailrace.bench.compute.transposes import METHODS, TransposePlan

    def plan() -> Matrix:
        counts = ranks_of(ranks) if ranks else tuple(n for n in ranks_of("") if n > 1) or (2,)
        return TransposePlan(counts, *sizes_of(whole, each, 128, 128, 128), rounds, seed, tuple(methods) or METHODS)

    run(plan, dict, limit, out, append)


def solver(
    flows: Annotated[
        list[str],
        typer.Option(
            "--flow",
            metavar="NAME",
            help="periodic, free-slip, channel, stretched; with scalars as stretched,scalars=2; repeatable.",
        ),
    ] = [],  # noqa: B006
    transposes: Transposes = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    precision: Precision = "float64",
    rounds: Rounds = 8,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure steps of the solver: seconds, by phase, and memory. A round is one step.

    A direction with ends has one node more than the points that are given. The limits are additions of arrays in
    memory, and runs on one rank each that are started together.
    """
    from tailrace.bench.compute.steps import SolverPlan

    def plan() -> Matrix:
        sizes = sizes_of(whole, each, 128, 128, 128)
        more: dict[str, Any] = {"flows": tuple(flows)} if flows else {}
        how = tuple(transposes) or ("auto",)
        return SolverPlan(ranks_of(ranks), *sizes, rounds, seed, transposes=how, precision=_known(precision), **more)

    run(plan, dict, limit, out, append)


def analysis(
    operations: Annotated[
        str, typer.Option("--operations", help="Some of gradients,curl,enstrophy,spectrum; by default all.")
    ] = "",
    transposes: Transposes = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Whole = [],  # noqa: B006
    each: Each = [],  # noqa: B006
    precision: Precision = "float64",
    rounds: Rounds = 8,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
) -> None:
    """Measure operators on fields of a periodic box, called from Python as analyses call them.

    The limits are copies and additions of arrays in memory, and ranks that each compute alone.
    """
    from tailrace.bench.compute.operators import AnalysisPlan

    def plan() -> Matrix:
        sizes = sizes_of(whole, each, 128, 128, 128)
        more: dict[str, Any] = {"operations": tuple(w.strip() for w in operations.split(","))} if operations else {}
        how = tuple(transposes) or ("auto",)
        return AnalysisPlan(ranks_of(ranks), *sizes, rounds, seed, transposes=how, precision=_known(precision), **more)

    run(plan, dict, limit, out, append)


def _known(precision: str) -> str:
    if precision not in ("float64", "float32"):
        raise ValueError(f"--precision {precision}: expected float64 or float32")
    return precision


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (transpose, solver, analysis):
        app.command()(command)
