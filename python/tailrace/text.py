"""Texts for users: sizes, lengths of time, functions, what strangers wrote, and where it goes. All is local."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

# Controls of a terminal, ends of lines, marks that turn the direction of a text, and what UTF-8 or HTML do not allow.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: object, *, lines: bool = False) -> str:
    """A text as it may be shown: files of strangers hold texts that would move the cursor, or look like others.

    Such characters are written as JSON and TOML write them: \\u001b.

    :param lines: the text may have several lines, and tabs; else these are escaped too.
    """
    return _UNSEEN.sub(lambda found: found[0] if lines and found[0] in "\n\t" else _escaped(found[0]), str(text))


def _escaped(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def message(text: object) -> str:
    """A message as it may be shown. Its further lines are indented: none can look like a message of its own."""
    return re.sub(r"\n(?=\S)", "\n  ", visible(text, lines=True))


def reason(error: BaseException, known: str = "") -> str:
    """Why something failed. Of a failure of the system the file comes first, unless `known` has its name."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    named = "" if error.filename is None else str(error.filename)
    return error.strerror if not named or named in known else f"{named}: {error.strerror}"


def size(count: float) -> str:
    """A number of bytes: 12 bytes, 1.0 KiB, 12.5 MiB, 3.0 TiB."""
    if count < 1024:
        return f"{count:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} TiB"


def counted(number: int, what: str) -> str:
    """A number of things: 1 step, 3 steps."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """A length of time: 42 s, 3 min 05 s, 2 h 10 min, 3 d 04 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def named(work: Callable[..., object]) -> tuple[str, Path]:
    """The name of a function and its file, for messages."""
    inner = inspect.unwrap(getattr(work, "func", work))  # of a functools.partial
    try:
        path = inspect.getfile(inner)
    except TypeError:  # an object with __call__, or a function of C
        path = getattr(inspect.getmodule(type(inner)), "__file__", None) or "Python"
    return getattr(inner, "__name__", type(inner).__name__), Path(path)


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple. One alone may be given as it is; a string is no list of letters."""
    return (given,) if isinstance(given, str) else tuple(given)


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal. Open MPI always gives its ranks a pseudo-terminal, but one without a size."""
    if not stream.isatty():
        return False
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError):  # not a file of the system: what isatty says must be enough
        return True
