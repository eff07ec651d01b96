"""Run the measurements of a bench: on ranks of its own, or inside a job of MPI."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..common import fail
from ..ranks import started
from ..ranks.launcher import LaunchError
from . import pair
from .darshan import Watched
from .show import announce, check_files, show, show_interrupted
from .start import start

if TYPE_CHECKING:
    from tailrace.bench.bench import Bench

_WATCHED = "Darshan watched the ranks, which takes time of each call"


@contextmanager
def told() -> Iterator[None]:
    """Around a command: end it with a message if its request cannot be done."""
    from tailrace.bench.ranks.darshan_runtime import DarshanError
    from tailrace.core import InputError, IoError

    try:
        yield
    except (ValueError, InputError, IoError, OSError, LaunchError, DarshanError) as error:
        fail(error)


def measure(bench: Bench) -> None:
    """Measure all jobs of a bench and end the command, with 1 if something has failed."""
    from tailrace.bench.options import named
    from tailrace.bench.ranks.session import BenchSession

    with told():
        directories = {} if bench.directories is None else named(bench.directories)
        bench.jobs(directories, started.size())  # reports errors before anything is made
        if started.size() is not None and not bench.darshan:
            from .inside import measure as measure_inside

            raise typer.Exit(measure_inside(bench, directories))
        check_files(bench)
        results = bench.results
        watched = Watched(results.out) if bench.darshan else None
        marks: dict[str, Any] = {"notes": [_WATCHED], "watched": "Darshan"} if watched else {}
        begin = watched.start if watched else pair.start if bench.paired else start
        session = BenchSession(directories, results.out, limit=results.limit, append=results.append, **marks)
        try:
            with session:
                announce(bench)
                jobs = bench.jobs(session.directories, started.size())
                session.expect(jobs)
                for job in jobs:
                    session.run(job, begin)
        except (KeyboardInterrupt, SystemExit):
            show_interrupted(bench)
            raise typer.Exit(128 + (session.stopped or signal.SIGTERM)) from None
        failures = session.failures + (_add(watched, results.out, session.notes) if watched else 0)
        raise typer.Exit(show(bench, session.record.run, failures, session.notes))


def _add(watched: Watched, out: Path, notes: list[str]) -> int:
    """Add the records of Darshan to a file of results. Returns the number of failures; `notes` get the reason."""
    from tailrace.bench.imported.foreign import ForeignError
    from tailrace.bench.ranks.darshan_runtime import DarshanError
    from tailrace.bench.records.results import ResultFile

    try:
        with ResultFile(out, append=True) as results:
            watched.add_to(results)
    except (DarshanError, ForeignError, OSError) as error:
        notes.append(str(error))
        return 1
    notes.append(f"logs of Darshan: {watched.directory}")
    return 0
