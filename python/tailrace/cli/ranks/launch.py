"""Start a program under MPI, and end it on all ranks. The import of this module does not start MPI."""

from __future__ import annotations

import ctypes
import math
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tailrace import processes
from tailrace.files.command_line import hand_over
from tailrace.machine import without_own_files

from . import pumps
from .launcher import Launcher, LaunchError, find
from .lost_ranks import LostRanks
from .started import size
from .stop_signals import StopSignals

LOST = 128 + signal.SIGKILL  # the exit code of a job that has lost a rank, as mpiexec gives it where the rank is killed
_LAST_WORDS = 10.0  # seconds for the errors of a job that has ended; a process that it left may keep them open
_GRACE = 15.0  # seconds that a job which has lost a rank gets to end after the request
_UNSEEN = 30.0  # seconds until a request is sent to ranks that may all be on other machines
_AGAIN = 10.0  # seconds until it is sent again to ranks that can never be seen, and may have been starting
PATIENCE = 30.0  # seconds until the other ranks fail too; on a busy disk a rank may close its files for long
_PR_SET_PDEATHSIG = 1  # prctl: the signal that a process gets when its parent ends


def start(ranks: int, arguments: Sequence[str], *, stops_itself: bool = True) -> int | None:
    """Run `mpiexec -n ranks tailrace arguments` and return its exit code.

    Returns None if no job has to be started: this program runs under MPI with `ranks` ranks, or `ranks` is 1.

    The first SIGTERM or Ctrl-C asks the ranks to write a checkpoint and end. The ranks get SIGUSR1, because Open MPI
    would kill them one second after it forwards a SIGTERM. A second one stops the ranks immediately; a second SIGTERM
    only if it comes some seconds after the first.

    :param stops_itself: whether the ranks take such requests; if not, the first one stops them.
    :raises LaunchError: this program runs under MPI with another number of ranks, or mpiexec is missing.
    """
    present = size()
    if present is not None and present != ranks:
        raise LaunchError(f"{present} ranks are started already, and -n asks for {ranks}; leave -n out")
    if present is not None or ranks == 1:
        return None
    found = job(ranks, arguments)
    hand_over(found.environment)
    return _supervise(found, ranks, stops_itself=stops_itself)


class LaunchCommand(NamedTuple):
    """How `tailrace` is started on ranks.

    :param launcher: what starts them.
    """

    words: list[str]
    environment: dict[str, str]
    launcher: Launcher


def job(ranks: int, arguments: Sequence[str], *, alone: bool = True) -> LaunchCommand:
    """How to start `tailrace arguments` on `ranks` ranks.

    :param alone: whether no other job uses these processors; if false, the ranks are not bound to cores.
    :raises LaunchError: there is nothing that starts ranks.
    """
    if ranks == 1:
        words = [sys.executable, "-m", "tailrace.cli", *arguments]
        return LaunchCommand(words, without_own_files(), Launcher((), "none"))
    launcher = find()
    words, environment = launcher.command(ranks, arguments, alone=alone)
    return LaunchCommand(words, environment, launcher)


def begin(command: LaunchCommand, out: int | None) -> subprocess.Popen[str]:
    """Start a command that ends with this program; its errors go to a pipe.

    :param out: the target of its output; None: the output of this program.
    :raises LaunchError: it does not start.
    """
    try:
        # It has its own process group: Ctrl-C reaches only this program, which then stops its commands in order. Its
        # input is closed: a read of the terminal would stop it.
        return subprocess.Popen(
            command.words, env=command.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
            text=True, errors="replace", process_group=0, preexec_fn=die_with_parent,
        )  # fmt: skip
    except OSError as error:
        raise LaunchError(f"{command.words[0]} does not start: {error.strerror}") from None


def _supervise(command: LaunchCommand, ranks: int, *, stops_itself: bool) -> int:
    """Run a command until it ends."""
    process = begin(command, subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    shown = pumps.output_of(process.stdout.buffer), pumps.errors_of(process.stderr.buffer)  # type: ignore[attr-defined]
    launcher = command.launcher
    ask = launcher.ask if stops_itself else signal.SIGTERM
    request = LaunchRequest(process, ask, launcher.shows_ranks)
    lost, why = LostRanks(process.pid, ranks), ""
    with StopSignals(process.terminate) as signals:
        while process.poll() is None and not why:
            if signals.first:
                request.make()
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
            why = lost.stuck()
        if why:
            print(f"tailrace: {why}, and the job is stopped", file=sys.stderr, flush=True)
            processes.stop(process, _GRACE)
    for pump in shown:
        pump.join(_LAST_WORDS)
    if why:
        return LOST
    code = launcher.exit_code(process.returncode, ask if signals.first else None)
    if signals.first and not stops_itself and code != 0:
        return 128 + signals.first  # the code of one rank; that of mpiexec would hide it
    return code


class LaunchRequest:
    """The request to a job to end itself, by the signal that `job` gives."""

    def __init__(self, process: subprocess.Popen[Any], ask: signal.Signals, shows_ranks: bool = True) -> None:
        self._process, self._ask = process, ask
        self._unseen, self._again = (_UNSEEN, math.inf) if shows_ranks else (0.0, _AGAIN)
        self._due: float | None = None  # when it is sent without a rank in sight
        self._taken = False

    def make(self) -> None:
        """Send the signal. Call this repeatedly until the job ends: ranks that are starting would not notice SIGUSR1.

        It is sent when a rank can take it. If no rank is seen for some time, all may be on other machines: then it is
        sent too, and again when ranks appear later. Where ranks are never seen, it is sent at once, and again every few
        seconds. Ranks that have it already ignore the second one.
        """
        now = time.monotonic()
        self._due = now + self._unseen if self._due is None else self._due
        if self._taken:
            return
        ranks = processes.family(self._process.pid)[1:]
        self._taken = self._ask != signal.SIGUSR1 or any(one.takes(self._ask) for one in ranks)
        starting = any(one.ignores(self._ask) for one in ranks)
        if self._taken or (not starting and now >= self._due):
            self._process.send_signal(self._ask)
            self._due = now + self._again


def die_with_parent() -> None:
    """Called in the child before the program starts: the child ends if the parent is killed, so no rank runs on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end_together(text: str) -> None:
    """Print a failure. If all ranks fail, it is printed once. If other ranks do not fail, abort MPI."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized() or mpi.COMM_WORLD.Get_size() == 1:
        print(text, file=sys.stderr, flush=True)
        return
    world = mpi.COMM_WORLD
    barrier = world.Ibarrier()
    deadline = time.monotonic() + PATIENCE
    while not barrier.Test():
        if time.monotonic() > deadline:
            print(f"[rank {world.Get_rank()}] {text}", file=sys.stderr, flush=True)
            world.Abort(1)
        time.sleep(0.01)
    if world.Get_rank() == 0:
        print(text, file=sys.stderr, flush=True)
