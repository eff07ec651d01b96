"""Functions of users that a simulation calls when it has reached a step or a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.analysis.calls import call_together
from tailrace.case.schedule import Schedule
from tailrace.core import InputError
from tailrace.text import named

if TYPE_CHECKING:
    from mpi4py import MPI


class Callback(NamedTuple):
    """One function, and when it is due."""

    work: Callable[[Any], object]
    schedule: Schedule


class Callbacks:
    """The functions, in the order in which they were added.

    :param step: the step that the simulation begins with.
    :param called: the number of functions that were already called in its state.
    """

    def __init__(self, step: int, called: int) -> None:
        self._all: list[Callback] = []
        self._step, self._called = step, called
        self._busy = False

    def add(self, work: Callable[[Any], object], schedule: Schedule) -> None:
        """Add a function. Raises InputError if it cannot be called."""
        if not callable(work):
            raise InputError(f"a callback must be a function of the simulation; found {work!r}")
        self._all.append(Callback(work, schedule))

    def next_times(self, time: float) -> list[float | None]:
        """The next times at which a step must end exactly."""
        return [one.schedule.next_time(time) for one in self._all]

    def called(self, step: int) -> int:
        """The number of due functions that have been called in the state after `step` steps."""
        return self._called if self._step == step else 0

    def check_idle(self) -> None:
        """Check that none of them is at work. Raises InputError if one is."""
        if self._busy:
            raise InputError("a callback must not step the simulation that calls it")

    def call(self, simulation: Any, comm: MPI.Comm) -> bool:
        """Call the functions that are due and have not been called in this state. Collective.

        :param comm: see `call_together`.
        :returns: whether a function was called.
        :raises AnalysisError: one failed, on any rank.
        """
        step, time = simulation.step, simulation.time
        due = [one for one in self._all if one.schedule.due(step, time)][self.called(step) :]
        self._busy = True
        try:
            for one in due:
                name, path = named(one.work)
                call_together(
                    comm, lambda work=one.work: work(simulation),  # type: ignore[misc]
                    label=f"callback '{name}'", path=path, where=f"at step {step}, t = {time:g}",
                )  # fmt: skip
                self._step, self._called = step, self.called(step) + 1
        finally:
            self._busy = False
        return bool(due)


def checked_times(times: Sequence[float] | float) -> list[float]:
    """Times of a callback, rising.

    :raises InputError: one is not a number, is not finite or is negative; or there are no times.
    """
    try:
        found = sorted({float(time) for time in (times if hasattr(times, "__iter__") else [times])})
    except (TypeError, ValueError):
        found = []
    if not found or not all(math.isfinite(time) and time >= 0 for time in found):
        raise InputError(f"the times of a callback must be numbers from 0 on, as [1.0, 2.5]; found {times!r}")
    return found
