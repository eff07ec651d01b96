"""Standard output and standard error of the command, where they are closed, are full, or nobody reads them."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

_CLOSED = OSError(errno.EBADF, "it is closed")


class WatchedStream:
    """A standard stream. At its first failure, `lost` is called; what follows goes nowhere.

    :param stream: None where it was closed when Python started.
    """

    def __init__(self, stream: TextIO | None, lost: Callable[[OSError], None]) -> None:
        self._is_closed = stream is None
        self._stream = stream or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        self._lost, self.is_lost = lost, False

    def write(self, text: str) -> int:
        """Write, or report that nobody gets it. A stream that was closed fails here, and not before."""
        try:
            if self._is_closed and not self.is_lost:
                raise _CLOSED
            return self._stream.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """Hand everything to the system, which may refuse it only now."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        if not self._is_closed:
            _to_nowhere(self._stream)
        self._lost(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Output(WatchedStream):
    """Standard output: a command whose answer is lost ends; one that computes goes on."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream, self._tell)
        self.goes_on = False

    def _tell(self, error: OSError) -> None:
        text = f"tailrace: standard output: {error.strerror}"
        if self.goes_on:
            print(f"{text}; the work goes on, and what it prints there is lost", file=sys.stderr, flush=True)
            return
        if error.errno != errno.EPIPE:  # the reader has had enough
            print(text, file=sys.stderr, flush=True)
        sys.exit(1)


def go_on_unread() -> None:
    """From now on, the command goes on where nobody can read what it prints: its results are in files."""
    if isinstance(sys.stdout, _Output):
        sys.stdout.goes_on = True


@contextmanager
def watched() -> Iterator[None]:
    """Put this around a command: it ends with a message, not with a traceback, where its output cannot be written.

    A file that is opened would get the number of a closed stream, and what libraries print; so the numbers are taken.
    """
    former = sys.stdout, sys.stderr
    _take_numbers()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files in a terminal that knows ASCII only
    output, code = _Output(sys.stdout), None
    sys.stdout = cast(TextIO, output)
    sys.stderr = cast(TextIO, WatchedStream(sys.stderr, lambda _: None))
    try:
        yield
    except SystemExit as ended:
        code = ended.code
    finally:
        with suppress(SystemExit):  # the code below says it
            output.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = former
    sys.exit(code or (1 if output.is_lost and not output.goes_on else 0))


def _take_numbers() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)


def _to_nowhere(stream: TextIO) -> None:
    """Let the system drop what the buffer of a stream still has, and what libraries print."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()
