"""The program that starts ranks: mpiexec of Open MPI, of MPICH and its relatives, or srun of Slurm."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tailrace.machine import physical_cores, without_own_files

Kind: TypeAlias = Literal["open mpi", "mpich", "srun", "none"]

_OURS = 3  # the largest exit code of ours, and of those of several ranks together, below 128
_SIGNALS = 32
_SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE")
# The rank ignores SIGUSR1 until its handler is set: otherwise a request would end the ranks that start last.
_NOT_YET = 'trap "" USR1; '
# Foreign programs may connect to Open MPI's ports; with poll, waiting ranks would check each such connection again and
# again. mpiexec itself cannot use epoll, which refuses an input that is a file.
_EPOLL = 'export OMPI_MCA_opal_event_include="${OMPI_MCA_opal_event_include-epoll}"; '


class LaunchError(RuntimeError):
    """MPI cannot be started as requested."""


@dataclass(frozen=True)
class Launcher:
    """What starts ranks.

    :param words: the program, and options that the user wants, such as those of placement.
    :param kind: "none": one rank, which is the program itself.
    """

    words: tuple[str, ...]
    kind: Kind

    @property
    def ask(self) -> signal.Signals:
        """The signal by which ranks are asked to end.

        Open MPI would kill them one second after it forwards a SIGTERM, and srun kills them at once.
        """
        return signal.SIGTERM if self.kind in ("mpich", "none") else signal.SIGUSR1

    @property
    def shows_ranks(self) -> bool:
        """Whether ranks on this machine are below it, as processes. Those of srun are not."""
        return self.kind != "srun"

    def exit_code(self, given: int, sent: int | None) -> int:
        """The exit code of a job; of one that a signal has ended, 128 and the signal.

        mpiexec of MPICH gives the signal alone where one has ended a rank. Where it was sent a signal itself, it gives
        0 now and then, whatever the ranks gave: then they count as ended by it.

        :param given: what the launcher gave; negative: the signal that has ended it.
        :param sent: the signal that it was sent, if any.
        """
        if given < 0:
            return 128 - given
        if self.kind == "mpich" and given == 0 and sent:
            return 128 + sent
        return 128 + given if self.kind == "mpich" and _OURS < given < _SIGNALS else given

    def command(self, ranks: int, arguments: Sequence[str], *, alone: bool = True) -> tuple[list[str], dict[str, str]]:
        """The command that starts `tailrace arguments` on so many ranks, and its environment.

        :param alone: whether no other job uses these processors.
        """
        environment, options = without_own_files(), list[str]()
        if not alone and self.kind != "srun":
            # Under Slurm they start their daemons by srun, and the second one would wait until the first has ended.
            environment.setdefault("SLURM_OVERLAP", "1")
        if self.kind == "open mpi":
            if os.geteuid() == 0:  # in a container, programs usually run as root
                environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            if not alone:  # otherwise both mpiexec would bind their ranks to the same first cores
                options += ["--bind-to", "none"]
                # And fill the same first nodes, where the user does not say how they are placed.
                if len(self.words) == 1 and not any("mapping_policy" in name for name in environment):
                    options += ["--map-by", "node", "--rank-by", "slot"]
            # Under a scheduler, the number of slots comes from its nodes, and the scheduler refuses too many ranks.
            if ranks > physical_cores() and not any(name in os.environ for name in _SCHEDULERS):
                options.append("--oversubscribe")
            options += ["sh", "-c", f'{_NOT_YET}{_EPOLL}exec "$@"', "sh"]
        elif self.kind == "mpich":
            # That of Intel would not hand a request to end on to the ranks, but kill them.
            environment.setdefault("I_MPI_JOB_SIGNAL_PROPAGATION", "enable")
        elif self.kind == "srun":
            if not alone:  # otherwise the first would take all processors of the allocation, and the second would wait
                options.append("--exact")
                if not any(word.startswith("--mem") for word in self.words):
                    options.append("--mem=0")  # the memory of the job is for both, not for the first
            options += ["sh", "-c", f'{_NOT_YET}exec "$@"', "sh"]
        program = [sys.executable, "-m", "tailrace.cli", *arguments]
        return [*self.words, "-n", str(ranks), *options, *program], environment


def find() -> Launcher:
    """The launcher that TAILRACE_MPIEXEC names, or mpiexec, or in a job of Slurm without it srun.

    :raises LaunchError: nothing is found that starts ranks.
    """
    wanted = os.environ.get("TAILRACE_MPIEXEC", "")
    if wanted:
        words = (wanted,) if Path(wanted).exists() else tuple(shlex.split(wanted))
        return Launcher(words, _kind(words[0]))
    found = shutil.which("mpiexec") or shutil.which("mpirun")
    if found is None and "SLURM_JOB_ID" in os.environ:
        found = shutil.which("srun")
    if found is None:
        raise LaunchError(
            "-n needs mpiexec, or srun in a job of Slurm, and neither is on the PATH; install MPI or set "
            "TAILRACE_MPIEXEC to it"
        )
    # Open MPI takes the folder above that of its program as its own, and has none above /bin, which leads to /usr/bin.
    found = str(Path(found).parent.resolve() / Path(found).name)
    return Launcher((found,), _kind(found))


def _kind(program: str) -> Kind:
    if Path(program).name == "srun":
        return "srun"
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "mpich"
    return "open mpi" if "Open MPI" in answer or "OpenRTE" in answer else "mpich"
