"""When a run stores its state."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.sections import CheckpointSection


class CheckpointRhythm:
    """By steps, by the clock of rank 0, and at the end; the state that the run starts from needs none.

    :param step: the one that the run starts from.
    """

    def __init__(self, wanted: CheckpointSection, step: int) -> None:
        self._wanted = wanted
        self.begin(step)

    def begin(self, step: int) -> None:
        """The state of this step is stored, or can be made again; the clock starts. Local."""
        self.stored, self._last = step, clock.monotonic()

    @property
    def is_on(self) -> bool:
        """Whether the case asks for checkpoints. Local."""
        return bool(self._wanted.every or self._wanted.minutes)

    def due(self, step: int, comm: MPI.Comm, *, at_end: bool) -> bool:
        """Whether the state after so many steps is to be stored. Collective."""
        wanted = self._wanted
        if step == self.stored or not self.is_on:
            return False
        if (wanted.every and step % wanted.every == 0) or at_end:
            return True
        if not wanted.minutes:
            return False
        return bool(comm.bcast(clock.monotonic() - self._last >= 60 * wanted.minutes))
