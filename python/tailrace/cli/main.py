"""The command `tailrace`: run, analyse, convert, bench, advise, job, case, new, plot, render, info, verify, doctor ...

Each command imports the large modules that it needs, so that help and error messages appear immediately.
Exit codes: 0 success, 1 the work failed, 2 the input is wrong.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.files.command_line import take
from tailrace.machine import mpi_alone, without_own_files
from tailrace.simulation.stop import EarlyRequest
from tailrace.text import reason, visible

from . import analyse as cli_analyse
from . import catalyst as cli_catalyst
from . import convert as cli_convert
from . import plot as cli_plot
from . import streams
from .advise import advise
from .as_before import kept_overrides
from .bench import commands as cli_bench
from .common import checkpoints_of_others, enter, fail, guarded, on_ranks, say, settle
from .film import film
from .flags import flags
from .job import job
from .live import live
from .new import new
from .pack import pack
from .ranks import started
from .render import render

if TYPE_CHECKING:
    from tailrace.case.case import Case
    from tailrace.simulation.session import Shown

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compute incompressible flow, write it, analyse it.",
    epilog="To begin: tailrace new tgv, then tailrace run tgv.toml -n 2, then tailrace plot time_series.csv. "
    "tailrace COMMAND -h explains a command.",
)

Overrides = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the case, for example time.end=5; repeatable."),
]


def _version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"tailrace {metadata.version('tailrace')}")
        except metadata.PackageNotFoundError:
            print("tailrace (not installed: used from its source tree)")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def load(path: Path, overrides: list[str]) -> tuple[Case, list[str]]:
    """The case from a TOML file or an Xcompact3D input, and notes about what is not done as the file says.

    If there are problems, the program ends and lists them.
    """
    from tailrace.case.case import ConfigError
    from tailrace.case.reading import CASES, read_case

    if path.suffix not in CASES:
        fail(f"{path}: a case is a .toml file or an Xcompact3D .i3d file")
    try:
        return read_case(path, overrides)
    except ConfigError as error:
        raise fail(error) from None


@app.command()
def run(
    case: Annotated[Path, typer.Argument(metavar="CASE", help="A case (.toml) or an Xcompact3D input (.i3d).")],
    ranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=1, help="Start MPI with this many ranks; by default one.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest complete checkpoint.")] = False,
    change: Annotated[
        bool, typer.Option("--change", help="With --resume: what the case computes may change from there on.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace results of an earlier run.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory", metavar="DIR", help="Write all results there, by default here; it is made if missing."
        ),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Let tailrace live see the fields while it computes.")] = False,
    live_control: Annotated[
        bool, typer.Option("--live-control", help="As --live, and the run can be stopped from the page.")
    ] = False,
    overrides: Overrides = [],  # noqa: B006
    beside: cli_analyse.Beside = [],  # noqa: B006
    beside_ranks: cli_analyse.BesideRanks = 1,
    beside_every: cli_analyse.BesideEvery = None,
    beside_policy: cli_analyse.BesidePolicy = "block",
    beside_fields: cli_analyse.BesideFields = "",
    beside_out: cli_analyse.BesideOut = Path("analysis"),
    beside_set: cli_analyse.BesideSet = [],  # noqa: B006
    beside_interface: cli_analyse.BesideInterface = None,
    beside_stream: cli_analyse.BesideStream = None,
) -> None:
    """Compute a case. Started under mpiexec, or with -n, it runs in parallel."""
    streams.go_on_unread()
    if resume and overwrite:
        fail("--resume goes on with the results that are there, and --overwrite replaces them; leave one out")
    if change and not resume:
        fail("--change goes with --resume: it changes the case of a run that goes on")
    if directory is not None:
        case, beside = case.absolute(), [cli_analyse.absolute_script(word) for word in beside]
        enter(directory)
        say(f"note: files are relative to {directory}")
    loaded, notes = load(case, overrides)
    command = ["run", str(case), *(f"--set={text}" for text in overrides)]
    command += ["--resume"] if resume else ["--overwrite"] if overwrite else []
    command += ["--change"] if change else []
    command += ["--live-control"] if live_control else ["--live"] if live else []
    if resume and not change:
        kept, of_others = kept_overrides(loaded, overrides)
        if kept:
            loaded, notes = load(case, [*kept, *overrides])
            notes.append(f"as in the run before: {', '.join(f'--set {text}' for text in kept)}")
        notes += [f"not as in the run before: --set {text}, whose block is gone" for text in of_others]
    fields = cli_analyse.fields_beside(beside_fields, loaded)
    if beside:
        options = cli_analyse.BesideOptions(
            beside, beside_ranks, beside_every, beside_policy, fields, beside_out, beside_set, beside_interface, resume,
            overwrite,
        )  # fmt: skip
        raise typer.Exit(cli_analyse.run_beside(loaded, ranks or 1, command, options))
    others = checkpoints_of_others(loaded, resume=resume)
    on_ranks(ranks, command, after=lambda code: settle(loaded, code, others))
    EarlyRequest().enter()
    for note in notes:
        say(f"note: {note}")
    for warning in loaded.warnings():
        say(f"warning: {warning}")
    try:
        from tailrace.simulation.simulation import run as run_case
    except ImportError as error:
        fail(f"the solver does not load: {error}\n  tailrace doctor says what is missing", 1)
    loaded, again = _on_these_ranks(case, loaded, loaded.overrides)
    for note in again:
        say(f"note: {note}")
    if beside_stream:
        from .ranks.beside import with_stream

        loaded = with_stream(loaded, beside_stream, fields, beside_every, beside_policy, beside_interface)
    shown: Shown = "with control" if live_control else "yes" if live else "no"
    code = guarded(lambda: run_case(loaded, resume=resume, change=change, overwrite=overwrite, live=shown))
    if code == 0 and started.rank() == 0:
        for note in again:  # after the tables, where it is seen: the ranks share the work in another way than asked for
            print(f"note: {note}", flush=True)
    raise typer.Exit(code)


def _on_these_ranks(path: Path, loaded: Case, overrides: list[str]) -> tuple[Case, list[str]]:
    """The case of an input with a process grid that fits the ranks, and notes about it; another case as it is."""
    if path.suffix == ".toml":
        return loaded, []
    from mpi4py import MPI

    from tailrace.case.xcompact3d.process_grid import fitted

    return fitted(loaded, MPI.COMM_WORLD.size, overrides)


app.command()(cli_analyse.analyse)


app.command()(cli_convert.convert)


app.add_typer(cli_bench.app, name="bench")


app.command()(advise)


app.command()(job)


app.command()(pack)


@app.command()
def case(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="An Xcompact3D input (.i3d), a case (.toml), or what a run wrote: a series, a checkpoint, a .csv. "
            "With --keys, the name of a section.",
        ),
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Print the keys of a case instead: type, default, meaning.")
    ] = False,
    overrides: Overrides = [],  # noqa: B006
) -> None:
    """Print a case as TOML with all its values, or the keys that a case can have.

    From an input, `tailrace case input.i3d`, or from what a run wrote, `tailrace case snapshots.h5`. The keys of all
    sections, `tailrace case --keys`, or of one, `tailrace case --keys grid`.
    """
    if keys:
        from .case_keys import show

        if overrides:
            fail("--set changes a case, and --keys prints what cases can have; leave one out")
        show(None if path is None else str(path))
        return
    if path is None:
        fail("which case? Give a file, or --keys for the keys that a case can have")
    from tailrace.case.reading import CASES

    if path.suffix not in CASES and path.exists():
        if overrides:
            fail("--set changes a case; what a run wrote tells the case as it was")
        print(visible(_case_of(path), lines=True), end="")
        return
    loaded, notes = load(path, overrides)
    for note in notes:
        say(f"note: {note}")
    print(visible(loaded.to_toml(), lines=True), end="")


def _case_of(path: Path) -> str:
    inspection = _inspection()
    try:
        text = str(inspection.case_of(path))
    except (ValueError, OSError) as error:
        fail(error, 2 if isinstance(error, ValueError) else 1)
    if not text:
        fail(f"{path}: it does not tell the case that it was made from; only files of `tailrace run` do")
    return text


app.command()(new)


app.command()(cli_plot.plot)


app.command()(render)


app.command()(film)


app.command()(live)


app.add_typer(cli_catalyst.app, name="catalyst")


@app.command()
def info(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Series of any engine, checkpoints, or a directory of them.")
    ],
    steps: Annotated[bool, typer.Option("--steps", help="List all steps.")] = False,
    step: Annotated[int, typer.Option("--step", help="Stored step to look at, from 0; -1 is the last.")] = -1,
    minmax: Annotated[bool, typer.Option("--minmax", help="Read the variables: smallest and largest value.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Show what series contain.

    Their engine, size, grid, steps and variables, and where they come from. Exit code 1: one cannot be read; 2: one is
    no series, or has no such step.
    """
    from . import listing

    inspection = _inspection()
    found, code = [], 0
    for path in (each for given in paths for each in inspection.series_at(given)):
        try:
            found.append(inspection.contents(path, step, minmax))
            if not as_json:
                listing.show(found[-1], steps)
        except (ValueError, OSError) as error:
            say(f"tailrace: {reason(error)}")
            code = max(code, 2 if isinstance(error, ValueError) else 1)
    if as_json:
        print(listing.to_json(found))
    raise typer.Exit(code)


