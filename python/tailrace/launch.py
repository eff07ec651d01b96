"""Starting under MPI, and ending there together. Nothing here starts MPI by being imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

# What launchers tell their processes, in the order of Open MPI, MPICH and its kin, Slurm's and other PMIx starters.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE")
# After SIGTERM, Open MPI gives its processes one second before it kills them: too short for a checkpoint.
_SECONDS_TO_CHECKPOINT = "120"


class LaunchError(RuntimeError):
    """MPI cannot be started as asked."""


def _number(names: Sequence[str]) -> int | None:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


def size() -> int | None:
    """Ranks that a launcher started us with; None outside MPI. MPI itself is not asked, and not started."""
    return _number(_SIZES)


def rank() -> int:
    """The rank of this process; 0 outside MPI."""
    return _number(_RANKS) or 0


def start(ranks: int, arguments: Sequence[str]) -> None:
    """Become `mpiexec -n ranks tailrace arguments`: signals reach mpiexec and the exit code is its own.

    Returns where nothing is to be started: we run under MPI with that many ranks already, or one rank is asked for.

    :raises LaunchError: we run under MPI with another number of ranks, or there is no mpiexec.
    """
    present = size()
    if present is not None:
        if present != ranks:
            raise LaunchError(f"mpiexec started {present} ranks already, and -n asks for {ranks}; leave -n out")
        return
    if ranks == 1:
        return
    mpiexec = os.environ.get("TAILRACE_MPIEXEC") or shutil.which("mpiexec") or shutil.which("mpirun")
    if mpiexec is None:
        raise LaunchError("-n needs mpiexec, and there is none on the PATH; install MPI or set TAILRACE_MPIEXEC to it")
    command, environment = command_line(mpiexec, ranks, arguments, open_mpi=is_open_mpi(mpiexec))
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise LaunchError(f"{mpiexec} does not start: {error.strerror}") from None


def is_open_mpi(mpiexec: str) -> bool:
    """Whether an mpiexec is that of Open MPI, which needs to be told more."""
    try:
        answer = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "Open MPI" in answer or "OpenRTE" in answer


def command_line(
    mpiexec: str, ranks: int, arguments: Sequence[str], *, open_mpi: bool
) -> tuple[list[str], dict[str, str]]:
    """The command that starts the ranks, and its environment."""
    from tailrace.doctor import physical_cores

    environment = dict(os.environ)
    options: list[str] = []
    if open_mpi:
        environment.setdefault("OMPI_MCA_odls_base_sigkill_timeout", _SECONDS_TO_CHECKPOINT)
        if os.geteuid() == 0:  # a container: there is nobody else there
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # Under a scheduler the slots are those of its nodes, and too many ranks are its business to refuse.
        if ranks > physical_cores() and not any(name in os.environ for name in _SCHEDULERS):
            options.append("--oversubscribe")
    return [mpiexec, "-n", str(ranks), *options, sys.executable, "-m", "tailrace.cli", *arguments], environment


def end_together(text: str, patience: float = 10.0) -> None:
    """Tell a failure. Where all ranks fail it is told once and this returns; where others wait for us, MPI is aborted.

    :param patience: seconds to wait for the other ranks to fail as well.
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
