"""The command `tailrace job`: a script for a batch system, written for a case or checked."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.text import visible

from .common import fail, say

if TYPE_CHECKING:
    from tailrace.batch.pace import Pace
    from tailrace.batch.request import JobRequest
    from tailrace.case.case import Case


def job(
    path: Annotated[Path, typer.Argument(metavar="CASE|SCRIPT", help="A case, or with --check a script.")],
    time: Annotated[str, typer.Option("--time", metavar="H:M:S", help="The time limit of a job.")] = "",
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Nodes; with --measured as many as one job needs.")
    ] = None,
    each: Annotated[
        int | None, typer.Option("--ranks-per-node", min=1, help="Usually the cores of a node, or its GPUs.")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="slurm|pbs", help="By default the one that is installed here.")
    ] = None,
    measured: Annotated[
        list[Path],
        typer.Option("--measured", metavar="RESULTS", help="What tailrace bench solver measured on such a node."),
    ] = [],  # noqa: B006
    name: Annotated[str | None, typer.Option("--name", help="Of the job; by default that of the case.")] = None,
    option: Annotated[
        list[str], typer.Option("--option", metavar="TEXT", help="One more line of the head: --account=x; repeatable.")
    ] = [],  # noqa: B006
    setup: Annotated[
        list[str], typer.Option("--setup", metavar="COMMAND", help="Before the run: module load openmpi; repeatable.")
    ] = [],  # noqa: B006
    beside: Annotated[
        list[str], typer.Option("--beside", metavar="SCRIPT", help="An analysis on ranks of its own; repeatable.")
    ] = [],  # noqa: B006
    beside_ranks: Annotated[
        int | None, typer.Option("--beside-ranks", min=1, help="Its ranks; by default a sixteenth of all.")
    ] = None,
    pack: Annotated[
        Path | None, typer.Option("--pack", metavar="FILE", help="What tailrace pack wrote: each node unpacks it.")
    ] = None,
    overrides: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the case; repeatable.")
    ] = [],  # noqa: B006
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The script; CASE.slurm or CASE.pbs.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Say what is wrong with a script, by its lines.")] = False,
) -> None:
    """Write a script for a batch system that computes a case, from job to job until its end; or check one.

    `tailrace job channel.toml --nodes 4 --ranks-per-node 64 --time 12:00:00 --option=--account=x`
    """
    from tailrace.batch.request import BatchError, JobRequest
    from tailrace.batch.script import script
    from tailrace.batch.systems import SYSTEMS
    from tailrace.bench.records.results import ResultError
    from tailrace.case.reading import CASES

    if check:
        raise typer.Exit(_check(path))
    if path.suffix not in CASES:
        fail(f"{path}: a case is a .toml file or an Xcompact3D .i3d file; to check a script, add --check")
    for key, value in (("--time", time), ("--ranks-per-node", each)):
        if not value:
            fail(f"{key}: expected, and not given")
    if beside_ranks and not beside:
        fail(f"--beside-ranks {beside_ranks} is of an analysis beside the run; add --beside SCRIPT, or leave it out")
    if pack is not None and not pack.is_file():
        fail(f"--pack {pack}: there is no such file; tailrace pack {pack} writes it")
    assert each is not None
    kind = SYSTEMS[_system(system)]
    case = _case(path, overrides)
    out = out or Path(f"{path.stem}.{kind.name}")
    try:
        seconds = _seconds(time)
        pace = _pace(measured, case)
        if nodes is None and pace is None:
            fail("--nodes: expected, and not given; or give --measured, what tailrace bench solver found on a node")

        def of_analysis(nodes: int) -> int:
            return (beside_ranks or max(nodes * each // 16, 1)) if beside else 0

        if nodes is None and pace is not None:
            nodes = pace.nodes(case, lambda nodes: nodes * each - of_analysis(nodes), seconds)
        assert nodes is not None
        request = JobRequest(
            path, nodes, each, seconds, name or case.case.name, tuple(beside), of_analysis(nodes), tuple(overrides),
            tuple(option), tuple(setup), pack,
        ).checked(case)  # fmt: skip
        told = [] if pace is None else [pace.told(case, request)]
        words = shlex.join(["tailrace", *sys.argv[1:]])
        text = script(case, request, kind, out, [*told, f"written by: {visible(words)}"])
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fail(f"{out}: exists and is left as it is; choose another place with -o")
    except (BatchError, ResultError) as error:
        fail(error)
    except OSError as error:
        fail(f"{out}: {error.strerror}")
    _tell(request, case, out, kind.submit, told)


def _seconds(time: str) -> int:
    from tailrace.batch.request import BatchError, seconds_of

    try:
        return seconds_of(time)
    except BatchError as error:
        fail(f"--time: {error}")


def _tell(request: JobRequest, case: Case, out: Path, submit: str, told: list[str]) -> None:
    from tailrace.batch.request import clock, margin

    beside = f", and {request.beside_ranks} for the analysis" if request.beside else ""
    print(visible(f"wrote {out}: {request.ranks} ranks on {request.nodes} node(s){beside}"))
    for line in told:
        print(visible(f"  {line}"))
    print(f"  asked to stop {clock(margin(case, request.nodes))} before the limit, to write a checkpoint")
    if not case.checkpoint.every and not case.checkpoint.minutes:
        print("  note: a node that fails costs the whole job: set checkpoint.minutes in the case")
    print(visible(f"next: {submit} {shlex.quote(str(out))}"))


def _system(wanted: str | None) -> str:
    from tailrace.batch.systems import SYSTEMS

    if wanted is None:
        found = next((name for name, one in SYSTEMS.items() if shutil.which(one.submit)), None)
        if found is None:
            fail(f"--system: there is no {' and no '.join(one.submit for one in SYSTEMS.values())} here; give one of "
                 f"{', '.join(SYSTEMS)}")  # fmt: skip
        return found
    if wanted not in SYSTEMS:
        fail(f"--system {wanted}: expected {' or '.join(SYSTEMS)}")
    return wanted


def _case(path: Path, overrides: list[str]) -> Case:
    from tailrace.case.case import ConfigError
    from tailrace.case.reading import read_case

    try:
        return read_case(path, overrides)[0]
    except ConfigError as error:
        fail(error)


def _pace(files: list[Path], case: Case) -> Pace | None:
    from tailrace.batch.pace import pace_of

    return pace_of(files, case) if files else None


def _check(path: Path) -> int:
    """Print what is wrong with a script. Returns the exit code: 1 if it cannot work as it is."""
    from tailrace.batch.check import check
    from tailrace.batch.request import BatchError

    try:
        found = check(path.read_text(encoding="utf-8"), path.parent)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        fail(f"{path}: expected a script, found no text")
    except BatchError as error:
        fail(f"{path}: {error}")
    for one in found:
        where = f"{path}:{one.line}" if one.line else f"{path}"
        print(visible(f"{where}: {one.state}: {one.text}", lines=True))
    if not found:
        say(f"{path}: nothing is wrong")
    return int(any(one.state == "error" for one in found))
