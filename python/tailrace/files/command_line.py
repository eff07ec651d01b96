"""The command line that a user has given, also where it is another program that started this one for it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import MutableMapping
from pathlib import Path

_HANDED = "TAILRACE_COMMAND"  # environment variable of the ranks that a command has started

_given: list[str] = []  # what the command that started this program was given


def command() -> str:
    """The command line. Local."""
    if _given:
        return _given[0]
    program = Path(sys.argv[0]).name
    name = "tailrace" if program in ("tailrace", "__main__.py") else sys.argv[0]
    return shlex.join([name, *sys.argv[1:]])


def hand_over(environment: MutableMapping[str, str]) -> None:
    """Let a program that starts with this environment know it. Local."""
    environment[_HANDED] = command()


def take() -> None:
    """Take what was handed over; programs that this one starts do not get it. Local."""
    if text := os.environ.pop(_HANDED, ""):
        _given[:] = [text]
