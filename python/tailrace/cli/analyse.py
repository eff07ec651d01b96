"""The command `tailrace analyse`, and the options of `tailrace run --beside`."""

from __future__ import annotations

import difflib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from . import streams
from .common import checkpoints_of_others, fail, guarded, on_ranks, settle
from .ranks import started
from .ranks.launcher import LaunchError

if TYPE_CHECKING:
    from tailrace.case.case import Case

Beside = Annotated[
    list[str],
    typer.Option("--beside", metavar="SCRIPT", help="Analyse beside the run, on other ranks; repeatable."),
]
BesideRanks = Annotated[int, typer.Option("--beside-ranks", min=1, help="The number of ranks that analyse.")]
BesideEvery = Annotated[
    int | None, typer.Option("--beside-every", min=1, help="Every N steps; by default every row of the time series.")
]
BesidePolicy = Annotated[
    Literal["block", "drop_oldest", "drop_newest", "adapt"],
    typer.Option(
        "--beside-policy",
        help="When the analysis is slower: the run waits (block), or steps are left out (adapt: so that the run loses "
        "at most 2 % of its time).",
    ),
]
BesideFields = Annotated[
    str, typer.Option("--beside-fields", help="The fields that it gets; by default the velocity and the scalars.")
]
BesideOut = Annotated[Path, typer.Option("--beside-out", help="Directory of its results.")]
BesideSet = Annotated[
    list[str],
    typer.Option("--beside-set", metavar="[SCRIPT:]NAME=VALUE", help="A parameter of its scripts; repeatable."),
]
BesideInterface = Annotated[
    str | None,
    typer.Option(
        "--beside-interface", metavar="NAME", help="Network of the stream; by default that of the name of the host."
    ),
]
# The parent program passes this option to the simulation: the stream to which the simulation sends the fields.
BesideStream = Annotated[str | None, typer.Option("--beside-stream", hidden=True)]


class BesideOptions(NamedTuple):
    """The options of an analysis beside a run."""

    scripts: list[str]
    ranks: int
    every: int | None
    policy: str
    fields: list[str]
    out: Path
    values: list[str]
    interface: str | None
    resume: bool
    overwrite: bool


def absolute_script(word: str) -> str:
    """The word of a script with an absolute path, which stays valid in another working directory."""
    return str(Path(word).absolute()) if Path(word).is_file() else word


def fields_beside(text: str, case: Case) -> list[str]:
    """The fields of a comma-separated list, or the default ones. An unknown field ends the program with an error."""
    from tailrace.io.names import COMPONENTS, FIELDS

    scalars = [scalar.name for scalar in case.scalar]
    if not text:
        return [*COMPONENTS, *scalars]
    known = [*FIELDS, *scalars]
    found = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            fail(f"--beside-fields: there is no field '{name}'; {hint}")
    return found


def run_beside(case: Case, ranks: int, simulation: list[str], options: BesideOptions) -> int:
    """Start a simulation and its analysis. Returns the exit code."""
    from .check_scripts import problem
    from .ranks.beside import start

    if started.size() is not None:
        fail("--beside starts two programs by itself; leave out mpiexec, and give -n")
    said = problem(options.scripts, options.values, options.out, resume=options.resume, overwrite=options.overwrite)
    if said:
        fail(f"--beside: {said}")
    said = case.clash_beside(options.scripts, options.out)
    if said:
        fail(said)
    every = [] if options.every is None else [f"--beside-every={options.every}"]
    simulation = [
        *simulation,
        *every,
        f"--beside-policy={options.policy}",
        f"--beside-fields={','.join(options.fields)}",
        *([] if options.interface is None else [f"--beside-interface={options.interface}"]),
    ]
    analysis = [
        "analyse",
        *options.scripts,
        "--beside-run",
        f"--out={options.out}",
        *(f"--set={text}" for text in options.values),
    ]
    analysis += ["--resume"] if options.resume else ["--overwrite"] if options.overwrite else []
    others = checkpoints_of_others(case, resume=options.resume)
    try:
        code = start(simulation, ranks, analysis, options.ranks)
    except LaunchError as error:
        fail(error)
    if code:
        settle(case, code, others)
    return code


