"""Batch systems: what the head of a script is called, and how ranks are started in it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from .request import JobRequest, clock


class BatchSystem(ABC):
    """A batch system.

    :cvar mark: what a line of the head begins with.
    :cvar submit: the command that takes a script.
    :cvar here: the directory where the job was given, as a variable of the shell.
    :cvar each_node: a command of the shell that starts what follows on each node, one process there; "": there is none.
    :cvar number: of the job, as a variable of the shell; only where there is `each_node`.
    """

    name: ClassVar[str]
    mark: ClassVar[str]
    submit: ClassVar[str]
    here: ClassVar[str]
    each_node: ClassVar[str] = ""
    number: ClassVar[str] = ""

    @abstractmethod
    def head(self, job: JobRequest, margin: int) -> list[str]:
        """The lines of the head, without the user's own.

        :param margin: seconds before the limit at which ranks of `direct` get a signal.
        """

    @abstractmethod
    def direct(self, job: JobRequest) -> Sequence[str]:
        """The command whose ranks get a signal from the system before the limit; () if the system sends no signal."""


class Slurm(BatchSystem):
    """sbatch(1), srun(1) of Slurm."""

    name, mark, submit, here = "slurm", "#SBATCH", "sbatch", "SLURM_SUBMIT_DIR"
    each_node, number = 'srun --ntasks-per-node=1 -n "$SLURM_JOB_NUM_NODES"', "SLURM_JOB_ID"

    def head(self, job: JobRequest, margin: int) -> list[str]:
        """A job that is begun again after the failure of a node goes on with its log and its newest checkpoint."""
        lines = [
            f"--job-name={_name(job)}", f"--nodes={job.nodes}", f"--ntasks-per-node={job.ranks_per_node}",
            f"--time={clock(job.seconds)}", "--open-mode=append", "--requeue",
        ]  # fmt: skip
        if job.on_gpus:
            lines.append(f"--gpus-per-node={job.gpus_per_node}")
        return [*lines, f"--signal=USR1@{margin}"] if self.direct(job) else lines

    def direct(self, job: JobRequest) -> Sequence[str]:
        """srun; beside an analysis, which must not get the signal, it is left to `tailrace run -n`."""
        return () if job.beside else ("srun", "--cpu-bind=cores")


class Pbs(BatchSystem):
    """qsub of PBS Professional and OpenPBS."""

    name, mark, submit, here = "pbs", "#PBS", "qsub", "PBS_O_WORKDIR"

    def head(self, job: JobRequest, margin: int) -> list[str]:
        """One log for output and errors; see `Slurm.head`."""
        each, gpus = job.ranks_per_node, f":ngpus={job.gpus_per_node}" if job.on_gpus else ""
        return [
            f"-N {_name(job)}", f"-l select={job.nodes}:ncpus={each}:mpiprocs={each}{gpus}",
            "-l place=scatter",  # by default it may put the parts for several nodes on one
            f"-l walltime={clock(job.seconds)}", "-j oe", "-r y",
        ]  # fmt: skip

    def direct(self, job: JobRequest) -> Sequence[str]:
        """PBS sends a signal only seconds before it kills a job."""
        return ()


def _name(job: JobRequest) -> str:
    """The name in one word, which begins with a letter, as PBS wants it."""
    word = re.sub(r"[^A-Za-z0-9_.]+", "-", job.name).strip("-")
    return word if word[:1].isalpha() else f"run-{word}".strip("-")


SYSTEMS: dict[str, BatchSystem] = {one.name: one for one in (Slurm(), Pbs())}
