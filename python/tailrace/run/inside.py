"""The [[analysis]] blocks of a running simulation: scripts that look at the solver's own arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace import _core
from tailrace.analysis import state
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.results import Results, Sink
from tailrace.analysis.runner import Running
from tailrace.analysis.script import Script, load
from tailrace.analysis.step import AnalysisStep
from tailrace.analysis.task import Task
from tailrace.case.document import ConfigError
from tailrace.case.sections import FIELDS
from tailrace.fields.operators import Operators
from tailrace.parallel import agree

if TYPE_CHECKING:
    from tailrace.case.schedule import Schedule
    from tailrace.case.sections import AnalysisSection

    from .outputs import FieldCache
    from .simulation import Simulation


class Inside:
    """All of them. Collective.

    :param resumed: the step of the checkpoint that the run goes on from; None: it starts anew.
    :param say: tells something on rank 0.
    :raises ConfigError, AnalysisError, InputError: a script cannot be loaded, or has other parameters.
    """

    def __init__(self, simulation: Simulation, resumed: int | None, say: Callable[[str], None]) -> None:
        self._s, self._say = simulation, say
        case = simulation.case
        self._sections = list(case.analysis)
        self._schedules: list[Schedule] = [section.schedule(case.time.dt) for section in self._sections]
        self._tasks: list[Task] = []
        self._states: list[dict[str, Any] | None] = []
        if not self._sections:
            return
        self._operators = Operators(
            simulation.grid.nodes, simulation.grid.lengths, simulation.grid.boundaries, comm=simulation.comm,
            processes=simulation.processes, interpolation=case.numerics.interpolation,
            dtype="float64" if case.numerics.precision == "double" else "float32",
        )  # fmt: skip
        simulation.lend_velocity(self._operators)
        scripts = agree(simulation.comm, lambda: [_load(section, case.directory) for section in self._sections])
        for section, script in zip(self._sections, scripts, strict=True):
            self._tasks.append(self._task(section, script, resumed))
        if resumed is not None:
            self._states = [self._state(task) for task in self._tasks]

    def _task(self, section: AnalysisSection, script: Script, resumed: int | None) -> Task:
        running = Running(script, self._s.comm)
        sink = Sink(
            Path(section.out), section.name, self._s.comm, self._operators,
            engine=section.engine, attributes=self._s.about, resume_step=resumed,
        )  # fmt: skip
        return Task(running, sink, section.on_error, self._say)

    def _state(self, task: Task) -> dict[str, Any] | None:
        """What the checkpoint has of a script."""
        checkpoint = self._s.resumed_from
        assert checkpoint is not None
        task.done, found = state.unpack(task.name, checkpoint, self._operators)
        if found is None and task.running.script.has("save"):
            self._s.say(f"note: {checkpoint.path} has no state of analysis '{task.name}', which begins anew")
        return found

    # ---- while the run goes on ---------------------------------------------------------------------------------------
    def next_times(self, time: float) -> list[float | None]:
        """Times to be met exactly."""
        return [schedule.next_time(time) for schedule in self._schedules]

    def due(self, step: int, time: float) -> list[Task]:
        """The scripts that look at this state."""
        pairs = zip(self._tasks, self._schedules, strict=True)
        return [task for task, schedule in pairs if schedule.due(step, time) and task.wants(step)]

    def look(self, tasks: list[Task], fields: FieldCache) -> None:
        """Let scripts look at the present state, and store what they return.

        :raises AnalysisError: one failed, and its errors stop the run.
        """
        s = self._s
        step = AnalysisStep(s.step, s.time, self._operators, FIELDS, lambda name: fields(name).data, attributes=s.about)
        self._load_states(step)
        for task in tasks:
            with s.timed(f"analysis {task.name}"):
                task.sink.write(s.step, s.time, task.look(step))

    def _load_states(self, step: AnalysisStep) -> None:
        """Before the first step, after `start`: what the script was when the checkpoint was written."""
        states, self._states = self._states, []
        for task, found in zip(self._tasks, states, strict=False):
            if found is not None:
                try:
                    task.running.start(step)
                    task.running.load(found)
                except AnalysisError as error:
                    task.fail(error)

    @property
    def states_are_whole(self) -> bool:
        """Whether no script with a state failed in the midst of a step: only an earlier checkpoint has that state."""
        return not any(task.failed and task.running.script.has("save") for task in self._tasks)

    def packed(self) -> state.Packed:
        """What the checkpoint has to store."""
        found = []
        for task in self._tasks:
            saved = None
            try:
                saved = task.running.save() if task.failed is None else None
            except AnalysisError as error:
                task.fail(error)
            if task.failed is None:
                last = task.running.last_step if task.running.last_step is not None else task.done
                found.append(state.pack(task.name, last, saved, self._operators))
        return state.whole(found)

    def flush(self) -> None:
        """A checkpoint must not be ahead of the results."""
        for task in self._tasks:
            task.sink.flush()

    def finish(self) -> None:
        """The run has come to its end: the last word of each script."""
        for task in self._tasks:
            if task.running.script.has("finish") and task.running.last_step is not None:
                with self._s.timed(f"analysis {task.name}"):
                    results = task.finish()
                    self._write_final(task, results)

    def _write_final(self, task: Task, results: Results) -> None:
        final = task.sink.beside(f"{task.name}-final")
        final.write(self._s.step, self._s.time, results)
        final.close()

    def close(self) -> None:
        """Close all results. Closing twice does no harm."""
        for task in self._tasks:
            task.close()

    @property
    def phases(self) -> list[str]:
        """Names under which the simulation's clock has the time of each script."""
        return [f"analysis {task.name}" for task in self._tasks]


def _load(section: AnalysisSection, directory: Path) -> Script:
    try:
        script = load(section.script, directory, section.name)
        for name, value in section.parameters.items():
            script.set(name, value)
        script.check_complete()
    except _core.InputError as error:
        raise ConfigError.single("the case", f"analysis '{section.name}'", str(error)) from None
    return script
