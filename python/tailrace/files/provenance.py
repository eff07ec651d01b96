"""Provenance: which program made a file, when, where, by which command and from which case.

Series and checkpoints have it as attributes, time series as comments above their columns.
"""

from __future__ import annotations

import datetime
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from tailrace.core import build_info
from tailrace.text import visible

from .case_parts import CHANGES
from .command_line import command

KEYS = ("made_by", "version", "commit", "date", "host", "ranks", "mpi", "command", "run", "source", CHANGES, "case")
_CASE = "case"
_INDENT = "  "  # before the lines of the case in a comment


def of_program(made_by: str, ranks: int) -> dict[str, Any]:
    """The provenance that this program writes, by the names of `KEYS`. Unknown values are left out.

    :param made_by: "run", "beside" (an analysis that a run has started) or "analyse".
    """
    built = build_info()
    found = {
        "made_by": made_by,
        "version": built["version"],
        "commit": built["commit"],
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host": socket.gethostname(),
        "ranks": ranks,
        "mpi": built["mpi"],
        "command": command(),
    }
    return {key: value for key, value in found.items() if value != ""}


def comments(provenance: Mapping[str, Any]) -> list[str]:
    """Lines for the head of a time series."""
    lines = []
    for key in KEYS:
        text = str(provenance.get(key, "")).rstrip("\n")
        if key == _CASE and text:
            lines += [f"{key}:", *(f"{_INDENT}{visible(line, lines=True)}".rstrip() for line in text.split("\n"))]
        elif text:
            lines.append(f"{key}: {visible(' '.join(text.split()))}")
    return lines


def of_comments(lines: Iterable[str]) -> dict[str, str]:
    """The provenance in the head of a time series. The lines come without their comment mark."""
    found: dict[str, str] = {}
    case: list[str] | None = None
    for line in lines:
        key, colon, value = line.partition(":")
        if case is not None and (line.startswith(_INDENT) or not line):
            case.append(line.removeprefix(_INDENT))
        elif colon and key in KEYS:
            case = [] if key == _CASE else None
            found[key] = value.strip()
    if case is not None:
        found[_CASE] = "\n".join(case) + "\n"
    return found
