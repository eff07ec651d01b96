"""A simulation and its analysis as two jobs, connected by a stream and started by one command."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

from . import launch

if TYPE_CHECKING:
    from tailrace.case.case import Case

_WAIT_FOR_READER = 60  # seconds that the first step waits for the analysis, so that the analysis gets every step
_GRACE = 15.0  # seconds that the analysis has to end after the simulation has failed


def with_stream(case: Case, path: str, fields: Sequence[str], every: int | None, policy: str = "block") -> Case:
    """The case with one more output: the stream for the analysis. Local.

    :param every: number of steps between two outputs; None means the interval of the time series.
    """
    from tailrace.case.sections import OutputSection

    taken = {output.name for output in case.output}
    name = next(name for name in (f"beside{number or ''}" for number in range(len(taken) + 1)) if name not in taken)
    precision = "float64" if case.numerics.precision == "double" else "float32"
    section = OutputSection.model_validate({
        "name": name, "fields": list(fields), "every": every or case.diagnostics.every, "engine": "sst", "path": path,
        "precision": precision, "parameters": {"wait_for_reader": _WAIT_FOR_READER, "policy": policy},
    })  # fmt: skip
    return case.model_copy(update={"output": [*case.output, section]})


def start(simulation: Sequence[str], ranks: int, analysis: Sequence[str], analysis_ranks: int) -> int:
    """Run the simulation and the analysis until both end.

    :param simulation, analysis: arguments of `tailrace`, without the option for the stream.
    :returns: the exit code of the simulation, or 1 if only the analysis failed.
    :raises LaunchError: the simulation or the analysis cannot be started.
    """
    # Not in /tmp: the ranks may run on different machines, which share only the working directory.
    folder = Path(tempfile.mkdtemp(prefix=".tailrace-beside-", dir="."))
    try:
        stream = folder / "stream"
        first = launch.job(ranks, [*simulation, f"--beside-stream={stream}"], alone=False)
        second = launch.job(analysis_ranks, [*analysis, f"sst:{stream}"], alone=False)
        with _Pair(first, second) as pair:
            return pair.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_Job = tuple[list[str], dict[str, str], signal.Signals]


class _Pair:
    """The two jobs. The first signal asks the simulation to stop, which ends the stream. The second one stops both."""

    def __init__(self, simulation: _Job, analysis: _Job) -> None:
        self._ask, self._asked = simulation[2], False
        self._analysis = _begin(analysis, piped=True)
        try:
            self._simulation = _begin(simulation, piped=False)
        except launch.LaunchError:
            self._analysis.terminate()
            raise
        pipes = ((self._analysis.stdout, sys.stdout), (self._analysis.stderr, sys.stderr))
        self._pumps = [threading.Thread(target=_pump, args=pair, daemon=True) for pair in pipes]

    def __enter__(self) -> _Pair:
        self._former = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        for pump in self._pumps:
            pump.start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._asked:
            self._simulation.send_signal(self._ask)
        else:
            self._simulation.terminate()
            self._analysis.terminate()
        self._asked = True

    def wait(self) -> int:
        told = False
        while self._simulation.poll() is None:
            if self._analysis.poll() is not None and not told:
                told = True
                self._say(f"the analysis ended {_how(self._analysis.returncode)}; the simulation continues")
            time.sleep(0.05)
        code = _code(self._simulation.returncode)
        self._end_analysis(code)
        for pump in self._pumps:
            pump.join(10)
        failed = self._analysis.returncode != 0
        if failed and not told:
            self._say(f"the analysis ended {_how(self._analysis.returncode)}")
        return code or (1 if failed else 0)

    def _end_analysis(self, code: int) -> None:
        """Let the analysis finish its steps. If the simulation has failed, wait only for a limited time."""
        stopped_well = code in (0, 128 + signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._analysis.wait(None if stopped_well else _GRACE)
            return
        self._say("the simulation failed, and the analysis is stopped")
        self._analysis.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._analysis.wait(_GRACE)
            return
        self._analysis.kill()
        self._analysis.wait()

    def _say(self, text: str) -> None:
        print(f"tailrace: {text}", file=sys.stderr, flush=True)


def _begin(job: _Job, *, piped: bool) -> subprocess.Popen[str]:
    command, environment, _ = job
    pipe = subprocess.PIPE if piped else None
    try:
        # Each job has its own process group: Ctrl-C reaches only this program, which then stops the jobs in order.
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
            errors="replace", process_group=0, preexec_fn=launch.die_with_parent,
        )  # fmt: skip
    except OSError as error:
        raise launch.LaunchError(f"{command[0]} does not start: {error.strerror}") from None


def _pump(source: IO[str], target: IO[str]) -> None:
    """Print the output of the analysis with a mark in front of each line."""
    for line in _lines(source):
        print(f"[analysis] {line}", file=target, flush=True)


def _lines(source: IO[str]) -> Iterator[str]:
    with source:
        for line in source:
            yield line.rstrip("\n")


def _code(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned


def _how(returned: int) -> str:
    return "well" if returned == 0 else f"with exit code {_code(returned)}"
