"""The command `tailrace bench couple`: a producer and a consumer that a stream connects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common import say
from ..ranks import launch
from .measure import told
from .options import Against, Append, Directories, Limit, Out, Rounds, Seed, named, numbers, size_of
from .show import check_files, show

if TYPE_CHECKING:
    from tailrace.bench.couple.matrix import CoupleMatrix


def couple(
    quick: Annotated[bool, typer.Option("--quick", help="A small grid and few steps: about a minute.")] = False,
    splits: Annotated[
        str,
        typer.Option(
            "--splits", metavar="P:C,P:C...", help="Ranks of the producer and the consumer; by default of all cores."
        ),
    ] = "",
    sizes: Annotated[
        list[str], typer.Option("--global", metavar="NX,NY,NZ", help="Points that all ranks share; repeatable.")
    ] = [],  # noqa: B006
    queues: Annotated[
        str, typer.Option("--queues", metavar="Q,Q...", help="Steps that may wait for the consumer.")
    ] = "1,2",
    policies: Annotated[
        str, typer.Option("--policies", help="If the queue is full: block, drop_newest, drop_oldest, adapt; a list.")
    ] = "block",
    cost: Annotated[
        str, typer.Option("--cost", metavar="S,S...", help="Seconds of one core that the consumer computes for a step.")
    ] = "0,0.05",
    producer_cost: Annotated[
        str, typer.Option("--producer-cost", metavar="S,S...", help="The same of the producer.")
    ] = "0.05",
    variables: Annotated[int, typer.Option("--variables", min=1, help="Arrays in each step.")] = 1,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Steps that count in each stream; by default 20, quick 5.")
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="float64 or float32.")] = "float64",
    directories: Directories = [],  # noqa: B006
    rounds: Rounds = 5,
    seed: Seed = 0,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Append = False,
    against: Against = None,
) -> None:
    """Measure the coupling of a simulation with an analysis by a stream (SST): two programs at the same time.

    Each figure has two sides: how long the producer took for its steps, how long the consumer, and what each of them
    waited for. The work of a step (--cost, --producer-cost) is shared by the ranks of a side. Values are compared.
    """
    from tailrace._core import engine_names
    from tailrace.bench.couple.matrix import CoupleMatrix
    from tailrace.bench.ranks.rounds import Rhythm

    with told():
        if "sst" not in engine_names():
            raise ValueError("this build has no streams (engine sst); build Tailrace with ADIOS2")
        if launch.size() is not None:
            raise ValueError("bench couple starts two jobs of its own; start it without mpiexec")
        if precision not in ("float64", "float32"):
            raise ValueError(f"--precision {precision}: expected float64 or float32")
        shapes = tuple(size_of(text) for text in sizes) or ((64, 64, 64) if quick else (128, 128, 128),)
        matrix = CoupleMatrix(
            _splits(splits), shapes, numbers("--queues", queues), _policies(policies),
            _seconds("--producer-cost", producer_cost), _seconds("--cost", cost), variables,
            steps or (5 if quick else 20), precision, Rhythm(rounds, seed),
        )  # fmt: skip
        _measure(matrix, named(directories), limit, out, append, against)


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


def _policies(text: str) -> tuple[str, ...]:
    """:raises ValueError: one is not known."""
    from tailrace.bench.couple.matrix import POLICIES

    words = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in words:
        if word not in POLICIES:
            raise ValueError(f"--policies {text}: {word!r} is not known; expected some of {', '.join(POLICIES)}")
    return words


def _seconds(option: str, text: str) -> tuple[float, ...]:
    """:raises ValueError: the text of the option is no list of seconds from 0."""
    try:
        found = tuple(dict.fromkeys(float(word) for word in text.split(",")))
    except ValueError:
        found = ()
    if not found or not all(0 <= seconds < 3600 for seconds in found):
        raise ValueError(f"{option} {text}: expected seconds from 0 to an hour, as 0,0.05")
    return found


def _measure(
    matrix: CoupleMatrix, directories: dict[str, Path], limit: float, out: Path, append: bool, against: Path | None
) -> None:
    """Measure all jobs of the matrix, each with its consumer; say what the user can do, and end the command."""
    from tailrace.bench.couple.words import advice
    from tailrace.bench.ranks.session import Session
    from tailrace.bench.records.results import read_results

    from .pair import start

    matrix.jobs(directories)  # what is wrong is said before anything is made
    check_files(out, append, against)
    with Session(directories, out, limit=limit, append=append) as session:
        for job in matrix.jobs(session.directories):
            session.run(job, start)
    mine = [one for one in read_results(out).measurements if one.run == session.record.run]
    for line in advice(mine):
        say(line)
    raise typer.Exit(show(out, against, session.failures, session.notes))