@app.command()
def verify(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Series of any engine, checkpoints, or a directory of them.")
    ],
) -> None:
    """Compare series with their checksums.

    Prints one line for each damage. Exit code 0: all is well; 1: something is damaged; 2: one is no series.
    """
    inspection = _inspection()
    code = 0
    for path in (each for given in paths for each in inspection.series_at(given)):
        try:
            found = inspection.verify(path)
        except (inspection.NotASeriesError, inspection.InputError, OSError) as error:
            say(f"tailrace: {reason(error)}")
            code = 2
            continue
        print(*map(visible, found.lines()), sep="\n", flush=True)
        code = max(code, 1 if found.damage else 0)
    raise typer.Exit(code)


def _inspection() -> ModuleType:
    try:
        from ..inspection import contents as inspection
    except ImportError as error:
        fail(f"the library does not load: {error}\n  tailrace doctor says what is missing", 1)
    return inspection


app.command()(flags)


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def resume() -> None:
    """What one may look for."""
    fail("a run is gone on with by: tailrace run CASE --resume")


@app.command()
def doctor() -> None:
    """Show what this machine offers and what is missing."""
    from .doctor import report

    raise typer.Exit(report())


def main() -> None:
    """Entry point of the command."""
    if started.size() is None:
        os.environ.update(mpi_alone() | without_own_files())
    take()
    with streams.watched():
        for word in sys.argv[1:]:
            try:
                word.encode()
            except UnicodeEncodeError:
                say(f"tailrace: {os.fsencode(word)!r} is not in UTF-8; rename that file, or write the value in UTF-8")
                sys.exit(2)
        sys.exit(guarded(lambda: app(prog_name="tailrace")))


if __name__ == "__main__":
    main()
