"""Requests to stop a run, by signals."""

from __future__ import annotations

import signal
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mpi4py import MPI

STOPPED = 128 + signal.SIGTERM  # exit code of a run that was asked to stop
# Open MPI kills its ranks a second after it forwards SIGTERM, too soon for a checkpoint, so `tailrace run -n` has it
# forward SIGUSR1 instead.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class EarlyRequest:
    """Takes note of SIGUSR1 until a run does, which then stops after its first step; after the run it is ignored.

    Batch systems send it once, to all ranks: one that comes during a long start must be neither lost nor the end.
    """

    def __init__(self) -> None:
        self.came = False

    def enter(self) -> None:
        """Begin to take note, for the rest of this process. Local."""
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.came = True


class Stopped(SystemExit):
    """A run that was stepped by hand was asked to stop, and has written its checkpoint."""

    def __init__(self) -> None:
        super().__init__(STOPPED)


class StopRequest:
    """Takes note of SIGTERM, SIGINT and SIGUSR1 as long as it is entered. A second SIGINT is a KeyboardInterrupt."""

    def __init__(self) -> None:
        self._wanted = False
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        early = getattr(self._former[signal.SIGUSR1], "__self__", None)
        self._wanted |= isinstance(early, EarlyRequest) and early.came
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def make(self) -> None:
        """Take note of a request that came in another way. Local."""
        self._wanted = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._wanted and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._wanted = True

    def agreed(self, comm: MPI.Comm) -> bool:
        """Whether any rank was asked to stop: all must leave after the same step. Collective."""
        from mpi4py import MPI

        return bool(comm.allreduce(self._wanted, op=MPI.LOR))
