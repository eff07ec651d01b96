"""A script with its results and the treatment of its errors: common to analyses inside, beside and after a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tailrace.steps.step import Step

from .errors import AnalysisError
from .results import Results, Sink
from .script_runner import ScriptRunner

OnError = Literal["stop", "off"]


class Task:
    """One script and its results, step by step. Collective over the ranks of `runner`.

    :param sink: takes the results; it may have more ranks than the script runs on.
    :param on_error: "stop": an error of the script is raised; "off": it is printed, and the script does not run again.
    :param done: index of the last step whose results are stored already.
    """

    def __init__(
        self, runner: ScriptRunner, sink: Sink, on_error: OnError, say: Callable[[str], None], done: int | None = None
    ) -> None:
        self.runner, self.sink, self.done = runner, sink, done
        self.failed: AnalysisError | None = None
        self._on_error, self._say = on_error, say

    @property
    def name(self) -> str:
        """The name of the script and of its results."""
        return self.runner.name

    def wants(self, index: int) -> bool:
        """Whether the script is to see this step: it is not switched off, and has not had the step. Local."""
        return self.failed is None and (self.done is None or index > self.done)

    def look(self, step: Step) -> Results:
        """What the script returns for a step.

        :raises AnalysisError: it failed, and `on_error` is "stop".
        """
        return self._guarded(lambda: self.runner.step(step))

    def finish(self, step: Step | None = None) -> Results:
        """What its `finish` returns; `step` as `ScriptRunner.finish` takes it."""
        return self._guarded(lambda: self.runner.finish(step)) if self.failed is None else Results()

    def fail(self, error: AnalysisError) -> None:
        """Switch the script off after an error.

        :raises AnalysisError: the same error, where `on_error` is "stop".
        """
        self.failed = error
        if self._on_error == "stop":
            raise error
        self._say(f"{error}\n  it is switched off (on_error = off); everything else continues")

    def close(self) -> None:
        """Close the results and the script. Closing twice does nothing."""
        self.sink.close()
        self.runner.close()

    def _guarded(self, work: Callable[[], Results]) -> Results:
        try:
            return work()
        except AnalysisError as error:
            self.fail(error)
            return Results()
