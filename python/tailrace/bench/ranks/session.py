"""One run of a benchmark from begin to end: directories, file of results, jobs."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from ..records.records import End
from ..records.results import ResultFile
from .description import describe, now
from .driver import Driver, JobError, Start, run_here
from .job import Job
from .progress import Progress
from .scratch_directory import ScratchDirectory

if TYPE_CHECKING:
    from mpi4py import MPI


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
        with ExitStack() as stack:  # undone if something fails
            self.directories = {
                name: stack.enter_context(ScratchDirectory(path)).path for name, path in directories.items()
            }
            self._results = stack.enter_context(ResultFile(out, append=append))
            self._results.add(self.record)
            self._progress = stack.enter_context(Progress())
            self._driver = Driver(self._results, self.record.run, limit, self._progress.show, watched)
            self._stack = stack.pop_all()
        self._former = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(self, job: Job, start: Start) -> None:
        """Run a job on ranks that `start` starts. If they do not start, a note says so."""
        self._progress.expect(job.program.tasks)
        try:
            self._driver.run(job, start)
        except JobError as error:
            self.unstarted += 1
            self._driver.notes.append(str(error))

    def run_here(self, job: Job, comm: MPI.Comm) -> None:
        """Run a job on the ranks of `comm`; called on rank 0. Collective."""
        self._progress.expect(job.program.tasks)
        run_here(job, comm, self._driver.take)

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
        finally:
            self._stack.close()
            for number, handler in self._former.items():
                signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """End this program as Ctrl-C does, so that ranks are ended and directories removed."""
    raise SystemExit(128 + number)
