"""The time step of a flow: given, or `dt = "auto"`: chosen by the velocity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .stability import stability_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.core import Grid

EVERY = 10  # steps between two evaluations
_GROWTH = 1.1  # at most, from one evaluation to the next
# Of the largest stable step, by convection and viscosity together. Convection alone is stable up to CFL numbers of
# 0.87; the largest `cfl` that a case may ask for is below this share of it.
_SAFETY = 0.9


class TimeStep:
    """The nominal step: `size`, before a step is shortened to end at a time. Collective over `comm`.

    With `dt = "auto"` the step is the smallest of cfl / rate, with rate = max over nodes of sum |u_d| / h_d, and what
    scalars settle by (`settling_rate`); of a share
    of the largest step that is stable by convection and viscosity together (`stability`); of `dt_max`; and of 1.1 times
    the step before. A flow at rest has the limits of viscosity and `dt_max`. The step is evaluated before each of the
    first ten steps, in which a flow at rest may be set in motion by a force, and then before every tenth, counted from
    the start of the flow. So it depends on the velocity there and on the step before alone: the size
    is part of a checkpoint, and a resumed run takes the same steps to the last bit.

    """

    def __init__(self, case: Case, grid: Grid, comm: MPI.Comm) -> None:
        self._wanted, self._comm = case.time, comm
        self._stability = stability_of(case, grid)
        self._known = not self.changes
        self.size = 0.0 if case.time.dt == "auto" else case.time.dt

    @property
    def changes(self) -> bool:
        """Whether it is chosen by the velocity. Local."""
        return self._wanted.dt == "auto"

    @property
    def remedy(self) -> str:
        """What to change where the flow is unstable. Local."""
        return "reduce time.cfl, or give time.dt_max" if self.changes else "reduce time.dt"

    def restore(self, size: float | None) -> None:
        """Go on from the step of a checkpoint; None: it does not say it, and the next evaluation is free. Local."""
        if self.changes:
            self._known = size is not None
            self.size = size or 0.0

    def update(self, step: int, rate: Callable[[], float]) -> None:
        """Evaluate the step that begins after `step` steps, where that is due: once, right before it is taken.

        :param rate: computes the largest sum |u_d| / h_d, collectively.
        """
        if self._known and step > 0:
            if self.changes and (step % EVERY == 0 or step < EVERY):
                self._take(min(self._limit(rate()), _GROWTH * self.size))
        elif self.changes:  # the velocity of step 0 may be set after `begin`
            self._take(self._limit(rate()))

    def begin(self, rate: Callable[[], float]) -> None:
        """Evaluate the step where it is not known yet; it may jump."""
        if self.changes and not self._known:
            self._take(self._limit(rate()))

    def limit(self, rate: Callable[[], float]) -> None:
        """Shorten the step where the velocity was changed and does not allow it any more."""
        if self.changes and self._known:
            self._take(min(self.size, self._limit(rate())))

    def _take(self, size: float) -> None:
        self.size = self._comm.bcast(size)  # processors of another kind may round otherwise
        self._known = True

    def _limit(self, rate: float) -> float:
        wanted = self._wanted
        assert wanted.cfl is not None  # `Case` sees to it
        limits = [_SAFETY * self._stability.largest_step(rate)]
        if rate > 0:
            limits.append(wanted.cfl / rate)
        if wanted.dt_max is not None:
            limits.append(wanted.dt_max)
        return min(limits)


def settling_rate(case: Case, grid: Grid) -> float:
    """The largest sum |w_d| / h_d of the velocities at which scalars settle, with the smallest distances of nodes."""
    apart = [float(np.diff(grid.coordinates(d)).min(initial=math.inf)) for d in range(3)]
    return max((sum(abs(w) / h for w, h in zip(one.settling, apart, strict=True)) for one in case.scalar), default=0.0)
