"""Filter the messages that mpiexec adds to the errors of a failed or a stopped job."""

from __future__ import annotations

# The beginnings of Open MPI's blocks that only repeat that ranks ended with an error.
_REPEATED = (
    "Primary job  terminated normally, but",
    "mpiexec detected that one or more processes exited with non-zero status",
    "mpirun detected that one or more processes exited with non-zero status",
    "MPI_ABORT was invoked on rank",
)
# Lines that tell how a request to stop, of which the run itself tells, reaches the ranks.
_INNER = ("mpiexec: Forwarding signal ", "mpirun: Forwarding signal ")
_LEAST_DASHES = 60  # in the lines around a block
_MOST_LINES = 40  # lines of a block; a longer text is not a block


def _is_border(line: str) -> bool:
    return len(line) >= _LEAST_DASHES and not line.strip("-")


def _may_be_inner(tail: str) -> bool:
    return any(begin.startswith(tail) or tail.startswith(begin) for begin in _INNER)


class Filter:
    """Takes text in pieces, and returns it without the blocks that only repeat an error and without inner lines.

    Text is held back only inside a block, and while it may be the beginning of one or of such a line.
    """

    def __init__(self) -> None:
        self._line = ""  # the held-back part of an incomplete line
        self._block: list[str] = []

    def feed(self, text: str) -> str:
        """Take the next piece; returns the text that may be shown now."""
        *lines, tail = (self._line + text).split("\n")
        shown = "".join(self._take(line) for line in lines)
        hold = bool(self._block) or (tail != "" and (not tail.strip("-") or _may_be_inner(tail)))
        self._line = tail if hold else ""
        return shown if hold else shown + tail

    def close(self) -> str:
        """End the text; returns the held-back rest."""
        held = "".join(f"{line}\n" for line in self._block) + self._line
        self._block, self._line = [], ""
        return held

    def _take(self, line: str) -> str:
        if not self._block and not _is_border(line):
            return "" if line.startswith(_INNER) else line + "\n"
        ends = bool(self._block) and _is_border(line)
        self._block.append(line)
        if not ends and len(self._block) <= _MOST_LINES:
            return ""
        block, self._block = self._block, []
        repeated = ends and len(block) > 2 and block[1].startswith(_REPEATED)
        return "" if repeated else "".join(f"{one}\n" for one in block)
