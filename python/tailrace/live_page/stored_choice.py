"""The choice of a series, of something in it, and of a stored step, which the slices and the profiles share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import TYPE_CHECKING, Any

from bokeh.models import Div, Select, Slider

from tailrace.core import Error
from tailrace.render.stored import open_stored
from tailrace.text import visible

from .choices import on_change

if TYPE_CHECKING:
    from pathlib import Path

    from tailrace.steps.stored_step import StoredStep

    from .watched_run import WatchedRun

_READER = ThreadPoolExecutor(1, "reader")  # a plane that takes long keeps no curve waiting
Later = Callable[[Callable[[], None]], Any]


class StoredChoice:
    """What a viewer has chosen of the stored steps. The last step is followed as long as it is chosen.

    :param later: calls a function in the thread of the page.
    :param title: of what is chosen in a series.
    :param names: what can be chosen in a step.
    :param show: called after each change; whether something else than another step was chosen.
    :param told: a line about what is shown, or why nothing is.
    """

    def __init__(
        self,
        runs: Sequence[WatchedRun],
        later: Later,
        title: str,
        names: Callable[[StoredStep], list[str]],
        show: Callable[[bool], None],
    ) -> None:
        self._runs, self._later, self._names, self._show = runs, later, names, show
        self._series = Select(title="Series", options=[], width=260)
        self._name = Select(title=title, options=[], width=180, name=title)
        self._step = Slider(title="Stored step", start=0, end=1, value=0, step=1, width=260)
        self.told = Div(text="no series here has what is shown here", sizing_mode="stretch_width")
        self.models = [self._series, self._name, self._step]
        self._count = 0
        self._asked: set[str] = set()  # series that were looked into
        on_change(self._series, "value", self._open)
        on_change(self._name, "value", lambda: self._show(True))
        on_change(self._step, "value_throttled", lambda: self._show(False))

    @property
    def path(self) -> Path | None:
        """That of the series."""
        run_name, _, name = (self._series.value or "").partition(": ")
        return next((run.series[name] for run in self._runs if run.name == run_name and name in run.series), None)

    @property
    def name(self) -> str:
        """What is chosen in it; empty while nothing is."""
        return self._name.value if self._count else ""

    @property
    def step(self) -> int:
        """The position of the step."""
        return min(int(self._step.value), self._count - 1)

    def update(self) -> None:
        """Offer the series and steps that are there now."""
        there = {f"{run.name}: {name}": path for run in self._runs for name, path in run.series.items()}
        for label in there.keys() - self._asked:
            self._asked.add(label)
            self._look(label, there[label])
        if self.step >= self._count - 1:
            self._open()

    def _look(self, label: str, path: Path) -> None:
        """Offer a series if it has what is shown here."""

        def offer(found: tuple[int, list[str]]) -> None:
            count, names = found
            if not count:  # look again when it has a step
                self._asked.discard(label)
            elif names:
                self._series.options = sorted([*self._series.options, label])
                self._series.value = self._series.value or label

        self.ask(lambda: self._about(path), offer)

    def _open(self) -> None:
        path = self.path
        if path is not None:
            self.ask(lambda: self._about(path), self._offer)

    def _about(self, path: Path) -> tuple[int, list[str]]:
        with open_stored(path) as stored:
            return len(stored), self._names(stored[-1]) if len(stored) else []

    def _offer(self, found: tuple[int, list[str]]) -> None:
        count, names = found
        follows, grown = self.step >= self._count - 1, count != self._count
        self._count = count
        self._step.end = max(count - 1, 1)
        if follows:
            self._step.value = max(count - 1, 0)
        if names != self._name.options:
            self._name.options = names
            if self._name.value not in names:
                self._name.value = names[0] if names else ""  # which shows it
                return
        if grown and self.name:
            self._show(False)

    def ask(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do this in another thread, and what follows in that of the page."""

        def do() -> None:
            try:
                found = work()
            except (Error, OSError, ValueError, RuntimeError) as error:
                text = plain(str(error))
                self._later(lambda: setattr(self.told, "text", text))
            else:
                self._later(lambda: then(found))

        _READER.submit(do)


def plain(text: str) -> str:
    """A text of a file or of a user as HTML."""
    return escape(visible(text))
