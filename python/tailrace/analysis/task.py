"""A script, what its errors do, and its results: what the three places have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from .errors import AnalysisError
from .results import Results, Sink
from .script_runner import ScriptRunner

if TYPE_CHECKING:
    from .step import AnalysisStep

OnError = Literal["stop", "off"]


class Task:
    """One script on its way through the steps. Collective over the ranks of `runner`.

    :param sink: where results go; it may be of more ranks than the script runs on.
    :param on_error: "stop": an error of the script is raised; "off": it is told, and the script runs no more.
    :param done: index of the last step whose results are there already.
    """

    def __init__(
        self, runner: ScriptRunner, sink: Sink, on_error: OnError, say: Callable[[str], None], done: int | None = None
    ) -> None:
        self.runner, self.sink, self.done = runner, sink, done
        self.failed: AnalysisError | None = None
        self._on_error, self._say = on_error, say

    @property
    def name(self) -> str:
        """Of the script, and of its results."""
        return self.runner.name

    def wants(self, index: int) -> bool:
        """Whether the script still runs, and has not had this step."""
        return self.failed is None and (self.done is None or index > self.done)

    def look(self, step: AnalysisStep) -> Results:
        """What the script returns of a step.

        :raises AnalysisError: it failed, and errors stop.
        """
        return self._guarded(lambda: self.runner.step(step))

    def finish(self) -> Results:
        """What it returns of all of them."""
        return self._guarded(self.runner.finish) if self.failed is None else Results()

    def fail(self, error: AnalysisError) -> None:
        """Take note of an error.

        :raises AnalysisError: errors stop.
        """
        self.failed = error
        if self._on_error == "stop":
            raise error
        self._say(f"{error}\n  it is switched off (on_error = off); everything else goes on")

    def close(self) -> None:
        """Close the results, and let go of the script. Closing twice does no harm."""
        self.sink.close()
        self.runner.close()

    def _guarded(self, work: Callable[[], Results]) -> Results:
        try:
            return work()
        except AnalysisError as error:
            self.fail(error)
            return Results()
