"""The command `tailrace convert`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from tailrace.text import visible

from .common import fail, guarded, on_ranks, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from tailrace.conversion.convert import Converted
    from tailrace.conversion.request import ConversionRequest


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A series of any engine, or files of another program.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="A new file or directory; nothing is ever replaced.")
    ],
    ranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=1, help="Start MPI with this many ranks; by default one.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="Engine of the target; by default that of its ending: .h5, .bp, .sion, ..."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of another program instead: pvd, vtkhdf, xdmf (ParaView), xcompact3d, pencil-hdf5, "
            "nektar-hdf5, nektar-xml.",
        ),
    ] = None,
    steps: Annotated[
        str,
        typer.Option("--steps", metavar="A:B:N", help="Every N-th of the stored steps A to B - 1, counted from 0."),
    ] = ":",
    variables: Annotated[
        str | None, typer.Option("--variables", metavar="NAMES", help="Only these, as ux,uy; u stands for a vector.")
    ] = None,
    box: Annotated[
        str | None,
        typer.Option("--box", metavar="X0:X1,Y0:Y1,Z0:Z1", help="Only these points, counted from 0; as :,0:8,: too."),
    ] = None,
    coarsen: Annotated[
        str, typer.Option("--coarsen", metavar="NX,NY,NZ", help="Only every n-th point in x, y and z.")
    ] = "1,1,1",
    precision: Annotated[
        str | None, typer.Option("--precision", help="float64 or float32 for real numbers; by default as stored.")
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", help="gzip or szip (hdf5); an operator of ADIOS2 (bp4, bp5).")
    ] = None,
    parameters: Annotated[
        list[str],
        typer.Option("--parameter", metavar="NAME=VALUE", help="A parameter of the engine or format; repeatable."),
    ] = [],  # noqa: B006
    source_format: Annotated[
        str | None,
        typer.Option("--source-format", help="The program that wrote the source, where its content does not tell."),
    ] = None,
    source_parameters: Annotated[
        list[str],
        typer.Option("--source-parameter", metavar="NAME=VALUE", help="A parameter of the reader; repeatable."),
    ] = [],  # noqa: B006
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Read the result back and compare all of it with the source.")
    ] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what an interrupted command has left.")] = False,
    delete_originals: Annotated[
        bool, typer.Option("--delete-originals", help="Remove the files of the source, after the comparison.")
    ] = False,
    lines: Annotated[bool, typer.Option("--progress-lines", hidden=True)] = False,  # set for the ranks of -n
) -> None:
    """Convert a series, or files of another program, into another one.

    For example: tailrace convert snapshots.h5 snapshots.bp -n 2

    The result gets its name when it is whole and has been compared. Exit code 0: all of it is right.
    """
    options = dict(locals())
    try:
        from tailrace.conversion.request import ConversionRequest
        from tailrace.conversion.selection import Selection
        from tailrace.core import InputError
    except ImportError as error:
        fail(f"the library does not load: {error}\n  tailrace doctor says what is missing", 1)
    try:
        selection = Selection(
            _slice("--steps", steps, 3), _names(variables), _box(box), _coarsen(coarsen), precision  # type: ignore[arg-type] # checked there
        )  # fmt: skip
        request = ConversionRequest(
            str(source), str(target), selection, engine, format, _pairs("--parameter", parameters), compression,
            source_format, _pairs("--source-parameter", source_parameters), verify, resume, delete_originals,
        )  # fmt: skip
        request.check()
    except InputError as error:
        fail(error)
    on_ranks(ranks, _arguments(options), stops_itself=False)
    raise typer.Exit(guarded(lambda: _run(request, lines)))


def _run(request: ConversionRequest, lines: bool) -> int:
    from mpi4py import MPI

    from tailrace.conversion.work import Conversion

    with _Bar(shown=MPI.COMM_WORLD.rank == 0, lines=lines) as bar:
        done = Conversion(request, MPI.COMM_WORLD, bar.update).run()
    for note in done.notes:
        say(f"note: {note}")
    if MPI.COMM_WORLD.rank == 0:
        print(visible(_told(done)), flush=True)
    return 0


def _told(done: Converted) -> str:
    from tailrace.text import counted, size

    resumed = f" ({done.resumed} of them were there already)" if done.resumed else ""
    verified = "verified" if done.verified else "not verified"
    removed = f"; {counted(done.removed, 'original file')} removed" if done.removed else ""
    steps = counted(done.steps, "step")
    return f"{done.path}: {done.engine}, {steps}{resumed}, {size(done.bytes)} of values, {verified}{removed}"


class _Bar:
    """The progress, on a terminal only. A context manager.

    :param lines: print a line at each tenth: the terminal belongs to the program that started the ranks.
    """

    def __init__(self, *, shown: bool, lines: bool) -> None:
        self._lines, self._tenth = shown and lines, 0
        self._progress: Progress | None = None
        self._task: Any = None
        self._phase = ""
        if shown and not lines:
            from tailrace.text import is_terminal

            if is_terminal(sys.stderr):
                self._progress = _progress()

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, phase: str, done: int, total: int) -> None:
        """Show how many bytes of a phase are done."""
        if self._lines:
            tenth = 10 * done // max(1, total)
            if phase != self._phase or tenth != self._tenth:
                say(f"{phase}: {10 * tenth} %")
            self._phase, self._tenth = phase, tenth
            return
        if self._progress is None:
            return
        if phase != self._phase:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._phase, self._task = phase, self._progress.add_task(phase, total=total)
        self._progress.update(self._task, completed=done)


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(),
        TimeRemainingColumn(), console=Console(stderr=True), transient=True,
    )  # fmt: skip


# ---- options ---------------------------------------------------------------------------------------------------------
def _slice(option: str, text: str, most: int) -> slice:
    """A:B or A:B:N; numbers may be left out."""
    parts = text.split(":")
    try:
        if not 2 <= len(parts) <= most:
            raise ValueError
        return slice(*(int(part) if part.strip() else None for part in parts))
    except ValueError:
        forms = "A:B or A:B:N" if most == 3 else "A:B"
        raise fail(
            f"{option} {text}: expected {forms}, whole numbers from 0 on, of which any may be left out"
        ) from None


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name for one in text.split(",") if (name := one.strip()))


def _box(text: str | None) -> tuple[slice, slice, slice] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 3:
        fail(f"--box {text}: expected X0:X1,Y0:Y1,Z0:Z1, the points X0 to X1 - 1 in x, and so on")
    x, y, z = (_slice("--box", part, 2) for part in parts)
    return x, y, z


def _coarsen(text: str) -> tuple[int, int, int]:
    try:
        x, y, z = (int(one) for one in text.split(","))
    except ValueError:
        raise fail(f"--coarsen {text}: expected three whole numbers from 1 on, as 2,2,1") from None
    return x, y, z


def _pairs(option: str, texts: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            fail(f"{option} {text}: must be NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def _arguments(options: dict[str, Any]) -> list[str]:
    found = ["convert", str(options["source"]), str(options["target"])]
    for name in (
        "steps",
        "coarsen",
        "engine",
        "format",
        "variables",
        "box",
        "precision",
        "compression",
        "source_format",
    ):
        if options[name] is not None:
            found.append(f"--{name.replace('_', '-')}={options[name]}")
    found += [f"--parameter={text}" for text in options["parameters"]]
    found += [f"--source-parameter={text}" for text in options["source_parameters"]]
    flags = {"resume": "--resume", "delete_originals": "--delete-originals"}
    found += [flag for name, flag in flags.items() if options[name]]
    found += [] if options["verify"] else ["--no-verify"]
    return [*found, "--progress-lines"] if sys.stderr.isatty() else found
