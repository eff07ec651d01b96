"""The commands `tailrace bench`: measure this machine, and show what was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.text import counted

from . import launch
from .common import fail, say

if TYPE_CHECKING:
    from tailrace.bench.job import Plan
    from tailrace.bench.matrix import Size
    from tailrace.bench.session import Session

app = typer.Typer(
    no_args_is_help=True,
    help="Measure this machine: input and output, streams, computation; and compare.",
    epilog="To begin: tailrace bench io --quick. It writes results.jsonl and results.html.",
)

Out = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="Where the records go; the report gets the ending .html.")
]
Directories = Annotated[
    list[str],
    typer.Option("--directory", metavar="[NAME=]DIR", help="Where to write, by default here; repeatable."),
]
Ranks = Annotated[
    str, typer.Option("--ranks", metavar="N,N...", help="Numbers of ranks; by default 1,2 up to the cores.")
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Repetitions that count, after one that does not.")]
Limit = Annotated[float, typer.Option("--limit", min=1.0, help="Seconds without progress after which ranks are ended.")]


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
    seed: Annotated[int, typer.Option("--seed", help="Of the order in which ways take turns.")] = 0,
    drop_caches: Annotated[
        bool, typer.Option("--drop-caches", help="Before cold reads, drop all caches of the machine; needs root.")
    ] = False,
    limit: Limit = 300.0,
    out: Out = Path("results.jsonl"),
    append: Annotated[bool, typer.Option("--append", help="Add to a file of results.")] = False,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="FILE", help="Compare with earlier results.")
    ] = None,
) -> None:
    """Measure every way of writing and reading a grid, against plain copies of the same bytes.

    Each value is read again and compared. Started under mpiexec, it measures inside that job.
    """
    from tailrace._core import InputError
    from tailrace.bench.matrix import QUICK_SIZES, Matrix, of_file
    from tailrace.bench.ways import QUICK, USUAL

    try:
        counts = ranks_of(ranks)
        chosen = _caches(operations, caches)
        if precision not in ("float64", "float32"):
            raise ValueError(f"--precision {precision}: expected float64 or float32")
        wholes, eaches = (tuple(size_of(text) for text in texts) for texts in (whole, each))
        if not (wholes or eaches):
            wholes, eaches = QUICK_SIZES if quick else (((256, 256, 256),), ())
        ways = tuple(engines) or (QUICK if quick else USUAL)
        matrix = Matrix(
            counts, wholes, eaches, ways, decomposition, halo, variables or 1, steps, precision, *chosen, rounds, seed,
            drop_caches,
        )  # fmt: skip
        if source is not None:
            matrix = of_file(matrix, str(source.absolute()), variables)
        measure(matrix, named(directories), limit, out, append, against)
    except (ValueError, InputError) as error:
        fail(error)


def ranks_of(text: str) -> tuple[int, ...]:
    """The numbers of ranks of --ranks.

    :raises ValueError: the text is no list of numbers.
    """
    from tailrace.machine import physical_cores

    world = launch.size()
    if not text:
        cores = world or physical_cores()
        return tuple(sorted({1, *(2**k for k in range(1, cores.bit_length()) if 2**k <= cores), cores}))
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"--ranks {text}: expected numbers as 1,2,4")
    counts = tuple(dict.fromkeys(int(word) for word in words))
    if world is not None and max(counts) > world:
        raise ValueError(f"--ranks {text}: mpiexec started {world} ranks only")
    return counts


def size_of(text: str) -> Size:
    """:raises ValueError: the text is not three numbers."""
    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"{text}: expected three numbers of points as 128,128,128")
    return int(words[0]), int(words[1]), int(words[2])


def _caches(operations: str, caches: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What writes and reads are measured."""
    from tailrace.bench.io_rounds import READS, WRITES

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


def named(directories: list[str]) -> dict[str, Path]:
    """Directories by name: NAME=DIR, or the last part of DIR."""
    found: dict[str, Path] = {}
    for text in directories or ["."]:
        name, sign, rest = text.partition("=")
        path = Path(rest if sign else text)
        name = name if sign else path.resolve().name or "root"
        if name in found:
            raise ValueError(f"--directory {text}: there is another one called {name!r}; give names as NAME=DIR")
        if not path.is_dir():
            raise ValueError(f"--directory {text}: is no directory")
        found[name] = path
    return found


def measure(
    plan: Plan, directories: dict[str, Path], limit: float, out: Path, append: bool, against: Path | None = None
) -> None:
    """Run the jobs of a plan and end with the exit code. A ValueError or InputError: the plan is wrong."""
    from tailrace.bench.session import Session

    plan.jobs(directories)  # what is wrong is said before anything is made
    if launch.size() is not None:
        from .bench_inside import measure as measure_inside

        raise typer.Exit(measure_inside(plan, directories, out, append))
    with Session(directories, out, limit=limit, append=append) as session:
        for job in plan.jobs(session.places):
            session.run(job, _start)
    raise typer.Exit(_show(session, out, against))


def _start(ranks: int, words: list[str]) -> subprocess.Popen[str]:
    """Ranks of their own, which end with this program."""
    command, environment, _ = launch.job(ranks, words, alone=False)
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        process_group=0, preexec_fn=launch.die_with_parent,
    )  # fmt: skip


def _show(session: Session, out: Path, against: Path | None) -> int:
    """Say what was found; 1 where something failed."""
    for note in session.notes:
        say(f"tailrace: {note}")
    say(f"{out}: {counted(session.failures, 'failure')}")
    return 1 if session.failures else 0


@app.command(hidden=True)
def ranks(word: str) -> None:
    """What a job of the benchmark runs on its ranks."""
    from tailrace.bench.job import run_on_ranks

    run_on_ranks(word)
