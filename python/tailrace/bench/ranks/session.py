"""One run of a benchmark from begin to end: directories, file of results, jobs."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from ..records.records import End, Interruption
from ..records.results import ResultError, ResultFile
from .description import describe, now
from .driver import Driver, JobError, Start, end, run_here
from .job import Job
from .job_plan import JobPlan
from .progress import Progress
from .scratch_directory import ScratchDirectory

if TYPE_CHECKING:
    from mpi4py import MPI


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME = 1.0  # seconds within which a second Ctrl-C is the same request: timeout(1) sends a signal twice


class BenchSession:
    """A run that leaves a valid file of results and no other data, however it ends.

    :param directories: the measured directories by name.
    :param out: the file of results; an existing one is an error unless `append`.
    :param limit: seconds without progress after which ranks are ended.
    :param nodes: the number of nodes of the ranks.
    :param notes: further notes in the description of the run.
    :param watched: the tool that watches the ranks and takes their time; the source of each cell names it.
    :raises OSError: a directory or the file cannot be written.
    """

    def __init__(
        self,
        directories: Mapping[str, Path],
        out: Path,
        *,
        limit: float = 300.0,
        append: bool = False,
        nodes: int = 1,
        notes: Iterable[str] = (),
        watched: str = "",
    ) -> None:
        self._stack = ExitStack()
        self.record = describe(directories, nodes, notes)
        self.unstarted = 0
        self.stopped: int | None = None  # the signal that ends this program
        self._asked = 0.0  # when it came
        self._starts = False  # whether a job is being started
        # Ends all ranks of a job of MPI. Unwinding this rank alone would wait for the others in collective calls.
        self.end_job: Callable[[], None] | None = None
        self._plan = JobPlan()
        with ExitStack() as stack:  # undone if something fails
            self.directories = {
                name: stack.enter_context(ScratchDirectory(path)).path for name, path in directories.items()
            }
            self._results = stack.enter_context(ResultFile(out, append=append))
            self._results.add(self.record)
            self._progress = stack.enter_context(Progress())
            self._driver = Driver(self._results, self.record.run, limit, self._progress.show, watched)
            self._stack = stack.pop_all()
        self._former = {number: signal.signal(number, self._stop) for number in _SIGNALS}

    def expect(self, jobs: Sequence[Job]) -> None:
        """All jobs of the run, in their order; an interruption says which part of them is missing."""
        self._plan = JobPlan(tuple(jobs))

    def run(self, job: Job, start: Start) -> None:
        """Run a job on ranks that `start` starts. If they do not start, a note says so."""
        self._begin(job)
        try:
            self._driver.run(job, partial(self._started, start))
        except JobError as error:
            self.unstarted += 1
            self._driver.notes.append(str(error))

    def _started(self, start: Start, ranks: int, words: list[str]) -> subprocess.Popen[str]:
        """Start a job. A signal meanwhile waits for it: ranks that nobody knows yet would not be ended."""
        self._starts = True
        try:
            process = start(ranks, words)
        finally:
            self._starts = False
        if self.stopped is not None:
            end(process)
            raise SystemExit(128 + self.stopped)
        return process

    def run_here(self, job: Job, comm: MPI.Comm) -> None:
        """Run a job on the ranks of `comm`; called on rank 0. Collective."""
        self._begin(job)
        run_here(job, comm, self._driver.take)

    def _begin(self, job: Job) -> None:
        self._progress.expect(job.program.tasks)
        self._plan.begin(job, self._driver.tasks)

    @property
    def failures(self) -> int:
        """The number of cells that have failed, and of jobs that did not start."""
        return self._driver.failures + self.unstarted

    @property
    def notes(self) -> list[str]:
        """Notes for the user besides failed cells."""
        return self._driver.notes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None:
                self._results.add(End(self.record.run, now(), self.failures))
            else:
                with suppress(ResultError):  # the disk may be full, and the error be this
                    self._results.add(self._interruption(kind))
        finally:
            self._stack.close()
            if self.stopped is None:  # else later signals are the same request
                for number, handler in self._former.items():
                    signal.signal(number, handler)

    def _interruption(self, kind: type[BaseException] = SystemExit) -> Interruption:
        if self.stopped is None:
            by = f"an error ({kind.__name__})"
        else:
            by = "Ctrl-C" if self.stopped == signal.SIGINT else signal.Signals(self.stopped).name
        return Interruption(self.record.run, now(), by, self._plan.missing(self._driver.tasks))

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """End this program so that ranks are ended and directories removed; a second Ctrl-C ends it at once."""
        if self.stopped is None:
            self.stopped, self._asked = number, time.monotonic()
            if self.end_job is not None:
                with suppress(ResultError):  # whatever fails here, the ranks must end
                    self._results.add(self._interruption())
                with suppress(OSError):
                    self._stack.close()
                self.end_job()
            if self._starts:
                return
            raise SystemExit(128 + number)
        if number == signal.SIGINT and time.monotonic() - self._asked > _SAME:
            raise KeyboardInterrupt
