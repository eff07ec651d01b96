"""Filter the messages that mpiexec adds to the errors of a failed job."""

from __future__ import annotations

import codecs
import sys
import threading
from collections.abc import Iterator
from typing import IO

# The beginnings of Open MPI's blocks that only repeat that ranks ended with an error.
_REPEATED = (
    "Primary job  terminated normally, but",
    "mpiexec detected that one or more processes exited with non-zero status",
    "mpirun detected that one or more processes exited with non-zero status",
    "MPI_ABORT was invoked on rank",
)
_LEAST_DASHES = 60  # in the lines around a block
_MOST_LINES = 40  # lines of a block; a longer text is not a block


def _is_border(line: str) -> bool:
    return len(line) >= _LEAST_DASHES and not line.strip("-")


class Filter:
    """Takes text in pieces, and returns it without the blocks that only repeat an error.

    Text is held back only inside a block, and while it may be the beginning of one.
    """

    def __init__(self) -> None:
        self._line = ""  # the held-back part of an incomplete line
        self._block: list[str] = []

    def feed(self, text: str) -> str:
        """Take the next piece; returns the text that may be shown now."""
        *lines, tail = (self._line + text).split("\n")
        shown = "".join(self._take(line) for line in lines)
        hold = bool(self._block) or (tail != "" and not tail.strip("-"))
        self._line = tail if hold else ""
        return shown if hold else shown + tail

    def close(self) -> str:
        """End the text; returns the held-back rest."""
        held = "".join(f"{line}\n" for line in self._block) + self._line
        self._block, self._line = [], ""
        return held

    def _take(self, line: str) -> str:
        if not self._block and not _is_border(line):
            return line + "\n"
        ends = bool(self._block) and _is_border(line)
        self._block.append(line)
        if not ends and len(self._block) <= _MOST_LINES:
            return ""
        block, self._block = self._block, []
        repeated = ends and len(block) > 2 and block[1].startswith(_REPEATED)
        return "" if repeated else "".join(f"{one}\n" for one in block)


def forward(source: IO[bytes]) -> threading.Thread:
    """Copy the errors of a job to standard error, filtered, in a thread that ends with them."""

    def work() -> None:
        with source:
            for text in _filtered(source):
                sys.stderr.write(text)
                sys.stderr.flush()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _filtered(source: IO[bytes]) -> Iterator[str]:
    found, decoder = Filter(), codecs.getincrementaldecoder("utf-8")("replace")
    while piece := source.read1(65536):  # type: ignore[attr-defined] # of a pipe
        yield found.feed(decoder.decode(piece))
    yield found.feed(decoder.decode(b"", final=True)) + found.close()
