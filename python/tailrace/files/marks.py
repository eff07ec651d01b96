"""Marks: the first bytes by which Tailrace recognises its own files, which it may replace.

A program that is killed, or a power failure, may leave a file of ours without its mark: empty, of zeros, or with the
first bytes of the mark and then zeros. Such a file holds no data, and counts as ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailrace.core import is_foreign_file

from .regular import open_regular

_HEAD = 65536  # bytes at the start of a file that are searched for a mark
_PIECE = 1 << 20


@dataclass(frozen=True)
class Mark:
    """The first bytes of a kind of file.

    :param kind: what messages call such a file.
    :param start: it begins with this ...
    :param then: ... and this regular expression matches what follows.
    :param is_foreign: returns whether a file is of another kind, if a library must tell it instead of the first bytes.
    """

    kind: str
    start: bytes = b""
    then: bytes = b""
    is_foreign: Callable[[str], bool] | None = None

    def matches(self, head: bytes) -> bool:
        """Whether a file begins with the mark."""
        return re.match(re.escape(self.start) + self.then, head) is not None


TIME_SERIES = Mark("time series of Tailrace", b"# Tailrace time series\n")
HDF5_SERIES = Mark("series of Tailrace", is_foreign=is_foreign_file)
JOURNAL = Mark("journal of a series", b"tlracej3")
LOCK = Mark("lock of Tailrace", b"", rb"\d+ \d+ \S+ \S+\s")
TRACE = Mark("trace of Tailrace", b'{"traceEvents":[\n{"args":{"name":"rank 0: ')
FOLDED = Mark("profile of Tailrace", b"rank ", rb"\d+(;[a-z]+)+ \d+\n")
EARLIER_RECORD = Mark("record of earlier results", b'{"tailrace": "earlier results"')
CONTACT = Mark("contact file of a stream", b"#ADIOS2-SST")
FILM = Mark("film of Tailrace", b"", rb"(?s:(.{4}ftyp|\x1a\x45\xdf\xa3).*Tailrace film)")
PICTURE = Mark("picture of Tailrace", b"\x89PNG", rb"(?s:.{0,300}Tailrace picture)")
EXECUTIONS = Mark("record of a pipeline", b'{"tailrace": "executions of a pipeline"')
DATABASE = Mark("database of pictures of Tailrace", b"step,time", rb"(,\w+)*,FILE\r?\n")
STREAM_RECORD = Mark("record of a stream", b"{", rb'"addresses":.*"begun":\d+.*"process":\d+.*"token":')


def is_ours(path: Path, mark: Mark) -> bool:
    """Whether a regular file has the mark, or holds no data.

    :raises OSError: it cannot be read, or is a named pipe, a socket or a device.
    """
    if mark.is_foreign is not None:
        return not mark.is_foreign(str(path))
    with open_regular(path, "rb") as file:
        head = file.read(_HEAD)
        if mark.matches(head):
            return True
        if not mark.start.startswith(head.rstrip(b"\0")):
            return False
        return not any(piece.strip(b"\0") for piece in iter(lambda: file.read(_PIECE), b""))


def why_foreign(path: Path, mark: Mark) -> str:
    """Why a new file with the mark must not replace what is at `path`; "" if it may.

    :raises OSError: it cannot be read, or is a named pipe, a socket or a device.
    """
    if not path.exists() or (not path.is_dir() and is_ours(path, mark)):
        return ""
    return f"{path} is there already, and is no {mark.kind}; choose another path, or move it away"
