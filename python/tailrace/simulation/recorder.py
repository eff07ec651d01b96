"""The consumers of a running simulation: the table of averages, the outputs and the analyses of its case."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.analysis.results import ResultSink
from tailrace.analysis.script import Script, load
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.case.document import ConfigError
from tailrace.consumers.analysis import Analysis
from tailrace.consumers.output import Output
from tailrace.consumers.table import AveragesTable
from tailrace.core import InputError
from tailrace.flow.model_step import ModelStep
from tailrace.io.names import result_names
from tailrace.io.placement import UniformGrid
from tailrace.parallel import agree, spread

from .progress import summary_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from tailrace.case.sections import AnalysisSection
    from tailrace.consumers.consumer import Consumer
    from tailrace.flow.checkpoint import OpenCheckpoint
    from tailrace.flow.model import Model


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
        self._model, self._timed, self._say = model, timed, say
        self._resumed, self._provenance = resumed, provenance
        self._operators = cache(model.operators)
        self.table = stack.enter_context(AveragesTable(model, resumed, provenance, say))
        with timed("output"):
            outputs = self._outputs()
        self.consumers: list[Consumer] = [self.table, *outputs, *self._analyses()]
        if checkpoint is not None:
            for consumer in self.consumers:
                consumer.resume(checkpoint)

    def _outputs(self) -> list[Output]:
        model, case = self._model, self._model.case
        grid, attributes = UniformGrid.of(model.grid), {**model.about, **self._provenance}
        return [
            Output(section, case.time, grid, model.comm, attributes=attributes, resume_step=self._resumed)
            for section in case.output
        ]

    def _analyses(self) -> list[Analysis]:
        case = self._model.case
        scripts = agree(self._model.comm, lambda: [_load(section, case.directory) for section in case.analysis])
        return [self._analysis(section, script) for section, script in zip(case.analysis, scripts, strict=True)]

    def _analysis(self, section: AnalysisSection, script: Script) -> Analysis:
        model = self._model
        runner = ScriptRunner(script, model.comm)
        sink = ResultSink(
            Path(section.out), section.name, model.comm, self._operators(),
            engine=section.engine, attributes=model.about, resume_step=self._resumed, provenance=self._provenance,
        )  # fmt: skip
        if self._resumed is not None and script.has("finish"):  # otherwise its earlier results might never be replaced
            sink.beside(result_names(section.name)[1], self._resumed).close()
        return Analysis(runner, sink, section.on_error, self._say, schedule=section.schedule(model.case.time))

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

    def sum_up(self, seconds: Mapping[str, float], total: float) -> None:
        """Print a table of the time of the run. `seconds`: those of this rank, by phase."""
        names = ["diagnostics", "output", "checkpoint", *(consumer.phase for consumer in self.consumers)]
        phases = spread(self._model.comm, {**dict.fromkeys(names, 0.0), **seconds})  # the same names on all ranks
        if self._model.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for consumer in [*self.consumers[1:], self.table]:
                consumer.report()
            sys.stdout.flush()


def _load(section: AnalysisSection, directory: Path) -> Script:
    try:
        script = load(section.script, directory, section.name)
        for name, value in section.parameters.items():
            script.set(name, value)
        script.check_complete()
    except InputError as error:
        raise ConfigError.single("the case", f"analysis '{section.name}'", str(error)) from None
    return script
