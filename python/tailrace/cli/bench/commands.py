"""The commands `tailrace bench`: measure this machine, and show what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .checkpoint import checkpoint
from .couple import couple
from .imported import import_results
from .measure import measure, told
from .options import Against, Append, Directories, DropCaches, Limit, Out, Ranks, Rounds, Seed, named, ranks_of, size_of
from .report import report

app = typer.Typer(
    no_args_is_help=True,
    help="Measure this machine: input and output, streams, computation; and compare.",
    epilog="To begin: tailrace bench io --quick. It writes results.jsonl and results.html.",
)


@app.command()
def io(
    quick: Annotated[bool, typer.Option("--quick", help="A small matrix: some minutes on two cores.")] = False,
    engines: Annotated[
        list[str],
        typer.Option("--engine", metavar="NAME[,KEY=VALUE...]", help="An engine and its parameters; repeatable."),
    ] = [],  # noqa: B006
    ranks: Ranks = "",
    whole: Annotated[
        list[str], typer.Option("--global", metavar="NX,NY,NZ", help="Points that all ranks share; repeatable.")
    ] = [],  # noqa: B006
    each: Annotated[
        list[str], typer.Option("--local", metavar="NX,NY,NZ", help="Points of each rank; repeatable.")
    ] = [],  # noqa: B006
    decomposition: Annotated[
        str, typer.Option("--decomposition", help="slabs, pencils, blocks, or parts in x, y, z as 1,2,4.")
    ] = "pencils",
    halo: Annotated[int, typer.Option("--halo", min=0, help="Layers of ghost points around each part.")] = 0,
    variables: Annotated[
        int | None, typer.Option("--variables", min=1, help="Arrays in each step; by default 1, or all of --from.")
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps in each series.")] = 1,
    precision: Annotated[str, typer.Option("--precision", help="float64 or float32.")] = "float64",
    operations: Annotated[str, typer.Option("--operations", help="write,read, or one of them.")] = "write,read",
    caches: Annotated[
        str,
        typer.Option("--caches", help="Of writes: page cache, synced; of reads: cold, warm. A comma-separated list."),
    ] = "page cache,synced,cold,warm",
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Write the values of the last step of this file.")
    ] = None,
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 5,
    seed: Seed = 0,
    drop_caches: DropCaches = False,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
    against: Against = None,
    darshan: Annotated[
        bool, typer.Option("--darshan", help="Darshan's library watches the ranks; its figures join the results.")
    ] = False,
) -> None:
    """Measure every way of writing and reading a grid, against plain copies of the same bytes.

    Each value is read again and compared. Started under mpiexec, it measures inside that job.
    """
    from tailrace.bench.io.matrix import QUICK_SIZES, Matrix, of_file
    from tailrace.bench.records.variants import QUICK, USUAL

    with told():
        counts = ranks_of(ranks)
        chosen = _caches(operations, caches)
        if precision not in ("float64", "float32"):
            raise ValueError(f"--precision {precision}: expected float64 or float32")
        wholes, eaches = (tuple(size_of(text) for text in texts) for texts in (whole, each))
        if not (wholes or eaches):
            wholes, eaches = QUICK_SIZES if quick else (((256, 256, 256),), ())
        variants = tuple(engines) or (QUICK if quick else USUAL)
        matrix = Matrix(
            counts, wholes, eaches, variants, decomposition, halo, variables or 1, steps, precision, *chosen, rounds,
            seed, drop_caches,
        )  # fmt: skip
        if source is not None:
            for option, given in (("--global", whole), ("--local", each), ("--precision", precision != "float64")):
                if given:
                    raise ValueError(f"{option}: the file of --from has its own; leave one of them out")
            matrix = of_file(matrix, str(source.absolute()), variables)
        measure(matrix, named(directories), limit, out, append, against, darshan=darshan)


def _caches(operations: str, caches: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What writes and reads are measured."""
    from tailrace.bench.io.rounds import READS, WRITES

    wanted, chosen = ({word.strip() for word in text.split(",")} for text in (operations, caches))
    for option, words, known in (("--operations", wanted, {"write", "read"}), ("--caches", chosen, {*WRITES, *READS})):
        if words - known:
            strange = ", ".join(sorted(words - known))
            raise ValueError(f"{option}: {strange!r} is not known; expected some of {', '.join(sorted(known))}")
    writes = tuple(name for name in WRITES if name in chosen and "write" in wanted)
    reads = tuple(name for name in READS if name in chosen and "read" in wanted)
    if not writes and not reads:
        raise ValueError("--operations and --caches leave nothing to measure")
    return writes, reads


@app.command(hidden=True)
def ranks(word: str) -> None:
    """What a job of the benchmark runs on its ranks."""
    from tailrace.bench.ranks.job import run_on_ranks

    run_on_ranks(word)


@app.command(hidden=True)
def pair(word: str) -> None:
    """What `couple` starts: a producer and its consumer."""
    from .pair import run

    raise typer.Exit(run(word))


app.command()(checkpoint)
app.command()(couple)
app.command()(report)
app.command("import")(import_results)
