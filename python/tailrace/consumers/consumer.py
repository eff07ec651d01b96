"""The base class of all consumers of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailrace.case.schedule import Schedule
    from tailrace.flow.checkpoint import OpenCheckpoint, Packed
    from tailrace.steps.step import Step


class Consumer(ABC):
    """Takes the steps that it wants. Methods are collective unless marked local.

    :param phase: the name under which its time is counted.
    :param schedule: when it wants a step; None: it wants every step.
    """

    def __init__(self, phase: str, schedule: Schedule | None = None) -> None:
        self.phase, self.schedule = phase, schedule

    def wants(self, index: int, time: float) -> bool:
        """Whether it wants the step with this index and time. Local."""
        return self.schedule is None or self.schedule.due(index, time)

    def next_time(self, time: float) -> float | None:
        """The next time at which a step must end exactly; None if any time will do. Local."""
        return None if self.schedule is None else self.schedule.next_time(time)

    @abstractmethod
    def take(self, step: Step) -> None:
        """Take a step that it wants; the fields of the step may change when this returns.

        :raises IoError: a disk is full or gone.
        :raises AnalysisError: a script failed, and its errors stop the run.
        """

    def resume(self, checkpoint: OpenCheckpoint) -> None:  # noqa: B027 # most have no state
        """Restore its state from a checkpoint."""

    def state(self) -> Packed | None:
        """The state that a checkpoint must keep for it; None if it has no state."""
        return None

    @property
    def state_is_whole(self) -> bool:
        """Whether a checkpoint of the current step has all of its state. Local."""
        return True

    def flush(self) -> None:  # noqa: B027
        """Wait until everything that it took is written: a checkpoint must not be ahead of it."""

    def finish(self, step: Step) -> None:  # noqa: B027
        """Called after the last step, `step`."""

    @abstractmethod
    def close(self) -> None:
        """Complete and close what it writes. Closing twice does nothing."""

    @property
    def bytes_written(self) -> int:
        """Bytes that this rank has written. Local."""
        return 0

    def progress(self) -> Mapping[str, str | float]:
        """What it has done so far, by names that a page shows. Local."""
        return {}

    @property
    def incomplete(self) -> bool:
        """Whether something that it should have made is missing, which it has told; the same on all ranks. Local."""
        return False

    def report(self) -> None:  # noqa: B027
        """Called after `close`: print what it did, and how long that took. Local, on rank 0."""
