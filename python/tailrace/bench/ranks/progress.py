"""The progress of a benchmark: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console

from tailrace.text import duration

_EVERY = 30.0  # seconds between lines without a terminal


class Progress:
    """Shows the finished and the expected tasks."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._began = self._said = time.monotonic()
        self._expected = self._base = self._last = 0
        self._bar = (
            rich.progress.Progress(
                rich.progress.BarColumn(),
                rich.progress.TaskProgressColumn(),
                rich.progress.TimeRemainingColumn(),
                rich.progress.TextColumn("{task.description}", markup=False),
                console=console,
                transient=True,
            )
            if console.is_terminal
            else None
        )
        self._task = None if self._bar is None else self._bar.add_task("", total=None)

    def expect(self, tasks: int) -> None:
        """A job of `tasks` tasks begins. Tasks that an earlier job left out count as done."""
        self._base = self._expected
        self._expected += tasks

    def show(self, done: int, text: str) -> None:
        """Show that `done` tasks are finished; `text`: the current task, "" if unchanged."""
        done = max(done, self._base)
        self._last = done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=self._expected, description=text or None)
        elif text and time.monotonic() - self._said > _EVERY:
            self._said = time.monotonic()
            spent = duration(self._said - self._began)
            print(f"{done} of {self._expected} done after {spent}; {text}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
