"""The engines that the fault tests go through: a line for each, and nothing about engines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Engine:
    """A way to keep a series, and what may be asked of it.

    Every `False` is a gap that docs/io.md owns up to.
    """

    label: str
    name: str
    place: str  # file or directory of the series
    parameters: Mapping[str, object] = field(default_factory=dict)
    is_file: bool = False  # else a directory
    rank_may_fail: bool = True  # one rank that fails inside the engine alone is everybody's error
    goes_on: bool = True  # after a step that failed, the same series takes the next one
    steps_apart: bool = False  # damage in the data of a step leaves the others readable
    spares_strangers: bool = True  # writing anew leaves other people's files in its directory alone
    lists: bool = True  # keeps lists
    unguarded: tuple[str, ...] = ()  # files in which a flipped byte may end or mislead a reader

    def path(self, folder: Path) -> Path:
        """Where its series lies in a folder."""
        return folder / self.place

    def __str__(self) -> str:
        return self.label


ENGINES = [
    Engine("raw", "raw", "run", steps_apart=True),
    Engine("hdf5", "hdf5", "run.vtkhdf", is_file=True, lists=False),
    Engine(
        "bp5",
        "bp5",
        "run.bp",
        lists=False,
        spares_strangers=False,
        rank_may_fail=False,
        goes_on=False,
        unguarded=("md.*", "mmd.*"),
    ),
    Engine("sion", "sion", "run.sion", steps_apart=True),
    Engine("sion-files", "sion", "run.sion", {"files": 2, "chunk_bytes": 3000}, steps_apart=True),
]


def keeps_lists(name: str) -> bool:
    """Whether an engine has lists, by its own name."""
    return all(engine.lists for engine in ENGINES if engine.name == name)
