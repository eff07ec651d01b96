"""The calls by which a program changes and syncs files, in their order; recorded by a library that is loaded before
the others (tests/cpp/record_calls.cpp), or in Python by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

LIBRARY = Path(__file__).parents[4] / "build/python/tests/cpp/librecord_calls.so"


@dataclass(frozen=True)
class Call:
    """A call that succeeded: create, write, truncate, sync, rename or unlink.

    :param more: offset and size of a write, the new path of a rename.
    """

    process: int
    name: str
    path: Path
    more: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.name, self.path.name, *(Path(word).name for word in self.more)))


def environment(folder: Path, log: Path) -> dict[str, str]:
    """What a program needs in its environment so that its calls below `folder` are recorded in `log`."""
    if not LIBRARY.exists():
        pytest.skip(f"there is no {LIBRARY}. To build it, run tools/setup.sh and cmake --build build/python")
    return {
        "LD_PRELOAD": str(LIBRARY),
        "TAILRACE_RECORD_BELOW": str(folder.resolve()),
        "TAILRACE_RECORD_TO": str(log),
    }


def calls(log: Path) -> list[Call]:
    """What was recorded."""
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    return [Call(int(process), name, Path(path), tuple(more)) for process, name, path, *more in lines]


def in_python(patched: pytest.MonkeyPatch, *names: str) -> list[tuple[str, Path]]:
    """The calls of these functions of `os` from now on, with the path that each changes or syncs, in their order."""
    found: list[tuple[str, Path]] = []

    def recorded(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def work(first: Any, *arguments: Any, **options: Any) -> Any:
            found.append((name, Path(f"/proc/self/fd/{first}").readlink() if isinstance(first, int) else Path(first)))
            return call(first, *arguments, **options)

        return work

    for name in names:
        patched.setattr(os, name, recorded(name, getattr(os, name)))
    return found
