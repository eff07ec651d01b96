"""Start a program under MPI, and end it on all ranks. The import of this module does not start MPI."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tailrace import processes
from tailrace.files.command_line import hand_over
from tailrace.machine import physical_cores

from . import pumps
from .lost_ranks import LostRanks
from .stop_signals import StopSignals

# Environment variables of launchers: Open MPI; MPICH and related libraries; Slurm and others that use PMIx.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE")
# How Open MPI starts a rank. The rank ignores SIGUSR1 until its handler is set: otherwise a request would end the ranks
# that start last. Foreign programs may connect to Open MPI's ports; with poll, waiting ranks would check each such
# connection again and again. mpiexec itself cannot use epoll, which refuses an input that is a file.
_RANK = (
    "sh",
    "-c",
    'trap "" USR1; export OMPI_MCA_opal_event_include="${OMPI_MCA_opal_event_include-epoll}"; exec "$@"',
    "sh",
)
LOST = 128 + signal.SIGKILL  # the exit code of a job that has lost a rank, as mpiexec gives it where the rank is killed
_LAST_WORDS = 10.0  # seconds for the errors of a job that has ended; a process that it left may keep them open
_GRACE = 15.0  # seconds that a job which has lost a rank gets to end after the request
_UNSEEN = 30.0  # seconds until a request is sent to ranks that may all be on other machines
_PR_SET_PDEATHSIG = 1  # prctl: the signal that a process gets when its parent ends


class LaunchError(RuntimeError):
    """MPI cannot be started as requested."""


def _number(names: Sequence[str]) -> int | None:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def size() -> int | None:
    """The number of ranks that a launcher has started; None outside MPI. This function does not call MPI."""
    return _number(_SIZES)


def rank() -> int:
    """The rank of this process; 0 outside MPI."""
    return _number(_RANKS) or 0


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
        raise LaunchError(f"mpiexec started {present} ranks already, and -n asks for {ranks}; leave -n out")
    if present is not None or ranks == 1:
        return None
    command, environment, ask = job(ranks, arguments)
    hand_over(environment)
    return _supervise(command, environment, ask if stops_itself else None, ranks)


def job(
    ranks: int, arguments: Sequence[str], *, alone: bool = True
) -> tuple[list[str], dict[str, str], signal.Signals]:
    """How to start `tailrace arguments` on `ranks` ranks: the command, its environment, and the signal to end it.

    :param alone: whether no other job uses these processors; if false, the ranks are not bound to cores.
    :raises LaunchError: mpiexec is missing.
    """
    if ranks == 1:
        return [sys.executable, "-m", "tailrace.cli", *arguments], dict(os.environ), signal.SIGTERM
    mpiexec = os.environ.get("TAILRACE_MPIEXEC") or shutil.which("mpiexec") or shutil.which("mpirun")
    if mpiexec is None:
        raise LaunchError("-n needs mpiexec, and there is none on the PATH; install MPI or set TAILRACE_MPIEXEC to it")
    open_mpi = is_open_mpi(mpiexec)
    command, environment = command_line(mpiexec, ranks, arguments, open_mpi=open_mpi)
    if open_mpi and not alone:  # otherwise both mpiexec would bind their ranks to the same first cores
        command[3:3] = ["--bind-to", "none"]
    return command, environment, signal.SIGUSR1 if open_mpi else signal.SIGTERM


def _supervise(command: Sequence[str], environment: dict[str, str], ask: signal.Signals | None, ranks: int) -> int:
    """Run a command until it ends; `ask` is the signal that asks it to end, None if it takes no requests."""
    try:
        # The command has its own process group: Ctrl-C reaches only this program. Its input is closed: a read stops it.
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            process_group=0, preexec_fn=die_with_parent,
        )  # fmt: skip
    except OSError as error:
        raise LaunchError(f"{command[0]} does not start: {error.strerror}") from None
    assert process.stdout is not None and process.stderr is not None
    shown = pumps.output_of(process.stdout), pumps.errors_of(process.stderr)
    request = LaunchRequest(process, ask or signal.SIGTERM)
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
    if signals.first and ask is None and process.returncode != 0:
        return 128 + signals.first  # the code of one rank; that of mpiexec would hide it
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


class LaunchRequest:
    """The request to a job to end itself, by the signal that `job` gives."""

    def __init__(self, process: subprocess.Popen[Any], ask: signal.Signals) -> None:
        self._process, self._ask = process, ask
        self._wanted: float | None = None
        self._taken = self._sent = False

    def make(self) -> None:
        """Send the signal. Call this repeatedly until the job ends: ranks that are starting would not notice SIGUSR1.

        It is sent when a rank can take it. If no rank is seen for some time, all may be on other machines: then it is
        sent too, and again when ranks appear later. Ranks that have it already ignore the second one.
        """
        self._wanted = self._wanted or time.monotonic()
        if self._taken:
            return
        ranks = processes.family(self._process.pid)[1:]
        self._taken = self._ask != signal.SIGUSR1 or any(one.takes(self._ask) for one in ranks)
        starting = any(one.ignores(self._ask) for one in ranks)
        unseen = not starting and time.monotonic() - self._wanted > _UNSEEN
        if self._taken or (unseen and not self._sent):
            self._process.send_signal(self._ask)
            self._sent = True


def die_with_parent() -> None:
    """Called in the child before the program starts: the child ends if the parent is killed, so no rank runs on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def is_open_mpi(mpiexec: str) -> bool:
    """Whether an mpiexec belongs to Open MPI, which needs additional options."""
    try:
        answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "Open MPI" in answer or "OpenRTE" in answer


def command_line(
    mpiexec: str, ranks: int, arguments: Sequence[str], *, open_mpi: bool
) -> tuple[list[str], dict[str, str]]:
    """The command that starts the ranks, and its environment."""
    environment = dict(os.environ)
    options: list[str] = []
    if open_mpi:
        if os.geteuid() == 0:  # in a container, programs usually run as root
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # Under a scheduler, the number of slots comes from its nodes, and the scheduler itself refuses too many ranks.
        if ranks > physical_cores() and not any(name in os.environ for name in _SCHEDULERS):
            options.append("--oversubscribe")
        options += _RANK
    return [mpiexec, "-n", str(ranks), *options, sys.executable, "-m", "tailrace.cli", *arguments], environment


def end_together(text: str, patience: float = 10.0) -> None:
    """Print a failure. If all ranks fail, it is printed once. If other ranks do not fail, abort MPI.

    :param patience: seconds to wait until the other ranks fail too.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized() or mpi.COMM_WORLD.Get_size() == 1:
        print(text, file=sys.stderr, flush=True)
        return
    world = mpi.COMM_WORLD
    barrier = world.Ibarrier()
    deadline = time.monotonic() + patience
    while not barrier.Test():
        if time.monotonic() > deadline:
            print(f"[rank {world.Get_rank()}] {text}", file=sys.stderr, flush=True)
            world.Abort(1)
        time.sleep(0.01)
    if world.Get_rank() == 0:
        print(text, file=sys.stderr, flush=True)
