"""Series opened with a guard: a child process looks at what may crash a library."""

from __future__ import annotations

from typing import Any

import tailrace as tr


def try_to_open(comm: Any, path: str, mode: str) -> str:
    """The error, or that it was opened."""
    try:
        tr.open(path, mode, comm=comm, guard=True)
    except tr.IoError as error:
        return str(error)
    return "opened"


def open_beside(comm: Any, path: str) -> list[Any]:
    """What opening to read and to append gave, and how many steps a new series beside it has."""
    found: list[Any] = [try_to_open(comm, path, mode) for mode in ("r", "a")]
    with tr.open(f"{path}.new.bp", "a", comm=comm, guard=True) as out:
        return [*found, len(out)]
