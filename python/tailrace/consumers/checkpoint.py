"""Checkpoints as a consumer, and when a run stores its state."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tailrace.analysis import state

from .consumer import Consumer

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.sections.recording_section import CheckpointSection
    from tailrace.flow.checkpointed_model import CheckpointedModel
    from tailrace.steps.step import Step


class CheckpointSchedule:
    """When to store the state: by steps, by the clock of rank 0, and at the end. The first state is never due.

    :param step: the step that the run starts from.
    """

    def __init__(self, wanted: CheckpointSection, step: int) -> None:
        self._wanted = wanted
        self.begin(step)

    def begin(self, step: int) -> None:
        """Start the clock: the state of this step is stored, or can be computed again."""
        self.stored, self._last = step, clock.monotonic()

    @property
    def is_on(self) -> bool:
        """Whether the case asks for checkpoints."""
        return bool(self._wanted.every or self._wanted.minutes)

    def due(self, step: int, comm: MPI.Comm, *, at_end: bool) -> bool:
        """Whether the state after `step` steps must be stored. Collective."""
        wanted = self._wanted
        if step == self.stored or not self.is_on:
            return False
        if (wanted.every and step % wanted.every == 0) or at_end:
            return True
        if not wanted.minutes:
            return False
        return bool(comm.bcast(clock.monotonic() - self._last >= 60 * wanted.minutes))


class Checkpoints(Consumer):
    """Stores the state of a model and of other consumers. Runs last: a checkpoint must not be ahead of other results.

    Collective, `wants` too.

    :param rhythm: when to store the state.
    :param others: the consumers whose states go along.
    :param files: returns the files that a resumed run continues.
    """

    def __init__(
        self,
        model: CheckpointedModel,
        rhythm: CheckpointSchedule,
        others: Sequence[Consumer],
        files: Callable[[], Mapping[str, str]],
    ) -> None:
        super().__init__("checkpoint")
        self._model, self.rhythm, self._others, self._files = model, rhythm, others, files
        self.at_end = False  # whether the current state is the last of the run

    def wants(self, index: int, time: float) -> bool:
        """Whether the state must be stored; the clock of rank 0 may decide this."""
        return self.rhythm.due(index, self._model.comm, at_end=self.at_end)

    def take(self, step: Step) -> None:
        """Store the current state of the model, unless it is stored already.

        :raises FlowError: the state is not finite.
        :raises IoError: a disk is full or gone.
        """
        if step.index == self.rhythm.stored:
            return
        for other in self._others:
            with self._model.timed(other.phase):
                other.flush()
        states = [found for other in self._others if (found := other.state()) is not None]
        self._model.write_checkpoint(state.whole(states), self._files())
        self.rhythm.begin(step.index)

    @property
    def state_is_whole(self) -> bool:
        """Whether a checkpoint of the current state has everything that the other consumers need. Local."""
        return all(other.state_is_whole for other in self._others)

    @property
    def bytes_written(self) -> int:
        """Bytes that this rank has written. Local."""
        return self._model.bytes_checkpoints

    def progress(self) -> Mapping[str, str | float]:
        """The last step whose state is stored."""
        written = self._model.bytes_checkpoints
        stored = {"step": self.rhythm.stored, "bytes of rank 0": written} if written else {}
        return {"checkpoint": str(self._model.store.path), **stored} if self.rhythm.is_on else {}

    def close(self) -> None:
        """Nothing to do: each checkpoint is complete already."""
