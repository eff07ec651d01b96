"""Runs what a command of `tailrace bench` measures: here, or inside a job of MPI."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import launch
from .bench_show import show

if TYPE_CHECKING:
    from tailrace.bench.job import Matrix


def measure(
    matrix: Matrix, directories: dict[str, Path], limit: float, out: Path, append: bool, against: Path | None
) -> None:
    """Measure all jobs of a matrix and end the command: with 1 where something has failed."""
    from tailrace.bench.session import Session

    matrix.jobs(directories)  # what is wrong is said before anything is made
    if launch.size() is not None:
        from .bench_inside import measure as measure_inside

        raise typer.Exit(measure_inside(matrix, directories, out, append, against))
    with Session(directories, out, limit=limit, append=append) as session:
        for job in matrix.jobs(session.places):
            session.run(job, start)
    raise typer.Exit(show(out, against, session.failures, session.notes))


def start(ranks: int, words: list[str]) -> subprocess.Popen[str]:
    """Ranks of their own, which end with this program."""
    return begin(launch.job(ranks, words, alone=False), subprocess.PIPE)


def begin(job: tuple[list[str], dict[str, str], signal.Signals], out: int | None) -> subprocess.Popen[str]:
    """Start a command, as `launch.job` gives it; its errors go to a pipe.

    :param out: where its output goes; None: to that of this program.
    """
    command, environment, _ = job
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
        errors="replace", process_group=0, preexec_fn=launch.die_with_parent,
    )  # fmt: skip
