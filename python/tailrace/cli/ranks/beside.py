"""A simulation and its analysis as two jobs, connected by a stream and started by one command."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tailrace import processes
from tailrace.core import FileLock, IoError  # does not start MPI
from tailrace.files.command_line import hand_over
from tailrace.files.regular import open_regular
from tailrace.replay.run_beside import tell_end

from . import launch, mpi_messages, pumps
from .launcher import LaunchError
from .lost_ranks import LostRanks
from .stop_signals import StopSignals

if TYPE_CHECKING:
    from tailrace.case.case import Case

_WAIT_FOR_READER = 60  # seconds that the first step waits for the analysis, so that the analysis gets every step
_GRACE = 15.0  # seconds that the analysis has to end after the simulation has failed, or after it was told to end
# Seconds that the analysis may make no progress after the simulation has ended: with a process that a signal has
# stopped; and without using any processor time, as if it waited for something outside.
_STOPPED, _IDLE = 20.0, 600.0
_PREFIX = ".tailrace-beside-"


def with_stream(
    case: Case, path: str, fields: Sequence[str], every: int | None, policy: str = "block", interface: str | None = None
) -> Case:
    """The case with one more output: the stream for the analysis.

    :param every: number of steps between two outputs; None means the interval of the time series.
    :param interface: the network interface of the stream; None means that of the name of the host.
    """
    from tailrace.case.sections.output_section import OutputSection

    taken = {output.name for output in case.output}
    name = next(name for name in (f"beside{number or ''}" for number in range(len(taken) + 1)) if name not in taken)
    precision = "float64" if case.numerics.precision == "double" else "float32"
    network = {} if interface is None else {"NetworkInterface": interface}
    section = OutputSection.model_validate({
        "name": name, "fields": list(fields), "every": every or case.diagnostics.every, "engine": "sst", "path": path,
        "precision": precision, "parameters": {"wait_for_reader": _WAIT_FOR_READER, "policy": policy, **network},
    }, context={"scalars": [scalar.name for scalar in case.scalar]})  # fmt: skip
    return case.with_output(section)


def start(simulation: Sequence[str], ranks: int, analysis: Sequence[str], analysis_ranks: int) -> int:
    """Run the simulation and the analysis until both end.

    :param simulation, analysis: arguments of `tailrace`, without the option for the stream.
    :returns: the exit code of the simulation, or 1 if only the analysis failed.
    :raises LaunchError: the simulation or the analysis cannot be started.
    """
    # Not in /tmp: the ranks may run on different machines, which share only the working directory.
    _remove_leftovers(Path())
    folder, lock = _claim(Path())
    try:
        stream = folder / "stream"
        first = launch.job(ranks, [*simulation, f"--beside-stream={stream}"], alone=False)
        second = launch.job(analysis_ranks, [*analysis, f"sst:{stream}"], alone=False)
        for one in (first, second):
            hand_over(one.environment)
        with _Pair(first, ranks, second, analysis_ranks, stream) as pair:
            return pair.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _claim(place: Path) -> tuple[Path, FileLock]:
    """A new folder, and the lock that shows that its program lives. The lock comes first, so every folder has one."""
    folder = place / f"{_PREFIX}{secrets.token_hex(4)}"
    lock = FileLock(str(folder))
    try:
        folder.mkdir(mode=0o700)
    except OSError:
        lock.release()
        raise
    return folder, lock


def _remove_leftovers(place: Path) -> None:
    """Remove the folders of killed programs: those whose lock can be taken. Folders without a lock stay."""
    for file in place.glob(f"{_PREFIX}*.lock"):
        folder = file.with_suffix("")
        if folder.is_symlink() or _is_held(file):
            continue
        with contextlib.suppress(IoError):  # its program is on another machine, or it is a file of something else
            lock = FileLock(str(folder))
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def _is_held(file: Path) -> bool:
    """Whether a lock is held, as far as this machine can see. Unlike taking it, this never waits."""
    try:
        with open_regular(file, "r+b") as opened:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    return False


class _Pair:
    """The two jobs. The first signal asks the simulation to stop, which ends the stream. The second one stops both."""

    def __init__(
        self, simulation: launch.LaunchCommand, ranks: int, analysis: launch.LaunchCommand, analysis_ranks: int,
        stream: Path,
    ) -> None:  # fmt: skip
        self._ranks, self._stream = analysis_ranks, stream
        self._launchers = simulation.launcher, analysis.launcher
        self._ended: int | None = None  # the signal that has ended the analysis, if it did not end by itself
        self._signals = StopSignals(self._stop_both)
        self._analysis = launch.begin(analysis, subprocess.PIPE)
        try:
            # One rank draws its progress on a terminal; mpiexec would be ended where nobody reads it.
            self._simulation = launch.begin(simulation, subprocess.PIPE if ranks > 1 else None)
        except LaunchError:
            self._analysis.terminate()
            raise
        self._lost = LostRanks(self._simulation.pid, ranks), LostRanks(self._analysis.pid, analysis_ranks)
        pipes = ((self._analysis.stdout, sys.stdout), (self._analysis.stderr, sys.stderr))
        self._pumps = [threading.Thread(target=_pump, args=pair, daemon=True) for pair in pipes]
        assert self._simulation.stderr is not None
        self._pumps.append(pumps.errors_of(self._simulation.stderr.buffer))  # type: ignore[attr-defined] # of a TextIOWrapper
        if self._simulation.stdout is not None:
            self._pumps.append(pumps.output_of(self._simulation.stdout.buffer))  # type: ignore[attr-defined]

    def __enter__(self) -> _Pair:
        self._signals.__enter__()
        for pump in self._pumps[:2]:
            pump.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.__exit__()

    def _stop_both(self) -> None:
        self._ended = signal.SIGTERM
        self._simulation.terminate()
        self._analysis.terminate()

    def wait(self) -> int:
        told, why = False, ""
        launcher = self._launchers[0]
        request = launch.LaunchRequest(self._simulation, launcher.ask, launcher.shows_ranks)
        while self._simulation.poll() is None and not why:
            if self._signals.first:
                request.make()
            if self._analysis.poll() is not None and not told:
                told = True
                self._say(f"the analysis ended {_how(self._analysis_code())}; the simulation continues")
            if not told and (why := self._lost[1].stuck()):
                self._stop_analysis(why)
            if why := self._lost[0].stuck():
                self._stop("simulation", self._simulation, why)
            time.sleep(0.05)
        sent = launcher.ask if self._signals.first else None
        code = 1 if why else launcher.exit_code(self._simulation.returncode, sent)
        tell_end(self._stream)
        self._end_analysis(code)
        for pump in self._pumps:
            pump.join(10)
        failed = self._analysis_code() != 0
        if failed and not told:
            self._say(f"the analysis ended {_how(self._analysis_code())}")
        return code or (1 if failed else 0)

    def _end_analysis(self, code: int) -> None:
        """Let the analysis finish its steps; for a limited time if the simulation failed, or nothing moves."""
        stopped_well = code in (0, 128 + signal.SIGTERM)
        deadline, watch = time.monotonic() + _GRACE, _Watch(self._analysis.pid, self._ranks)
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._analysis.wait(0.5)
                return
            why = "the simulation failed" if time.monotonic() > deadline else ""
            if stopped_well:
                why = watch.stands_still() or self._lost[1].stuck()
            if why:
                self._stop_analysis(why)
                return

    def _analysis_code(self) -> int | None:
        """Its exit code; None: it has not ended, although it was killed."""
        given = self._analysis.returncode
        return None if given is None else self._launchers[1].exit_code(given, self._ended)

    def _stop_analysis(self, why: str) -> None:
        self._ended = signal.SIGTERM
        self._stop("analysis", self._analysis, why)

    def _stop(self, name: str, process: subprocess.Popen[str], why: str) -> None:
        self._say(f"{why}, and the {name} is stopped")
        processes.stop(process, _GRACE)

    def _say(self, text: str) -> None:
        print(f"tailrace: {text}", file=sys.stderr, flush=True)


class _Watch:
    """Whether a job makes progress, as far as it runs on this machine."""

    def __init__(self, number: int, ranks: int) -> None:
        self._number, self._ranks = number, ranks
        self._ticks = -1
        self._moved = self._ran = time.monotonic()

    def stands_still(self) -> str:
        """Why the job will not end by itself; "" while it may."""
        found, now = processes.family(self._number), time.monotonic()
        stopped = [one.number for one in found if one.state == "T"]
        if not stopped:
            self._ran = now
        elif now - self._ran > _STOPPED:
            return f"process {stopped[0]} of the analysis has been stopped by a signal for {_STOPPED:g} s"
        ticks = sum(one.ticks for one in found)
        all_here = sum(one.program == sys.executable for one in found) >= self._ranks
        if ticks != self._ticks or not all_here:
            self._ticks, self._moved = ticks, now
        elif now - self._moved > _IDLE:
            return f"the analysis has used no processor time for {_IDLE:g} s"
        return ""


def _pump(source: IO[str], target: IO[str]) -> None:
    """Print the output of the analysis with a mark in front of each line."""
    found = mpi_messages.Filter()
    with source:
        for line in itertools.chain(source, [None]):  # as the lines come; None is the end
            shown = found.close() if line is None else found.feed(line)
            for one in shown.splitlines():
                print(f"[analysis] {one}", file=target, flush=True)


def _how(code: int | None) -> str:
    if code is None:
        return "not, although it was killed"
    return "well" if code == 0 else f"with exit code {code}"
