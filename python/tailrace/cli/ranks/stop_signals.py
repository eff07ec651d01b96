"""The signals that ask a program to end the jobs that it has started."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Seconds within which a second SIGTERM is the same request: timeout(1) sends it to the program, and then to its group.
_SAME = 5.0


class StopSignals:
    """Takes SIGTERM and Ctrl-C as long as it is entered. The first is a request; a later one wants an immediate end.

    :param stop: called for the later one, in the handler of the signal.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._begun = 0.0
        self.first: int | None = None  # the number of the first signal; None: none has come
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self._begun = number, now
        elif number == signal.SIGINT or now - self._begun > _SAME:
            self._stop()
