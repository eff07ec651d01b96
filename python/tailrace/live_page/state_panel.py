"""The state of runs on the page: numbers, where the time goes, what is written, the log, the case; and the stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bokeh.layouts import column, row
from bokeh.models import Button, Div

from .run_state import RunState
from .stored_choice import plain

if TYPE_CHECKING:
    from .watched_run import WatchedRun


class StatePanel:
    """Texts for one viewer, which screen readers read too, and a button where a run may be stopped."""

    def __init__(self, runs: Sequence[WatchedRun], states: Sequence[RunState]) -> None:
        self._all = [_OneState(run, state) for run, state in zip(runs, states, strict=True)]
        self.root = column(*(one.root for one in self._all), sizing_mode="stretch_width")

    def update(self) -> None:
        """Tell what is new."""
        for one in self._all:
            one.update()


class _OneState:
    def __init__(self, run: WatchedRun, state: RunState) -> None:
        self._run, self._state = run, state
        self._text = Div(text="", sizing_mode="stretch_width", name=f"state of {run.name}")
        self._stop = Button(label="Stop with a checkpoint", button_type="danger", width=220, visible=False, name="stop")
        self._sure = Button(label="Yes, stop the run", button_type="danger", width=200, visible=False, name="sure")
        self._no = Button(label="No, let it go on", width=200, visible=False, name="not sure")
        self._said = Div(text="")
        self._texts = {title: Div(text="", sizing_mode="stretch_width") for title in ("log", "case")}  # stay open
        self._stop.on_click(partial(self._ask, True))
        self._no.on_click(partial(self._ask, False))
        self._sure.on_click(self._end)
        self._is_asking = False
        buttons = row(self._stop, self._sure, self._no, self._said)
        self.root = column(self._text, buttons, *self._texts.values(), sizing_mode="stretch_width")

    def _ask(self, wanted: bool) -> None:
        self._is_asking = wanted
        self._show_buttons()

    def _may(self) -> bool:
        facts = self._run.facts
        return facts is not None and facts.control and self._state.is_running

    def _show_buttons(self) -> None:
        may = self._may()
        for button, visible in (
            (self._stop, may and not self._is_asking),
            (self._sure, may and self._is_asking),
            (self._no, may and self._is_asking),
        ):
            if button.visible != visible:
                button.visible = visible

    def _end(self) -> None:
        board = self._run.board
        if not self._is_asking or not self._may() or board is None:
            return
        self._is_asking = False
        try:
            board.stop()
            self._said.text = "The run was asked; it writes a checkpoint and ends."
        except OSError as error:
            self._said.text = plain(f"the run cannot be asked: {error}")
        self._show_buttons()

    def update(self) -> None:
        """Tell what is new."""
        told = {"log": _hidden("log", "\n".join(self._state.log())), "case": _hidden("case", self._state.case())}
        for text, shown in ((self._told(), self._text), *((told[name], one) for name, one in self._texts.items())):
            if text != shown.text:
                shown.text = text
        self._show_buttons()

    def _told(self) -> str:
        state = self._state
        phases = [(name, *(f"{one:.2f}" for one in seconds), f"{share:.1%}") for name, seconds, share in state.phases()]
        parts = [
            f"<h2>{plain(self._run.name)}</h2>",
            _table("", (), state.numbers()),
            _table("Where the time goes", ("phase", "min s", "mean s", "max s", "share"), phases),
            _table("What is written", (), state.written()),
            _table("Machine", (), state.machine()),
        ]
        return "".join(parts)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = "".join(
        f"<tr><th scope=row>{plain(first)}</th>{''.join(f'<td>{plain(one)}</td>' for one in rest)}</tr>"
        for first, *rest in rows
    )
    if not lines:
        return ""
    head = f"<tr>{''.join(f'<th scope=col>{one}</th>' for one in heads)}</tr>" if heads else ""
    style = "<style>th, td { text-align: left; padding: 0 0.8rem 0 0; vertical-align: top; }</style>"
    return f"{style}{f'<h3>{title}</h3>' if title else ''}<table>{head}{lines}</table>"


def _hidden(title: str, text: str) -> str:
    lines = "\n".join(plain(line) for line in text.splitlines())
    return f"<details><summary>{title}</summary><pre>{lines}</pre></details>" if text else ""
