"""The script of a job: a run that goes on from job to job until the flow has reached its end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tailrace.case.case import Case
from tailrace.simulation.stop import STOPPED

from .request import BatchError, JobRequest, margin
from .systems import BatchSystem

# One thread a rank: more would compete for the processors of the others.
_THREADS = "export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1"
_RESUME = """\
# A job goes on from the newest checkpoint of the one before.
newest() {{ ls -d {checkpoints}/step-*[0-9] 2>/dev/null | sort | tail -n 1; }}
before=$(newest)
resume=
[ -z "$before" ] || resume=--resume
"""
_AGAIN = """\
# {stopped}: it was asked to stop before the limit, and has written a checkpoint, from which the next job goes on.
if [ "$code" = {stopped} ] && [ "$(newest)" != "$before" ]; then
  {submit} {script} && code=0
fi
exit "$code"
"""


def script(case: Case, job: JobRequest, system: BatchSystem, path: Path, notes: Sequence[str] = ()) -> str:
    """The text of the script. Local.

    :param path: where the script will be, which submits itself again.
    :param notes: sentences for its reader.
    """
    last = margin(case, job.nodes)
    lines = ["#!/bin/bash", *(f"{system.mark} {line}" for line in system.head(job, last))]
    lines += [f"{system.mark} {option}" for option in job.options]
    lines += [*(f"# {note}" for note in notes), "", f'cd "${{{system.here}:-.}}"']
    lines += [*job.setup, *(_environment() if job.pack is None else _unpacked(job.pack, system)), _THREADS, ""]
    if stripes := _stripes(case, job):
        lines += [*stripes, ""]
    lines += _RESUME.format(checkpoints=shlex.quote(case.checkpoint.path)).splitlines()
    lines += ["", *_run(job, system, last), "code=$?", ""]
    lines += _AGAIN.format(stopped=STOPPED, submit=system.submit, script=shlex.quote(str(path))).splitlines()
    return "\n".join(lines) + "\n"


def _environment() -> list[str]:
    """The Python of this command."""
    programs = Path(sys.prefix) / "bin"
    activate = programs / "activate"
    if activate.is_file():
        return [f". {shlex.quote(str(activate))}"]
    return [f"export PATH={shlex.quote(str(programs))}:$PATH"]  # of conda, or of the system


def _unpacked(pack: Path, system: BatchSystem) -> list[str]:
    """A copy of the program in the memory of each node, for this job."""
    if not system.each_node:
        raise BatchError(f"a script for {system.name} cannot unpack {pack} on each node; leave --pack out")
    return [
        "# Each node reads one file, and its ranks open no other of the program on a shared file system.",
        f"export pack={shlex.quote(str(pack))} place=/dev/shm/tailrace-${system.number}",
        f'on_each_node() {{ {system.each_node} sh -c "$1"; }}',
        "remove() { on_each_node 'rm -rf \"$place\"'; }",
        "remove",
        "trap remove EXIT",
        'on_each_node \'mkdir "$place" && tar -xf "$pack" -C "$place" && "$place/settle"\' || exit 1',
        "export PATH=$place/bin:$PATH",
    ]


def _stripes(case: Case, job: JobRequest) -> list[str]:
    """New files of outputs that all ranks share go over all servers of Lustre. Elsewhere nothing happens."""
    from tailrace.bench.advise.load import Load, bytes_of
    from tailrace.bench.advise.pattern import PatternError
    from tailrace.bench.advise.striping import stripe_command

    found: dict[str, str] = {}
    for output in case.output:
        place, count = Path(output.path).parent, len(output.fields)
        try:
            load = Load(bytes_of(case.grid.points, count, output.precision), job.ranks, count)
            found.setdefault(str(place), stripe_command(output.engine, output.parameters, load, str(place)))
        except PatternError:
            continue
    if not found:
        return []
    return [
        'if [ "$(stat -f -c %T .)" = lustre ]; then',
        *(f"  mkdir -p {shlex.quote(place)} && {command}" for place, command in found.items()),
        "fi",
    ]


def _run(job: JobRequest, system: BatchSystem, last: int) -> list[str]:
    settings = [f"--set={text}" for text in job.settings]
    run = ["tailrace", "run", str(job.case), *settings]
    if direct := system.direct(job):
        return [f"{shlex.join([*direct, *run])} $resume"]
    beside = [word for each in job.beside for word in ("--beside", each)]
    if beside:
        beside += ["--beside-ranks", str(job.beside_ranks)]
    # tailrace run -n hands the request on to the ranks of the simulation alone, and waits for both.
    command = shlex.join([*run, "-n", str(job.ranks), *beside])
    return [f"timeout --preserve-status --signal=TERM {job.seconds - last} {command} $resume"]
