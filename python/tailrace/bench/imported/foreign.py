"""Files of other programs: bounded reading, and the names of their runs."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from tailrace.files.regular import open_regular
from tailrace.text import size

MOST = 256 << 20  # bytes of a file; results of benchmarks have far fewer


class ForeignError(ValueError):
    """A file has no results of another program. The message has the file, what was expected, and what was found."""


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """The content of a file.

    :param most: bytes; a larger file is refused before more of it is read.
    :raises ForeignError: the file is larger, is no regular file, or cannot be read.
    """
    try:
        with open_regular(path, "rb") as file:
            content: bytes = file.read(most + 1)
    except OSError as error:
        raise ForeignError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(content) > most:
        raise ForeignError(f"{path}: expected at most {size(most)} of results of a benchmark, found more")
    return content


def text_of(content: bytes, path: Path) -> str:
    """The text of a file. Raises ForeignError if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ForeignError(f"{path}: expected text in UTF-8, found another byte at position {error.start}") from None


def run_name(program: str, content: bytes) -> str:
    """The name of the run of a file. It depends on the content only."""
    return f"{program}-{hashlib.sha256(content).hexdigest()[:16]}"


def version() -> str:
    """The version of this program, which made the records."""
    return metadata.version("tailrace")


def shortened(text: str, most: int = 60) -> str:
    """A text, shortened for a message."""
    return repr(text if len(text) <= most else text[:most] + " ...")
