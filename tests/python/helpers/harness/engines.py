"""The engines that the fault tests go through: a line for each; nothing about engines is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.core import EngineTraits, engine_traits


@dataclass(frozen=True)
class Engine:
    """A way to store a series, and what it can do.

    Every `False` is a gap that docs/io/limits.md names.
    """

    label: str
    name: str
    place: str  # file or directory of the series
    parameters: Mapping[str, object] = field(default_factory=dict)
    is_file: bool = False  # else a directory
    every_rank_writes: bool = True  # else the lowest of each group, rank 0 among them
    steps_apart: bool = False  # damage in the data of a step leaves the others readable
    spares_strangers: bool = True  # writes beside other files in its directory; else it refuses to

    @property
    def traits(self) -> EngineTraits:
        """What the engine is."""
        return engine_traits(self.name)

    def path(self, folder: Path) -> Path:
        """Where its series lies in a folder."""
        return folder / self.place

    def __str__(self) -> str:
        return self.label


ENGINES = [
    Engine("raw", "raw", "run", steps_apart=True),
    Engine("raw-dist", "raw", "run", {"strategy": "dist"}, steps_apart=True),
    Engine("raw-table", "raw", "run", {"strategy": "dist", "blocks": "table"}, steps_apart=True),
    Engine("raw-collect", "raw", "run", {"strategy": "collect"}, every_rank_writes=False, steps_apart=True),
    Engine("raw-collect_xy", "raw", "run", {"strategy": "collect_xy"}, steps_apart=True),
    Engine("mpiio", "mpiio", "run", {"collect_bytes": 0}, steps_apart=True),
    Engine("mpiio-collective", "mpiio", "run", {"transfer": "collective", "collect_bytes": 0}, steps_apart=True),
    Engine("mpiio-small", "mpiio", "run", every_rank_writes=False, steps_apart=True),
    Engine("hdf5", "hdf5", "run.vtkhdf", is_file=True),
    Engine("hdf5-gzip", "hdf5", "run.vtkhdf", {"compression": "gzip", "chunk_bytes": 3000}, is_file=True),
    Engine("hdf5-table", "hdf5", "run.vtkhdf", {"blocks": "table"}, is_file=True),
    Engine("bp4", "bp4", "run.bp4", spares_strangers=False),
    Engine("bp5", "bp5", "run.bp", spares_strangers=False),
    Engine("adios_hdf5", "adios_hdf5", "run.adios_hdf5"),
    Engine("sion", "sion", "run.sion", steps_apart=True),
    Engine("sion-files", "sion", "run.sion", {"files": 2, "chunk_bytes": 3000}, steps_apart=True),
]

KINDS = list({engine.name: engine for engine in reversed(ENGINES)}.values())[::-1]  # the first line of each engine
