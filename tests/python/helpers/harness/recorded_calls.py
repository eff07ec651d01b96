"""The calls by which a program changes and syncs files, in their order; recorded by a library that is loaded before
the others (tests/cpp/record_calls.cpp)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