def analyse(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT... SOURCE",
            help="Python files, or ready-made analyses (budget, enstrophy, qcriterion, spectrum, statistics); last, a "
            "series on disk or a stream (sst:NAME).",
        ),
    ],
    ranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=1, help="Start MPI with this many ranks; by default one.")
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Directory of the results.")] = Path("analysis"),
    values: Annotated[
        list[str],
        typer.Option("--set", metavar="[SCRIPT:]NAME=VALUE", help="A parameter of the scripts; repeatable."),
    ] = [],  # noqa: B006
    every: Annotated[int, typer.Option("--every", min=1, help="Only every N-th step of the source.")] = 1,
    steps: Annotated[
        str, typer.Option("--steps", metavar="A:B", help="The stored steps A to B - 1, counted from 0; by default all.")
    ] = ":",
    at_once: Annotated[
        int, typer.Option("--steps-at-once", min=1, help="The number of groups of ranks, which take steps in turn.")
    ] = 1,
    grid: Annotated[
        Path | None, typer.Option("--grid", help="TOML file with the grid, where the source has none.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Engine of the results; by default that of the source, or hdf5.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue after the last results.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier results of `analyse`.")] = False,
    beside_run: Annotated[bool, typer.Option("--beside-run", hidden=True)] = False,  # set by `run --beside`
    precision: Annotated[
        str | None, typer.Option("--precision", help="float64 or float32 for the fields; by default as stored.")
    ] = None,
    on_error: Annotated[
        str,
        typer.Option(
            "--on-error", help="An error in a script ends the command (stop), or switches off that script (off)."
        ),
    ] = "stop",
) -> None:
    """Run analyses on the steps of a series or of a stream.

    For example: tailrace analyse enstrophy snapshots.h5 -n 2
    """
    if resume and overwrite:
        fail("--resume goes on with the results that are there, and --overwrite replaces them; leave one out")
    if len(words) < 2:
        fail(f"analyse needs a script and a source, the source last: tailrace analyse enstrophy {words[0]}")
    _check(engine, precision, on_error)
    chosen = _steps(steps, every)
    on_ranks(ranks, _arguments(locals()), stops_itself=False)
    if beside_run:
        streams.go_on_unread()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python cannot interrupt the wait for a stream
    try:
        from tailrace.replay.analyse import AnalysisRequest, analyse
    except ImportError as error:
        fail(f"the library does not load: {error}\n  tailrace doctor says what is missing", 1)
    stop_or_off: Literal["stop", "off"] = "stop" if on_error == "stop" else "off"
    request = AnalysisRequest(
        words[:-1], words[-1], out, values, chosen, at_once, grid, engine, resume, precision, stop_or_off, overwrite,
        beside_run,
    )  # fmt: skip
    raise typer.Exit(guarded(lambda: analyse(request)))


def _arguments(options: dict[str, object]) -> list[str]:
    found = ["analyse", *options["words"], f"--out={options['out']}", f"--every={options['every']}"]  # type: ignore[misc]
    found += [f"--set={text}" for text in options["values"]]  # type: ignore[attr-defined]
    found += [f"--steps={options['steps']}", f"--steps-at-once={options['at_once']}"]
    found += [f"--on-error={options['on_error']}", *(["--resume"] if options["resume"] else [])]
    found += [f"--{name.replace('_', '-')}" for name in ("overwrite", "beside_run") if options[name]]
    for name in ("grid", "engine", "precision"):
        if options[name] is not None:
            found.append(f"--{name}={options[name]}")
    return found


def _check(engine: str | None, precision: str | None, on_error: str) -> None:
    from tailrace.io.engines import STORING

    for option, value, allowed in (
        ("--engine", engine, STORING),
        ("--precision", precision, ("float32", "float64")),
        ("--on-error", on_error, ("stop", "off")),
    ):
        if value is not None and value not in allowed:
            fail(f"{option} must be one of {', '.join(allowed)} (found {value})")


def _steps(text: str, every: int) -> slice:
    """Parse A:B, A: or :B. The numbers are positions of stored steps; negative numbers count from the end."""
    parts = text.split(":")
    try:
        if len(parts) != 2:
            raise ValueError
        first, last = (int(part) if part else None for part in parts)
    except ValueError:
        fail(f"--steps must be A:B, the stored steps A to B - 1 counted from 0 (found {text})")
    return slice(first, last, every)
