"""The two jobs of `tailrace bench couple`, started and ended by one program that reports to the benchmark."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import deque
from types import FrameType
from typing import NoReturn

from tailrace import processes
from tailrace.text import counted, message

from ..ranks import launch

_GRACE = 5.0  # seconds that a job gets to end after the request; the benchmark gives this program more
_END = 30.0  # seconds that the consumer gets to end after the producer
_LINES = 60  # the last lines of the errors of a job that are kept


def start(ranks: int, words: list[str]) -> subprocess.Popen[str]:
    """A program that runs the job of a producer, and that of its consumer beside it; see `driver.Start`.

    :param words: the words of the producer's job, as `Driver` gives them.
    """
    return launch.begin(launch.job(1, ["bench", "pair", words[-1]]), subprocess.PIPE)


def run(word: str) -> int:
    """Run the job of a producer and that of its consumer; both have ended when this returns.

    The output of the producer becomes that of this program. Returns 1 if one of them has failed; then a line of the
    errors says which and why.
    """
    from tailrace.bench.couple.producer import ProducerProgram
    from tailrace.bench.ranks.job import Job

    signal.signal(signal.SIGTERM, _stop)
    job = Job.from_word(word)
    assert isinstance(job.program, ProducerProgram)
    other = job.program.other(job)
    sides: list[_Side] = []
    try:
        for name, one, out in (("consumer", other, subprocess.DEVNULL), ("producer", job, None)):
            sides.append(_Side(name, one.ranks, one.to_word(), out))
        consumer, producer = sides
        error = _wait(consumer, producer)
        if error:
            print(message(error), file=sys.stderr, flush=True)
        return 1 if error else 0
    finally:
        for side in sides:
            side.end()


class _Side:
    def __init__(self, name: str, ranks: int, word: str, out: int | None) -> None:
        self._name = f"{name} ({counted(ranks, 'rank')})"
        self.process = launch.begin(launch.job(ranks, ["bench", "ranks", word], alone=False), out)
        self._errors: deque[str] = deque(maxlen=_LINES)
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def failed(self) -> str:
        """How it failed; "" if it has not failed, or not yet."""
        from tailrace.bench.ranks.driver import told

        code = self.process.poll()
        if not code:
            return ""
        self._thread.join(_GRACE)
        how = f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return ": ".join(filter(None, [f"SideError: the {self._name} was {how}", told(self._errors)]))

    def end(self) -> None:
        """End it with all its ranks, if it has not ended."""
        if self.process.poll() is None:
            processes.stop(self.process, _GRACE)


def _wait(consumer: _Side, producer: _Side) -> str:
    """Wait until the producer has ended, or the consumer has failed. Returns what failed."""
    while producer.process.poll() is None:
        if error := consumer.failed():
            return error
        time.sleep(0.05)
    if error := producer.failed():
        # If one dies, the other may fail soon after, and both are seen at once. An error says more than a signal.
        return error
    try:
        consumer.process.wait(_END)
    except subprocess.TimeoutExpired:
        return f"SideError: the consumer did not end within {_END:g} s after the producer"
    return ""


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
