"""Copy what a job prints to the streams of this program, in threads that end with the job.

A job that wrote to standard output itself would be ended by a reader that goes away, and by a full disk.
"""

from __future__ import annotations

import codecs
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO

from .mpi_messages import Filter


def output_of(source: IO[bytes]) -> threading.Thread:
    """Copy to standard output. Where that fails, the rest is still taken from the job, which must not wait."""

    def show(text: str) -> None:
        with suppress(SystemExit):  # `streams` has said why, and ends the command when the job has ended
            sys.stdout.write(text)
            sys.stdout.flush()

    return _started(source, lambda: _decoded(source), show)


def errors_of(source: IO[bytes]) -> threading.Thread:
    """Copy to standard error, without what mpiexec repeats."""

    def show(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    return _started(source, lambda: _filtered(source), show)


def _started(source: IO[bytes], texts: Callable[[], Iterator[str]], show: Callable[[str], None]) -> threading.Thread:
    def work() -> None:
        with source:
            for text in texts():
                show(text)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _decoded(source: IO[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while piece := source.read1(65536):  # type: ignore[attr-defined] # of a pipe
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _filtered(source: IO[bytes]) -> Iterator[str]:
    found = Filter()
    yield from map(found.feed, _decoded(source))
    yield found.close()
