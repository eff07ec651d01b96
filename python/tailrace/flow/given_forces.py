"""The forces that a model has to give to the solver: a function of users, and random forcing in a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.core import InputError
from tailrace.parallel import agree
from tailrace.text import named

from .band import BandForce
from .forcing import Forcing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.case import Case
    from tailrace.case.scripts import Force
    from tailrace.core import Flow32, Flow64, Grid


class GivenForces:
    """The sum of both, and what work it does. All methods are collective unless told local.

    :param given: a function of x, y, z and the time t in place of that of the case.
    :raises InputError: it is not a function, or the file of the case's fails.
    """

    def __init__(self, case: Case, flow: Flow32 | Flow64, grid: Grid, comm: MPI.Comm, given: Force | None) -> None:
        self._flow, self._jumps = flow, 0.0  # the power of the band force in the last step
        self.function = self._find(case, grid, comm, given)
        band = case.forcing.band
        self._band = BandForce(band, grid, flow.box) if band else None

    def _find(self, case: Case, grid: Grid, comm: MPI.Comm, given: Force | None) -> Forcing | None:
        if given is not None:
            if not callable(given):
                raise InputError(f"forcing must be a function of x, y, z, t; found {given!r}")
            return Forcing(given, f"forcing '{named(given)[0]}'", grid, self._flow.box, comm)
        own = agree(comm, case.body_force)
        return Forcing(own, str(case.case.forcing), grid, self._flow.box, comm) if own else None

    def __bool__(self) -> bool:
        return self.function is not None or self._band is not None

    @property
    def name(self) -> str:
        """Of the function, for checkpoints. Local."""
        return self.function.name if self.function else ""

    def set(self, time: float, step: int, dt: float) -> None:
        """Give the solver the force at a time in a step of this size."""
        parts = [self.function(time)] if self.function else []
        if self._band:
            parts.append(self._band(step, dt))
        self._sum(parts)

    def _sum(self, parts: Sequence[Sequence[NDArray[Any]]]) -> None:
        for i in range(3):
            self._flow.force(i)[...] = sum(part[i] for part in parts)

    def power(self, time: float, step: int, dt: float) -> tuple[float, float]:
        """<u . f> of the function now, and of the band force in the last step."""
        if self.function is None:
            return 0.0, self._jumps
        self._sum([self.function(time)])
        smooth = float(self._flow.force_power())
        if self._band:
            self.set(time, step, dt)
        return smooth, self._jumps

    def work_of_step(self, step: int, dt: float, advance: Callable[[], None]) -> float | None:
        """Make a step, and tell the work of the band force in it, which is another one in each step; None without."""
        if not self._band:
            advance()
            return None
        force = self._band(step, dt)
        self._sum([force])
        before = self._flow.force_power()
        advance()
        self._sum([force])
        self._jumps = float(before + self._flow.force_power()) / 2
        return self._jumps * dt
