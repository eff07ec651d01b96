"""The choice of a series, of something in it, and of a stored step, which several panels share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from bokeh.models import Div, Select, Slider

from tailrace.text import visible

from .choices import on_change

if TYPE_CHECKING:
    from .watched_run import WatchedRun

_READER = ThreadPoolExecutor(1, "reader")  # a plane that takes long keeps no curve waiting
Later = Callable[[Callable[[], None]], Any]


class Choosable(Protocol):
    """What can be chosen."""

    def about(self) -> tuple[int, list[str]]:
        """How many steps there are, and the names of what is in the last one."""


Chosen = TypeVar("Chosen", bound=Choosable)


class StoredChoice(Generic[Chosen]):
    """What a viewer has chosen of the stored steps. The last step is followed as long as it is chosen.

    :param later: calls a function in the thread of the page.
    :param title: of what is chosen in a series.
    :param sources: what a run offers, by name.
    :param show: called after each change; whether something else than another step was chosen.
    :param told: a line about what is shown, or why nothing is.
    """

    def __init__(
        self,
        runs: Sequence[WatchedRun],
        later: Later,
        title: str,
        sources: Callable[[WatchedRun], Mapping[str, Chosen]],
        show: Callable[[bool], None],
    ) -> None:
        self._runs, self._later, self._sources, self._show = runs, later, sources, show
        self._series = Select(title="Series", options=[], width=260, name=f"series of {title}")
        self._name = Select(title=title, options=[], width=180, name=title)
        self._step = Slider(title="Stored step", start=0, end=1, value=0, step=1, width=260)
        self.told = Div(text="no series here has what is shown here", sizing_mode="stretch_width")
        self.models = [self._series, self._name, self._step]
        self._usual = ""  # the series that is shown without a choice of the viewer: the first one
        self._there: dict[str, Chosen] = {}
        self._count = 0
        self._asked: set[str] = set()  # series that were looked into
        self._busy = False  # a look at the series is under way
        on_change(self._series, "value", self._open)
        on_change(self._name, "value", lambda: self._show(True))
        on_change(self._step, "value_throttled", lambda: self._show(False))

    @property
    def source(self) -> Chosen | None:
        """The series."""
        return self._there.get(self._series.value or "")

    @property
    def name(self) -> str:
        """What is chosen in it; empty while nothing is."""
        return self._name.value if self._count and self._name.value in self.names else ""

    @property
    def names(self) -> list[str]:
        """What can be chosen in it."""
        return list(self._name.options)

    @property
    def step(self) -> int:
        """The position of the step."""
        value = self._step.value
        return min(int(value), self._count - 1) if isinstance(value, int | float) and value == value else 0

    def update(self) -> None:
        """Offer the series and steps that are there now."""
        there = {f"{run.name}: {name}": source for run in self._runs for name, source in self._sources(run).items()}
        self._there = {label: self._there.get(label, source) for label, source in there.items()}
        for label in [one for one in there if one not in self._asked]:
            self._asked.add(label)
            self._look(label, self._there[label])
        if self.step >= self._count - 1 and not self._busy:
            self._open()

    def _look(self, label: str, source: Chosen) -> None:
        """Offer a series if it has what is shown here."""

        def offer(found: tuple[int, list[str]]) -> None:
            count, names = found
            if not count:  # look again when it has a step
                self._asked.discard(label)
            elif names:
                self._series.options = [one for one in self._there if one in {*self._series.options, label}]
                if self._series.value in ("", self._usual):  # the viewer has not chosen another one
                    self._usual = self._series.value = self._series.options[0]

        self.ask(source.about, offer)

    def _open(self) -> None:
        source = self.source
        if source is not None:
            self._busy = True
            self.ask(source.about, lambda found: self._offer(found) if self.source is source else None)

    def _offer(self, found: tuple[int, list[str]]) -> None:
        count, names = found
        if not count:
            self._drop()
            return
        follows, grown = self.step >= self._count - 1, count != self._count
        self._count = count
        self._step.end, self._step.disabled = max(count - 1, 1), count < 2
        if follows:
            self._step.value = max(count - 1, 0)
        if names != self._name.options:
            self._name.options = names
            if self._name.value not in names:
                self._name.value = names[0] if names else ""  # which shows it
                return
        if grown and self.name:
            self._show(False)

    def _drop(self) -> None:
        """Offer the series that is chosen no more, as long as it has no steps: its run has ended."""
        label = self._series.value or ""
        self._asked.discard(label)
        self._series.options = [one for one in self._series.options if one != label]
        self._usual = self._series.value = next(iter(self._series.options), "")

    def ask(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do this in another thread, and what follows in that of the page."""

        def do() -> None:
            try:
                found = work()
            except Exception as error:  # of any file; an error that nobody sees would leave the page waiting
                text = plain(str(error))
                self._later(lambda: self._failed(text))
            else:
                self._later(lambda: self._done(then, found))

        _READER.submit(do)

    def _failed(self, text: str) -> None:
        self._busy = False
        self.told.text = text

    def _done(self, then: Callable[[Any], None], found: Any) -> None:
        self._busy = False
        then(found)


def plain(text: str) -> str:
    """A text of a file or of a user as HTML."""
    return escape(visible(text))
