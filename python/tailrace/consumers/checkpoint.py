"""Checkpoints as a consumer, and when a run stores its state."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tailrace.analysis import state

from .consumer import Consumer

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.sections import CheckpointSection
    from tailrace.flow.checkpointed_model import CheckpointedModel
    from tailrace.steps.step import Step


class CheckpointSchedule:
    """By steps, by the clock of rank 0, and at the end; the state that the run starts from needs none.

    :param step: the one that the run starts from.
    """

    def __init__(self, wanted: CheckpointSection, step: int) -> None:
        self._wanted = wanted
        self.begin(step)

    def begin(self, step: int) -> None:
        """The state of this step is stored, or can be made again; the clock starts."""
        self.stored, self._last = step, clock.monotonic()

    @property
    def is_on(self) -> bool:
        """Whether the case asks for checkpoints."""
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


class Checkpoints(Consumer):
    """Stores the state of a model with those of other consumers, after everything that it must not be ahead of.

    Collective, `wants` too.

    :param rhythm: when.
    :param others: the consumers whose states go along.
    :param files: tells which files a resumed run goes on writing.
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
        self.at_end = False  # whether the present state is the last of the run

    def wants(self, index: int, time: float) -> bool:
        """Whether the state is to be stored, which the clock of rank 0 may decide."""
        return self.rhythm.due(index, self._model.comm, at_end=self.at_end)

    def take(self, step: Step) -> None:
        """Store the present state of the model, unless it is stored already.

        :raises FlowError: it is not finite.
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
        """Whether a checkpoint of the present state has all that the other consumers need. Local."""
        return all(other.state_is_whole for other in self._others)

    @property
    def bytes_written(self) -> int:
        """Bytes that this rank has written. Local."""
        return self._model.bytes_checkpoints

    def close(self) -> None:
        """Each checkpoint is complete."""
