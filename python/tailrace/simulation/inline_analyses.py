"""The [[analysis]] blocks of a running simulation: scripts that see the arrays of the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tailrace.analysis import state
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.results import Results, Sink
from tailrace.analysis.script import Script, load
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.analysis.task import Task
from tailrace.case.document import ConfigError
from tailrace.case.sections import AnalysisSection
from tailrace.core import InputError
from tailrace.flow.checkpoint import OpenCheckpoint
from tailrace.flow.field_cache import FieldCache
from tailrace.flow.model import Model
from tailrace.io.names import FIELDS
from tailrace.parallel import agree
from tailrace.steps.step import Step


class InlineAnalyses:
    """All the scripts of a case at work on a model. Collective.

    :param resumed: the step that the run goes on from; None: it starts from the beginning.
    :param checkpoint: the checkpoint of that step, which may have states of the scripts.
    :param provenance: that of the results.
    :param timed: called with the name of a phase; counts the time of a block.
    :param say: prints a line on rank 0.
    :raises ConfigError, AnalysisError, InputError: a script cannot be loaded, or has other parameters.
    """

    def __init__(
        self,
        model: Model,
        resumed: int | None,
        checkpoint: OpenCheckpoint | None,
        *,
        provenance: Mapping[str, Any],
        timed: Callable[[str], AbstractContextManager[None]],
        say: Callable[[str], None],
    ) -> None:
        self._model, self._timed, self._say = model, timed, say
        self._provenance = provenance
        case = model.case
        self._schedules = [section.schedule(case.time) for section in case.analysis]
        self._operators = model.operators()
        scripts = agree(model.comm, lambda: [_load(section, case.directory) for section in case.analysis])
        pairs = zip(case.analysis, scripts, strict=True)
        self._tasks = [self._task(section, script, resumed) for section, script in pairs]
        if checkpoint is not None:
            for task in self._tasks:
                self._restore(task, checkpoint)

    def _task(self, section: AnalysisSection, script: Script, resumed: int | None) -> Task:
        runner = ScriptRunner(script, self._model.comm)
        sink = Sink(
            Path(section.out), section.name, self._model.comm, self._operators,
            engine=section.engine, attributes=self._model.about, resume_step=resumed, provenance=self._provenance,
        )  # fmt: skip
        if resumed is not None and script.has("finish"):  # else its former results might never be replaced
            sink.beside(_final(section.name), resumed).close()
        return Task(runner, sink, section.on_error, self._say)

    def _restore(self, task: Task, checkpoint: OpenCheckpoint) -> None:
        """Give a script its state in the checkpoint, where there is one."""
        task.done, found = state.unpack(task.name, checkpoint, self._operators)
        if found is not None:
            task.runner.restore(found)
        elif task.runner.script.has("save"):
            self._note(f"{checkpoint.path} has no state of analysis '{task.name}', which starts without one")
        elif task.runner.script.has("finish") and task.done is not None:
            self._note(
                f"analysis '{task.name}' has no `save`: it starts without what it saw up to step {task.done}, and "
                "`finish` is called only if it sees another step"
            )

    def _note(self, text: str) -> None:
        if self._model.comm.rank == 0:
            print(f"note: {text}", flush=True)

    # ---- during the run ---------------------------------------------------------------------------------------
    def next_times(self, time: float) -> list[float | None]:
        """The next times that a step must end at. Local."""
        return [schedule.next_time(time) for schedule in self._schedules]

    def due(self, step: int, time: float) -> list[Task]:
        """The scripts that are to see this state. Local."""
        pairs = zip(self._tasks, self._schedules, strict=True)
        return [task for task, schedule in pairs if schedule.due(step, time) and task.wants(step)]

    def look(self, tasks: list[Task], fields: FieldCache) -> None:
        """Give scripts the present state, and store what they return.

        :raises AnalysisError: one failed, and its errors stop the run.
        """
        step = self._step(fields)
        for task in tasks:
            with self._timed(f"analysis {task.name}"):
                task.sink.write(step.index, step.time, task.look(step))

    def _step(self, fields: FieldCache) -> Step:
        model = self._model
        return Step(
            model.step,
            model.time,
            self._operators,
            [*FIELDS, *(scalar.name for scalar in model.case.scalar)],
            lambda name: fields(name).data,
            attributes={**model.about, "dt": model.dt},
        )

    @property
    def states_are_whole(self) -> bool:
        """Whether no script with a state has failed in a step: its state would only be in an earlier checkpoint."""
        return not any(task.failed and task.runner.script.has("save") for task in self._tasks)

    def packed(self) -> state.Packed:
        """The states of the scripts for a checkpoint."""
        found = []
        for task in self._tasks:
            saved = None
            try:
                saved = task.runner.save() if task.failed is None else None
            except AnalysisError as error:
                task.fail(error)
            if task.failed is None:
                last = task.runner.last_step if task.runner.last_step is not None else task.done
                found.append(state.pack(task.name, last, saved, self._operators))
        return state.whole(found)

    def flush(self) -> None:
        """Wait until all results are on the disk: a checkpoint must not be ahead of them."""
        for task in self._tasks:
            task.sink.flush()

    def finish(self) -> None:
        """At the end of the run: call `finish` of each script, and store what it returns."""
        step = self._step(self._model.fields())  # for scripts that have had no step since the run was resumed
        for task in self._tasks:
            if task.runner.script.has("finish") and task.runner.begun:
                with self._timed(f"analysis {task.name}"):
                    results = task.finish(step)
                    self._write_final(task, results)
        self.flush()

    def _write_final(self, task: Task, results: Results) -> None:
        final = task.sink.beside(_final(task.name))
        final.write(self._model.step, self._model.time, results)
        final.flush()
        final.close()

    def close(self) -> None:
        """Close all results. Closing twice does nothing."""
        for task in self._tasks:
            task.close()

    @property
    def phases(self) -> list[str]:
        """The names of phases by which the time of each script is counted. Local."""
        return [f"analysis {task.name}" for task in self._tasks]


def _final(name: str) -> str:
    return f"{name}-final"


def _load(section: AnalysisSection, directory: Path) -> Script:
    try:
        script = load(section.script, directory, section.name)
        for name, value in section.parameters.items():
            script.set(name, value)
        script.check_complete()
    except InputError as error:
        raise ConfigError.single("the case", f"analysis '{section.name}'", str(error)) from None
    return script
