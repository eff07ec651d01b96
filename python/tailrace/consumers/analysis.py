"""An analysis as a consumer: a script that sees steps, and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailrace.analysis import state
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.results import ResultSink
from tailrace.analysis.script import Script, load
from tailrace.analysis.script_results import ScriptResults
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.case.document import ConfigError
from tailrace.core import InputError
from tailrace.io.names import result_names
from tailrace.parallel import agree

from .consumer import Consumer

if TYPE_CHECKING:
    from tailrace.case.schedule import Schedule
    from tailrace.case.sections.analysis_section import AnalysisSection
    from tailrace.flow.checkpoint import OpenCheckpoint, Packed
    from tailrace.steps.step import Step

    from .opening import Opening

OnError = Literal["stop", "off"]


class Analysis(Consumer):
    """One script and its results, step by step. Collective over the ranks of `runner`.

    :param sink: takes the results; it may have more ranks than `runner`.
    :param on_error: "stop": an error of the script is raised; "off": it is printed, and the script does not run again.
    :param say: prints a line on rank 0.
    :param done: index of the last step whose results are stored already.
    """

    def __init__(
        self,
        runner: ScriptRunner,
        sink: ResultSink,
        on_error: OnError,
        say: Callable[[str], None],
        *,
        schedule: Schedule | None = None,
        done: int | None = None,
    ) -> None:
        super().__init__(f"analysis {runner.name}", schedule)
        self.runner, self.sink, self.done = runner, sink, done
        self._say = say
        self._failures = _Failures(runner.script, on_error, say)
        sink.refuse = self._failures.refuse

    @property
    def failed(self) -> AnalysisError | None:
        """The error that has switched the script off. Local."""
        return self._failures.error

    @property
    def name(self) -> str:
        """The name of the script and of its results."""
        return self.runner.name

    def wants(self, index: int, time: float) -> bool:
        """Whether the step is due, the script is not switched off, and it has not seen the step yet. Local."""
        return super().wants(index, time) and self.failed is None and (self.done is None or index > self.done)

    def take(self, step: Step) -> None:
        """Give the script a step, and store what it returns."""
        self.sink.write(step.index, step.time, self.look(step))

    def look(self, step: Step) -> ScriptResults:
        """What the script returns for a step.

        :raises AnalysisError: it failed, and `on_error` is "stop".
        """
        return self._guarded(lambda: self.runner.step(step))

    def resume(self, checkpoint: OpenCheckpoint) -> None:
        """Give the script its state in the checkpoint, if the checkpoint has one."""
        self.done, found = state.unpack(self.name, checkpoint, self.sink.operators)
        if found is not None:
            self.runner.restore(found)
        elif self.runner.script.has("save"):
            self._say(f"note: {checkpoint.path} has no state of analysis '{self.name}', which starts without one")
        elif self.runner.script.has("finish") and self.done is not None:
            self._say(
                f"note: analysis '{self.name}' has no `save`: it starts without what it saw up to step {self.done}, "
                "and `finish` is called only if it sees another step"
            )

    def state(self) -> Packed | None:
        """The result of `save` of the script; None if the script is switched off."""
        saved = None
        try:
            saved = self.runner.save() if self.failed is None else None
        except AnalysisError as error:
            self.fail(error)
        if self.failed is not None:
            return None
        last = self.runner.last_step if self.runner.last_step is not None else self.done
        return state.pack(self.name, last, saved, self.sink.operators)

    @property
    def state_is_whole(self) -> bool:
        """False after the script failed in a step: then only an earlier checkpoint can have its state. Local."""
        return self.failed is None or not self.runner.script.has("save")

    def finish(self, step: Step) -> None:
        """Call `finish` of the script if it has seen a step, and store what it returns."""
        if self.runner.script.has("finish") and self.runner.begun:
            self.write_final(step.index, step.time, self.finished(step))
        self.flush()

    def finished(self, step: Step | None = None) -> ScriptResults:
        """What `finish` of the script returns; `step` as `ScriptRunner.finish` takes it."""
        return self._guarded(lambda: self.runner.finish(step)) if self.failed is None else ScriptResults()

    def write_final(self, index: int, time: float, results: ScriptResults | None) -> str:
        """Store what `finish` returned, under another name; returns a line about these results."""
        final = self.sink.beside(result_names(self.name)[1])
        failures = self._failures
        final.refuse = lambda reason, _: failures.refuse(reason, "at its end")
        try:
            final.write(index, time, results)
            final.flush()
        except AnalysisError:  # raised on all ranks alike
            final.close()
            raise
        final.close()
        return final.summary()

    def fail(self, error: AnalysisError) -> None:
        """Switch the script off after an error. Raises AnalysisError, the same error, if `on_error` is "stop"."""
        self._failures.fail(error)

    def _guarded(self, work: Callable[[], ScriptResults]) -> ScriptResults:
        try:
            return work()
        except AnalysisError as error:
            self.fail(error)
            return ScriptResults()

    def progress(self) -> Mapping[str, str | float]:
        """The last step that the script has seen, and whether it was switched off."""
        last = self.runner.last_step if self.runner.last_step is not None else self.done
        failed = {} if self.failed is None else {"switched off": str(self.failed)}
        return {"analysis": self.name, "step": -1 if last is None else last, **failed}

    def flush(self) -> None:
        """Wait until all results are on the disk."""
        self.sink.flush()

    def close(self) -> None:
        """Close the results and the script. Closing twice does nothing."""
        self.sink.close()
        self.runner.close()


class _Failures:
    """What an error of a script does. It knows no results: these know it, and are let go of when nothing else does."""

    def __init__(self, script: Script, on_error: OnError, say: Callable[[str], None]) -> None:
        self.error: AnalysisError | None = None
        self._script, self._on_error, self._say = script, on_error, say

    def fail(self, error: AnalysisError) -> None:
        """See `Analysis.fail`."""
        self.error = error
        if self._on_error == "stop":
            raise error
        self._say(f"{error}\n  it is switched off (on_error = off); everything else continues")

    def refuse(self, reason: str, where: str) -> None:
        """The results of a step cannot be stored, which is an error of the script."""
        self.fail(AnalysisError(f"analysis '{self._script.name}' failed {where}: {self._script.path}: {reason}"))


def open_analyses(opening: Opening) -> list[Analysis]:
    """The [[analysis]] blocks of a case. Collective.

    :raises ConfigError, AnalysisError: a script cannot be loaded, or has other parameters.
    """
    case = opening.model.case
    scripts = agree(opening.model.comm, lambda: [_load(section, case.directory) for section in case.analysis])
    return [_open(section, script, opening) for section, script in zip(case.analysis, scripts, strict=True)]


def _open(section: AnalysisSection, script: Script, opening: Opening) -> Analysis:
    model, resumed = opening.model, opening.resumed
    runner = ScriptRunner(script, model.comm)
    sink = ResultSink(
        Path(section.out), section.name, model.comm, opening.operators(),
        engine=section.engine, attributes=model.about, resume_step=resumed, provenance=opening.provenance,
    )  # fmt: skip
    if resumed is not None and script.has("finish"):  # else its former results might never be replaced
        sink.beside(result_names(section.name)[1], resumed).close()
    return Analysis(runner, sink, section.on_error, opening.say, schedule=section.schedule(model.case.time))


def _load(section: AnalysisSection, directory: Path) -> Script:
    try:
        script = load(section.script, directory, section.name)
        for name, value in section.parameters.items():
            script.set(name, value)
        script.check_complete()
    except InputError as error:
        raise ConfigError.single("the case", f"analysis '{section.name}'", str(error)) from None
    return script
