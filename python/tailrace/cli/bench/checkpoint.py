"""The command `tailrace bench checkpoint`: lists of elements, and restarts on the same and on other ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..ranks import launch
from .measure import measure, told
from .options import Against, Append, Directories, DropCaches, Limit, Out, Ranks, Rounds, named, numbers, ranks_of


def checkpoint(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer ways: about a minute on two cores.")] = False,
    engines: Annotated[
        list[str],
        typer.Option("--engine", metavar="NAME[,KEY=VALUE...]", help="An engine and its parameters; repeatable."),
    ] = [],  # noqa: B006
    ranks: Ranks = "",
    restart_ranks: Annotated[
        str,
        typer.Option(
            "--restart-ranks",
            metavar="M,M...",
            help="Ranks that restart from each of --ranks; by default half of them.",
        ),
    ] = "",
    whole: Annotated[
        list[int], typer.Option("--elements", min=1, help="Elements that all ranks share; repeatable.")
    ] = [],  # noqa: B006
    each: Annotated[
        list[int], typer.Option("--local", min=1, help="Mean number of elements of a rank; repeatable.")
    ] = [],  # noqa: B006
    columns: Annotated[
        list[int], typer.Option("--columns", min=1, help="Coefficients of each element; repeatable.")
    ] = [64],  # noqa: B006
    uneven: Annotated[
        float, typer.Option("--uneven", min=0.0, max=1.0, help="0: as many on each rank; 1: up to twice the mean.")
    ] = 0.5,
    small_steps: Annotated[
        int, typer.Option("--small-steps", min=0, help="Steps with a row of each rank, nearly all metadata; 0: none.")
    ] = 20,
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 5,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of the ways and of the rows of the ranks.")] = 0,
    drop_caches: DropCaches = False,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
    against: Against = None,
) -> None:
    """Measure checkpoints of an unstructured code: lists of elements, uneven on the ranks, and restarts from them.

    Each way writes the lists to the disk. The same ranks read their rows again, and then other ranks read other rows,
    with empty caches. Each value is compared. Started under mpiexec, it measures inside that job.
    """
    from tailrace.bench.checkpoint.matrix import ENGINES, QUICK_ENGINES, CheckpointMatrix
    from tailrace.bench.ranks.rounds import Rhythm

    with told():
        if not (whole or each):
            whole = [20_000]
        variants = tuple(engines) or (QUICK_ENGINES if quick else ENGINES)
        matrix = CheckpointMatrix(
            _pairs(ranks_of(ranks), restart_ranks), tuple(whole), tuple(each), tuple(columns), uneven, variants,
            Rhythm(rounds, seed, drop_caches), small_steps,
        )  # fmt: skip
        measure(matrix, named(directories), limit, out, append, against)


def _pairs(writers: tuple[int, ...], text: str) -> tuple[tuple[int, int], ...]:
    """Numbers of ranks that write, each with the number that restarts.

    :raises ValueError: the text is no list of as many numbers.
    """
    most = launch.size()
    if not text:
        return tuple((count, count // 2 if count > 1 else min(2, most or 2)) for count in writers)
    readers = numbers("--restart-ranks", text)
    if len(readers) != len(writers):
        raise ValueError(f"--restart-ranks {text}: expected a number for each of --ranks {','.join(map(str, writers))}")
    if most is not None and max(readers) > most:
        raise ValueError(f"--restart-ranks {text}: mpiexec started {most} ranks only")
    return tuple(zip(writers, readers, strict=True))
