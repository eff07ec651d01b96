"""Messages and exit codes of commands. The first rank prints the messages, and no rank waits for a failed rank."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from tailrace.text import message, reason, visible

from .ranks import launch, started
from .ranks.launcher import LaunchError

if TYPE_CHECKING:
    from tailrace.case.case import Case
    from tailrace.simulation.way_on import Stamps

_BY_SIGNAL = 128  # an exit code above it: a signal has ended the ranks
_ON_REQUEST = (_BY_SIGNAL + signal.SIGINT, _BY_SIGNAL + signal.SIGTERM)  # of a run that has told how to go on
_FIRST_WORD = 5.0  # seconds for the message of the first rank: mpiexec kills all ranks when one ends; 0: it does not


def say(text: str) -> None:
    """Print a message to standard error, on the first rank only."""
    if started.rank() == 0:
        print(message(text), file=sys.stderr, flush=True)


def fail(text: object, code: int = 2) -> NoReturn:
    """End the program with a message instead of a traceback."""
    said = f"tailrace: {reason(text) if isinstance(text, Exception) else text}"
    say(said)
    if (rank := started.rank()) != 0 and _FIRST_WORD:
        time.sleep(_FIRST_WORD)
        # Still here: the first rank has not failed, as where a disk of one node alone is gone.
        print(message(f"[rank {rank}] {said}"), file=sys.stderr, flush=True)
    raise typer.Exit(code)


def enter(directory: Path) -> None:
    """Make this the working directory of the program; create it if it is missing."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.chdir(directory)
    except OSError as error:
        fail(f"--directory {directory}: {error.strerror}")


def settle(case: Case, code: int, others: Stamps) -> None:
    """After all ranks of a failed run have ended: put back the results that a killed run has set aside, and tell how to
    go on where no rank could tell it.

    :param code: the exit code of the run.
    :param others: the checkpoints of another run.
    """
    from tailrace.simulation.existing_results import settle as put_back
    from tailrace.simulation.way_on import newest, way_on

    try:
        if put_back(case):
            say("tailrace: the run ended before it had results; the earlier ones are back in their places")
    except (OSError, ValueError) as error:
        say(f"tailrace: {reason(error)}")
    if code > _BY_SIGNAL and code not in _ON_REQUEST:
        found = newest(Path(case.checkpoint.path), others)
        say(f"tailrace: the run was killed (exit code {code}); {way_on(found)}")


def checkpoints_of_others(case: Case, *, resume: bool) -> Stamps:
    """The checkpoints that are there before a run, which are of another one unless it resumes."""
    from tailrace.simulation.way_on import stamps

    return frozenset() if resume else stamps(Path(case.checkpoint.path))


def on_ranks(
    ranks: int | None,
    arguments: Sequence[str],
    *,
    stops_itself: bool = True,
    after: Callable[[int], None] = lambda _: None,
) -> None:
    """Run `tailrace arguments` on `ranks` ranks and end with its exit code. Return if no job has to be started.

    :param stops_itself: as `launch.start` takes it.
    :param after: called with the exit code when the job has ended and has failed.
    """
    if ranks is None:
        return
    try:
        code = launch.start(ranks, arguments, stops_itself=stops_itself)
    except LaunchError as error:
        fail(error)
    if code:
        after(code)
    if code is not None:
        raise typer.Exit(code)


def guarded(work: Callable[[], int]) -> int:
    """The exit code of `work`. An expected failure prints one message, and no rank waits for a failed rank."""
    try:
        return work()
    except typer.Exit:  # a RuntimeError too; `fail` has said why
        raise
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        text = message(f"tailrace: {reason(error)}")
        if os.environ.get("TAILRACE_TRACEBACK"):
            text = visible(traceback.format_exc(), lines=True) + text
        launch.end_together(text)
        from tailrace.case.case import ConfigError

        return 2 if isinstance(error, ConfigError) else 1
    except Exception:  # a bug in Tailrace: print the traceback
        trace = visible(traceback.format_exc(), lines=True)
        launch.end_together(f"{trace}tailrace: this is a defect; please report it with the lines above")
        return 1
