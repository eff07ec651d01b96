"""What a run records of its states: the time series, the outputs and the analyses, open as long as it runs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tailrace.flow.stability import stability_of
from tailrace.io.placement import UniformGrid
from tailrace.parallel import spread

from .diagnostics import Diagnostics
from .inline_analyses import InlineAnalyses
from .outputs import Output
from .progress import output_table, summary_table
from .warnings import Warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from tailrace.analysis.state import Packed
    from tailrace.flow.checkpoint import OpenCheckpoint
    from tailrace.flow.model import Model


class Recorder:
    """Everything that a case asks to be written while it is computed, but for checkpoints. Collective.

    :param stack: keeps the time series open.
    :param resumed: the step that the run goes on from; None: it starts from the beginning.
    :param checkpoint: the checkpoint of that step.
    :param provenance: that of the results.
    :param timed: called with the name of a phase; counts the time of a block.
    :param say: prints a line on rank 0.
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
        self._model, self._timed = model, timed
        self._say = say
        self.numbers: dict[str, float] = {}  # the volume averages that were measured last
        self._diagnostics = stack.enter_context(Diagnostics(model, resumed, provenance))
        case = model.case
        spacing = tuple(model.grid.spacing(d) for d in range(3))
        self._warnings = Warnings(
            spacing, model.shape, case.viscosity, stability_of(case, model.grid), auto=case.time.constant_dt is None
        )
        grid = UniformGrid.of(model.grid)
        self._outputs: list[Output] = []
        with timed("output"):
            for section in case.output:
                output = Output(section, case.time, grid, model.comm, resumed)
                output.describe({**model.about, **provenance})
                self._outputs.append(output)
        self._analyses: InlineAnalyses | None = None
        if case.analysis:
            self._analyses = InlineAnalyses(model, resumed, checkpoint, provenance=provenance, timed=timed, say=say)

    # ---- during the run ----------------------------------------------------------------------------------------------
    def next_times(self, time: float) -> list[float | None]:
        """The next times that a step must end at. Local."""
        analyses = self._analyses.next_times(time) if self._analyses else []
        return [*(output.schedule.next_time(time) for output in self._outputs), *analyses]

    def record(self, dt: float, *, at_end: bool) -> None:
        """Measure, write and analyse what is due in the present state.

        :param dt: the step that led to it.
        :raises FlowError: it is not finite.
        :raises AnalysisError: a script failed, and its errors stop the run.
        :raises IoError: a disk is full or gone.
        """
        model = self._model
        due = [output for output in self._outputs if output.schedule.due(model.step, model.time)]
        measure = at_end or model.step % model.case.diagnostics.every == 0
        looking = self._analyses.due(model.step, model.time) if self._analyses else []
        if measure or due or looking:
            self.check_finite()
        if measure:
            with self._timed("diagnostics"):
                self.numbers = model.measure()
                for line in self._warnings.look(self.numbers):
                    self._say(line)
                self.numbers["dt"] = dt
                self._diagnostics.append(self.numbers)
        fields = model.fields()
        if due:
            with self._timed("output"):
                for output in due:
                    output.write(model.step, model.time, fields)
        if looking and self._analyses:
            self._analyses.look(looking, fields)

    def check_finite(self) -> None:
        """See `Model.check_finite`."""
        self._model.check_finite(self.numbers.get("cfl", float("nan")))

    def flush(self) -> None:
        """Wait until everything up to now is written."""
        self._diagnostics.sync()
        with self._timed("output"):
            for output in self._outputs:
                output.flush()
        if self._analyses:
            self._analyses.flush()

    # ---- for checkpoints and progress --------------------------------------------------------------------------------
    def packed(self) -> Packed | None:
        """The states of the analyses."""
        return self._analyses.packed() if self._analyses else None

    @property
    def states_are_whole(self) -> bool:
        """Whether a checkpoint of the present state has all that the analyses need. Local."""
        return self._analyses is None or self._analyses.states_are_whole

    @property
    def bytes_written(self) -> int:
        """Bytes of outputs written by this rank. Local."""
        return sum(output.bytes_written for output in self._outputs)

    # ---- the end of a run --------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Call `finish` of the analyses, and store what they return."""
        if self._analyses:
            self._analyses.finish()

    def sync(self) -> None:
        """Wait until the time series is on the disk."""
        self._diagnostics.sync()

    def close(self) -> None:
        """Close outputs and analyses."""
        with self._timed("output"):
            for output in self._outputs:
                output.close()
        if self._analyses:
            self._analyses.close()

    def sum_up(self, seconds: Mapping[str, float], total: float) -> None:
        """Print where the time of the run went.

        :param seconds: of this rank, by phase.
        """
        names = ["diagnostics", "output", "checkpoint", *(self._analyses.phases if self._analyses else [])]
        phases = spread(self._model.comm, {**dict.fromkeys(names, 0.0), **seconds})  # the same names on all ranks
        if self._model.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for output in self._outputs:
                output_table(f"{output.section.name}: {output.section.path}", output.summary, output.notes)
            for line in self._warnings.summary():
                print(line)
            sys.stdout.flush()
