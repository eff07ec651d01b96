"""The board of a run as a consumer: what `tailrace live` shows of a run while it computes."""

from __future__ import annotations

import math
import resource
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import InputError
from tailrace.fields.derived import DERIVED
from tailrace.io.names import COMPONENTS
from tailrace.live_run.board import Board
from tailrace.live_run.part import Part, part_of
from tailrace.live_run.wanted import Wanted
from tailrace.parallel import on_root
from tailrace.pictures.quantity import quantity
from tailrace.text import reason

from .consumer import Consumer

if TYPE_CHECKING:
    from pathlib import Path

    from mpi4py import MPI

    from tailrace.steps.step import Step

_PERIOD = 1.0  # seconds between two looks at the board
_SHARE = 0.005  # of the time, at most, that telling takes
_LOG = 400  # lines that are kept
_MEMORY = "memory"  # among the seconds of phases, in bytes


class Publisher(Consumer):
    """Tells a board about a run, and answers what pages ask there, in a small share of the time. Collective.

    What fails is told once and costs the page, not the run.

    :param path: of the board.
    :param fields: the names of the fields of steps.
    :param seconds: returns the time of this rank by phase.
    :param facts: returns what else is told, on rank 0.
    :param say: prints a line on rank 0.
    :param stop: called on rank 0 when a page asks the run to stop; None: no page may.
    :param goes_on: the run goes on with what an earlier one has begun, and so does its log.
    """

    def __init__(
        self,
        path: Path,
        comm: MPI.Comm,
        fields: Sequence[str],
        *,
        seconds: Callable[[], Mapping[str, float]],
        facts: Callable[[], Mapping[str, Any]],
        say: Callable[[str], None],
        stop: Callable[[], None] | None = None,
        goes_on: bool = False,
    ) -> None:
        super().__init__("live")
        self._comm, self._seconds, self._facts, self._say, self._stop = comm, seconds, facts, say, stop
        derived = [*DERIVED, "u", "vorticity"] if set(COMPONENTS) <= set(fields) else []
        self._fields = list(dict.fromkeys([*fields, *derived]))
        self._board: Board | None = None
        self._log: list[str] = []
        self._started = clock.monotonic()
        self._cost = 0.0  # seconds of the last look, on rank 0
        self._next, self._apart = 0, 1  # the step of the next look, and how many steps it is from the last
        self._looked: tuple[float, int] | None = None  # when the last look was, at which step
        self._failure = ""
        on_root(comm, lambda: self._open(path, goes_on=goes_on))

    def _open(self, path: Path, *, goes_on: bool) -> None:
        try:
            self._board = Board(path, control=self._stop is not None)
        except OSError as error:
            self._fail(error)
            return
        if goes_on and self._board.former is not None:
            self._log = self._board.former.log

    def note(self, line: str) -> None:
        """Keep a line of the log. Local, on rank 0."""
        self._log = [*self._log[1 - _LOG :], line]

    def wants(self, index: int, time: float) -> bool:
        """Whether it looks at the board after this step. Local."""
        return index >= self._next

    def take(self, step: Step) -> None:
        """Tell where the run is, and answer what pages ask."""
        began = clock.monotonic()
        names, asked = self._comm.bcast(self._look() if self._comm.rank == 0 else None)
        told = self._spread(names)
        for wanted in asked:
            part = self._part(step, wanted)
            if part is not None:
                self._try(partial(Board.answer, wanted=wanted, part=part))
        if self._comm.rank == 0:
            self._try(lambda board: board.keep(asked))
            self._tell("running", told)
            self._cost = clock.monotonic() - began
        self._plan(step.index)

    def _look(self) -> tuple[list[str], list[Wanted]]:
        """The names of the phases of rank 0, and what pages ask for."""
        asked: list[Wanted] = []
        if self._board is not None:
            asked = self._board.asked()
            if self._stop is not None and self._board.stop_asked():
                self._stop()
        return sorted(self._seconds()), asked

    def _spread(self, names: Sequence[str]) -> dict[str, list[float]]:
        """The least, mean and largest time of the ranks in each phase, and of their memory, on rank 0."""
        from mpi4py import MPI

        seconds = self._seconds()
        mine = np.array([*(seconds.get(name, 0.0) for name in names), _memory()], np.float64)
        rows = []
        for work in (MPI.MIN, MPI.SUM, MPI.MAX):
            found = np.empty_like(mine)
            self._comm.Reduce(mine, found, op=work)
            rows.append(found)
        rows[1] /= self._comm.size
        return {name: [float(row[at]) for row in rows] for at, name in enumerate([*names, _MEMORY])}

    def _part(self, step: Step, wanted: Wanted) -> Part | str | None:
        try:
            return part_of(quantity(step, wanted.field), wanted, step.index, step.time)
        except InputError as error:  # the same on all ranks
            return str(error)

    def _tell(self, state: str, told: Mapping[str, list[float]]) -> None:
        phases = {name: times for name, times in told.items() if name != _MEMORY}
        if self._try(
            lambda board: board.tell({
                "state": state, "ranks": self._comm.size, "elapsed": clock.monotonic() - self._started,
                "names": self._fields, "phases": phases, "memory": told.get(_MEMORY), "log": self._log,
                **self._facts(),
            })
        ):  # fmt: skip
            self._failure = ""

    def _try(self, work: Callable[[Board], None]) -> bool:
        """Whether it was done."""
        if self._board is None:
            return False
        try:
            work(self._board)
        except OSError as error:
            self._fail(error)
            return False
        return True

    def _fail(self, error: OSError) -> None:
        """Tell a failure, but not again as long as nothing could be told between."""
        where = "" if self._board is None else f"{self._board.path}: "
        why = f"{where}{error.strerror}" if error.strerror else reason(error)  # drafts have other names each time
        told = f"warning: the live page misses what the run tells: {why}"
        if told != self._failure:
            self._failure = told
            self._say(told)

    def _plan(self, index: int) -> None:
        """Choose the step of the next look by the clock of rank 0; a look that takes long comes seldom."""
        now = clock.monotonic()
        apart = 1
        if self._looked is not None:
            since, last = self._looked
            steps = (index - last) / max(now - since, 1e-9)  # in a second
            # The steps that come may take longer; a look that was dear is paid before the next one.
            apart = max(1, min(int(_PERIOD * steps), 2 * self._apart), math.ceil(self._cost / _SHARE * steps))
        self._looked = (now, index)
        self._apart = self._comm.bcast(apart)
        self._next = index + self._apart

    def end(self, state: str) -> None:
        """Tell how the run has ended. Local, on rank 0.

        :param state: "finished", "stopped", or "failed" and why.
        """
        seconds = {name: [spent] * 3 for name, spent in self._seconds().items()}
        self._tell(state, {**seconds, _MEMORY: [float(_memory())] * 3})

    def close(self) -> None:
        """Remove the answers. Closing twice does nothing."""
        self._try(lambda board: board.keep([]))


def _memory() -> int:
    """The bytes of memory that this process has used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
