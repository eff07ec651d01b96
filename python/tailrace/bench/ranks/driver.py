"""Starts jobs of ranks one after the other and stores their measurements. A cell that fails does not end the rest."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from tailrace import processes
from tailrace.text import counted

from ..records.records import Failure, Measurement
from ..records.results import ResultFile
from .events import Begin, Done, Emit, Event, Note, event_of, nothing
from .job import Job, run_on
from .timing import meet_asleep

if TYPE_CHECKING:
    from mpi4py import MPI

Start = Callable[[int, list[str]], "subprocess.Popen[str]"]  # ranks, words of tailrace; both outputs are pipes
_PATIENCE = 20.0  # seconds that a job gets to end after the request
_START = 120.0  # seconds until the first event at least: thousands of ranks take their time to start
_LINES = 60  # the last lines of the errors of a job that are kept


class Driver:
    """Runs jobs and keeps their records.

    :param results: gets the records.
    :param run: the name of the run of the records.
    :param limit: seconds without an event after which the ranks count as hanging.
    :param progress: called with the number of finished tasks and a line about the current one.
    :param watched: the tool that watches the ranks, if any. It takes time, so the source of each cell names it.
    """

    def __init__(
        self,
        results: ResultFile,
        run: str,
        limit: float,
        progress: Callable[[int, str], None] = lambda *_: None,
        watched: str = "",
    ) -> None:
        self._watched = f"under {watched}" if watched else ""
        self._results, self._run, self._limit, self._progress = results, run, limit, progress
        self.failures = 0
        self.notes: list[str] = []
        self._begun: Begin | None = None
        self._done: set[tuple[int, int, str]] = set()
        self._failed: set[tuple[int, str]] = set()
        self.tasks = 0  # finished

    def run(self, job: Job, start: Start) -> None:
        """Run a job on ranks that `start` starts. If the ranks die, run the job again without the failed part."""
        while True:
            self._begun, self._done, self._failed = None, set(), set()
            error = _Ranks(start(job.ranks, ["bench", "ranks", job.to_word()]), self._limit).follow(self.take)
            if not error:
                return
            self._fail(error, job.ranks)
            job = job.without(self._done, self._failed)

    def take(self, event: Event) -> None:
        """Take an event of rank 0."""
        match event:
            case Begin():
                self._begun = event
                self._progress(self.tasks, f"round {event.round}: {event.cell.words()}")
            case Done():
                self._done.add((event.setting, event.round, event.variant))
                self._begun = None
                self.tasks += 1
                self._progress(self.tasks, "")
            case Note():
                if event.text not in self.notes:  # several jobs may send the same note
                    self.notes.append(event.text)
            case Measurement() | Failure():
                self._keep(event)

    def _keep(self, record: Measurement | Failure) -> None:
        source = ", ".join(filter(None, [record.cell.source, self._watched]))
        self._results.add(replace(record, run=self._run, cell=replace(record.cell, source=source)))
        wrong = isinstance(record, Measurement) and record.verified is False
        if wrong:
            self.notes.append(f"{record.cell.words()}: the values that were read are not those that were written")
        if wrong or isinstance(record, Failure):
            self.failures += 1
            if self._begun is not None:  # not tried again, not even by the job that replaces a dead one
                self._failed.add((self._begun.setting, self._begun.variant))

    def _fail(self, error: str, ranks: int) -> None:
        """Record a failure of the current cell, because the ranks died.

        :raises JobError: no cell was being measured.
        """
        if self._begun is not None:
            self._keep(Failure(self._begun.cell, self._begun.round, error))
        elif not self._done:
            raise JobError(f"{counted(ranks, 'rank')}: {error}")


def run_here(job: Job, comm: MPI.Comm, emit: Emit) -> None:
    """Run a job on the first ranks of `comm`; the others wait without using their cores. Collective.

    :param emit: gets the events, on rank 0.
    """
    inside = comm.Split(0 if comm.rank < job.ranks else 1, comm.rank)
    try:
        if comm.rank < job.ranks:
            run_on(inside, job, emit if comm.rank == 0 else nothing)
    finally:
        inside.Free()
    meet_asleep(comm)


def end(process: subprocess.Popen[str]) -> None:
    """End a job and its ranks: mpiexec forwards the first signal to the ranks.

    Ranks that outlive it would continue to write into a directory that is being removed.
    """
    if process.poll() is None:
        processes.stop(process, _PATIENCE)


class JobError(RuntimeError):
    """The ranks of a job do not start."""


class _Ranks:
    def __init__(self, process: subprocess.Popen[str], limit: float) -> None:
        self._process, self._limit = process, limit
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: deque[str] = deque(maxlen=_LINES)
        assert process.stdout is not None and process.stderr is not None
        self._threads = [
            threading.Thread(target=self._listen, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._collect, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _collect(self, stream: IO[str]) -> None:
        self._errors.extend(stream)

    def follow(self, take: Emit) -> str:
        """Pass events to `take` until the job ends. Returns why it failed, or "". In all cases the job is ended."""
        try:
            patience = max(self._limit, _START)
            while (line := self._lines.get(timeout=patience)) is not None:
                if (event := event_of(line)) is not None:
                    take(event)
                    patience = self._limit
            code = self._process.wait(_PATIENCE)
        except (queue.Empty, subprocess.TimeoutExpired):
            return f"the ranks hang: nothing happened for {self._limit:.0f} s, and they were ended"
        finally:
            end(self._process)
        return f"the ranks ended with code {code}{self._said()}" if code else ""

    def _said(self) -> str:
        """The most telling line of the errors; see `told`."""
        self._threads[1].join(_PATIENCE)
        return f": {said}" if (said := told(self._errors)) else ""


def told(errors: Iterable[str]) -> str:
    """The most telling line of errors: the first with an exception or a signal, else the last; "" if there is none."""
    lines = [line.strip() for line in errors if line.strip() and not set(line.strip()) <= set("-=")]
    named = [line for line in lines if line.split(":")[0].rsplit(".", 1)[-1].endswith(("Error", "Exception"))]
    killed = [line for line in lines if "signal" in line]
    return (named or killed or lines)[0 if named or killed else -1] if lines else ""
