"""Programs on several ranks, each in its own process group, with a time limit that kills the whole group."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from helpers.harness.watcher import end_with_this_process
from tailrace.machine import MPI_FILES, mpi_alone

# Marks of a launcher in the environment: pytest itself may have been started by one.
_MARKS = ("OMPI_COMM", "PMI_", "PMIX_", "PALS_", "SLURM_")
OPTIONS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than cores: allowed, not bound to cores, and yielding while they wait.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
}

# Programs that are killed leave their files of MPI; those of all go with this process.
_PLACE = Path(tempfile.mkdtemp(prefix="tailrace-mpi-"))

# Limits only tell a program that hangs: a machine may be so many times as slow as the one that they were chosen on.
SLOWER = 4
_HELPERS = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Result:
    """The outcome of a program: `code` is negative where a signal ended it."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@atexit.register
def _clear(owner: int = os.getpid()) -> None:  # of the process that made the place, not of its children
    if os.getpid() == owner:
        shutil.rmtree(_PLACE, ignore_errors=True)


def environment() -> dict[str, str]:
    """The environment of this process, without the marks of a launcher. Programs that have it end with this process."""
    end_with_this_process()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_MARKS)}
    alone = mpi_alone()
    alone[MPI_FILES] = str(_PLACE / Path(alone[MPI_FILES]).name)
    return {**kept, **OPTIONS, **alone}


def start(command: Sequence[object], cwd: Path, more: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a program in a process group of its own, with `more` in its environment."""
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env={**environment(), **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",  # libraries print what is no text
        start_new_session=True,
        preexec_fn=_take_interrupts,
    )


def _take_interrupts() -> None:
    """The tests may run in the background of a shell, where programs ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process: subprocess.Popen[str], limit: float) -> Result:
    """Wait for a program; one that hangs is killed with all its children, and fails.

    :param limit: seconds that it takes at most on a machine that is not busy.
    """
    limit *= SLOWER
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill_session(process)
        out, err = process.communicate()
        pytest.fail(f"{process.args} did not end in {limit} s\n--- stdout\n{out}\n--- stderr\n{err}")
    return Result(process.returncode, out, err)


# Those of all that a program has started, as far as seen.
_SESSIONS: weakref.WeakKeyDictionary[subprocess.Popen[str], set[int]] = weakref.WeakKeyDictionary()


def members(process: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Process number and command line of `process` and of everything that it has started, by its start.

    MPICH gives each rank a session of its own. Numbers are no order: after the largest one the kernel begins again with
    small ones.
    """
    parents, sessions, found = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = _status(int(entry.name))
            command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue
        number = int(entry.name)
        parents[number], sessions[number] = int(status[1]), int(status[3])
        found[number] = int(status[19]), command
    ours = _SESSIONS.setdefault(process, {process.pid})
    inside: set[int] = set()
    while more := {one for one in parents if sessions[one] in ours or parents[one] in inside} - inside:
        inside |= more
        ours |= {sessions[one] for one in more}
    known = sorted((found[one][0], one, found[one][1]) for one in inside if found[one][1])
    return [(number, command) for _, number, command in known]


def parent(number: int) -> int:
    """Of a process; 0 of one that has ended."""
    try:
        return int(_status(number)[1])
    except OSError:
        return 0


def _status(number: int) -> list[str]:
    """What the kernel says of a process behind its name: state, parent, group, session; at 19 when it began."""
    return Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()


def kill_session(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Send a signal to `process` and everything that it has started."""
    for pid, _ in members(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def is_launcher(command: str) -> bool:
    """Whether a command line is that of a program that starts ranks: of Open MPI, of Open MPI 5, of MPICH."""
    return any(name in command for name in ("mpiexec", "prterun", "hydra_pmi"))


def rank_processes(process: subprocess.Popen[str], program: str = "tailrace.cli") -> list[int]:
    """The process numbers of the ranks, in order of their start.

    A program that a rank is about to start has the rank's command line for a moment: it is no rank.
    """
    found = [number for number, command in members(process) if program in command and not is_launcher(command)]
    return [number for number in found if parent(number) not in {0, *found}]


def tailrace_command(*arguments: object, ranks: int | None = None) -> list[str]:
    """`tailrace ARGUMENTS`, with `ranks` under mpiexec as users start it."""
    command = [sys.executable, "-m", "tailrace.cli", *map(str, arguments)]
    return command if ranks is None else [*mpiexec(ranks), *command]


def mpiexec(ranks: int) -> list[str]:
    found = shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec")
    return [found, "-n", str(ranks)]


def start_module(
    module: ModuleType,
    *arguments: object,
    cwd: Path,
    ranks: int | None = None,
    aborting: bool = False,
    more: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a module of helpers as a program.

    :param aborting: a rank that raises ends the others too.
    """
    runner = ["-m", "mpi4py", "-m"] if aborting else ["-m"]
    command = [*(mpiexec(ranks) if ranks else []), sys.executable, *runner, module.__name__, *arguments]
    return start(command, cwd, {"PYTHONPATH": _HELPERS, **(more or {})})


def tailrace(*arguments: object, cwd: Path, ranks: int | None = None, limit: float = 120) -> Result:
    """Run `tailrace ARGUMENTS` to its end."""
    return finish(start(tailrace_command(*arguments, ranks=ranks), cwd), limit)
