"""Sizes, lengths of time and functions of users in words, and where words go. All functions are local."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import TextIO


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


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal. Open MPI always gives its ranks a pseudo-terminal, but one without a size."""
    if not stream.isatty():
        return False
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError):  # not a file of the system: what isatty says must be enough
        return True
