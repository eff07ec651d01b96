"""Body forces: functions of users of (x, y, z, t)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.case.scripts import Force

from .initial.values import evaluate

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.core import Grid


class Forcing:
    """A force on the nodes of this rank's box, evaluated at a time.

    :param work: a function of x, y, z, t that returns three arrays or numbers. It must not communicate.
    :param name: for messages and checkpoints.
    """

    def __init__(self, work: Force, name: str, grid: Grid, box: tuple[Any, Any], comm: MPI.Comm) -> None:
        self.name = name
        self._work, self._grid, self._box, self._comm = work, grid, box, comm

    def __call__(self, time: float) -> list[NDArray[Any]]:
        """The three components, each (nz, ny, nx). Collective.

        :raises InputError: on any rank the function fails or returns something else, or numbers that are not finite; or
            the force normal to a free-slip boundary is not zero there.
        """
        return evaluate(
            lambda x, y, z: self._work(x, y, z, time), self._grid, self._box, f"{self.name} at t = {time:g}", self._comm
        )
