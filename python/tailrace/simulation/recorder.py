"""The consumers of a running simulation: the table of averages, the outputs and the analyses of its case."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

from tailrace.consumers.analysis import open_analyses
from tailrace.consumers.catalyst import open_catalyst
from tailrace.consumers.consumer import Consumer
from tailrace.consumers.opening import Opening
from tailrace.consumers.output import open_outputs
from tailrace.consumers.picture import open_pictures
from tailrace.consumers.table import AveragesTable
from tailrace.flow.model_step import ModelStep
from tailrace.parallel import extreme, spread

from .progress import busy_processors, summary_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from tailrace.flow.checkpoint import OpenCheckpoint
    from tailrace.flow.model import Model

# What opens the consumers of a case. A new kind of consumer has a line here.
OPENERS: list[Callable[[Opening], Sequence[Consumer]]] = [
    open_outputs,
    open_analyses,
    open_pictures,
    open_catalyst,
]


class Recorder:
    """Opens the consumers of a case, and gives them the states that they want. Collective, unless marked local.

    :param stack: keeps the time series open.
    :param resumed: the step from which the run continues; None: it starts from the beginning.
    :param checkpoint: the checkpoint of that step, which may have states of the analyses.
    :param provenance: the provenance of the results.
    :param timed: called with the name of a phase; counts the time of a block.
    :param say: prints a line on rank 0.
    :raises ConfigError, AnalysisError, InputError: a script cannot be loaded, or has other parameters.
    """

    def __init__(
        self,
        model: Model,
        stack: ExitStack,
        resumed: int | None,
        checkpoint: OpenCheckpoint | None,
        *,
        provenance: Mapping[str, Any],
        timed: Callable[[str], AbstractContextManager[None]],
        say: Callable[[str], None],
    ) -> None:
        self._model, self._timed, self._operators = model, timed, cache(model.operators)
        opening = Opening(model, self._operators, resumed, provenance, say)
        self.table = stack.enter_context(AveragesTable(model, resumed, provenance, say))
        self.consumers: list[Consumer] = [self.table]
        for open_all in OPENERS:
            with timed("opening"):
                self.consumers += open_all(opening)
        if checkpoint is not None:
            for consumer in self.consumers:
                consumer.resume(checkpoint)

    # ---- during the run ----------------------------------------------------------------------------------------------
    def next_times(self, time: float) -> list[float | None]:
        """The next times at which a step must end exactly. Local."""
        return [consumer.next_time(time) for consumer in self.consumers]

    def record(self, dt: float, *, at_end: bool) -> None:
        """Give the current state to the consumers that want it.

        :param dt: the size of the last step.
        :raises FlowError: the state is not finite.
        :raises AnalysisError: a script failed, and its errors stop the run.
        :raises IoError: a disk is full or gone.
        """
        self.table.dt, self.table.at_end = dt, at_end
        with self._timed(self.table.phase):
            self.table.prepare()
        due = [consumer for consumer in self.consumers if consumer.wants(self._model.step, self._model.time)]
        if not due:
            return
        self.check_finite()
        step = self.step()
        for consumer in due:
            with self._timed(consumer.phase):
                consumer.take(step)

    def step(self) -> ModelStep:
        """The current state, with fields that are valid until the next step. Local."""
        return ModelStep(self._model, self._operators)

    def check_finite(self) -> None:
        """See `Model.check_finite`."""
        self._model.check_finite(self.table.numbers.get("cfl", float("nan")))

    @property
    def bytes_written(self) -> int:
        """Bytes written by this rank. Local."""
        return sum(consumer.bytes_written for consumer in self.consumers)

    def flush(self) -> None:
        """Wait until everything up to now is written."""
        for consumer in self.consumers:
            with self._timed(consumer.phase):
                consumer.flush()

    def finish(self) -> None:
        """Call this in the last state: analyses call their `finish`, and store its results."""
        step = self.step()
        for consumer in self.consumers:
            with self._timed(consumer.phase):
                consumer.finish(step)

    def close(self) -> None:
        """Close all but the time series, which takes rows until its file is left."""
        for consumer in self.consumers:
            if consumer is not self.table:
                with self._timed(consumer.phase):
                    consumer.close()

    @property
    def incomplete(self) -> bool:
        """Whether pictures or pipelines are missing. Local."""
        return any(consumer.incomplete for consumer in self.consumers)

    def sum_up(self, seconds: Mapping[str, float], total: float, waited: float) -> None:
        """Print a table of the time of the run.

        :param seconds: those of this rank, by phase.
        :param waited: those in which it had no processor.
        """
        waited = float(extreme(self._model.comm, waited, largest=True))
        names = ["opening", "diagnostics", "output", "checkpoint", *(consumer.phase for consumer in self.consumers)]
        phases = spread(self._model.comm, {**dict.fromkeys(names, 0.0), **seconds})  # the same names on all ranks
        if self._model.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for consumer in [*self.consumers[1:], self.table]:
                consumer.report()
            if hint := busy_processors(waited, total):
                print(hint)
            sys.stdout.flush()
