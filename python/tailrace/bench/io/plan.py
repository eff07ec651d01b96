"""What the benchmarks of output have in common: ranks, sizes, engines, and their settings. All is local."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tailrace.io.placement import Triple

from ..ranks.partition import parts_of, shapes_of
from ..records.variants import USUAL, Way, way_of
from .setting import IoSetting


@dataclass(frozen=True)
class OutputPlan:
    """What is measured: every engine, on every number of ranks, of every size."""

    ranks: tuple[int, ...]
    whole: tuple[Triple, ...] = ()  # sizes that all numbers of ranks share: strong scaling
    each: tuple[Triple, ...] = ()  # sizes of a rank's part: weak scaling
    engines: tuple[str, ...] = USUAL
    decomposition: str = "pencils"
    rounds: int = 5
    seed: int = 0

    @property
    def ways(self) -> tuple[Way, ...]:
        """:raises ValueError: an engine is not known."""
        return tuple(way_of(text) for text in self.engines)

    def settings(self, bench: str, ranks: int, places: Iterable[str], nodes: int, steps: int) -> list[IoSetting]:
        """Every size in every directory.

        :param bench: the name of the benchmark.
        :param places: the user's names of directories.
        :raises ValueError: the numbers do not fit each other.
        """
        parts = parts_of(self.decomposition, ranks)
        return [
            IoSetting(name, ranks, min(nodes, ranks), parts, shape, steps=steps, bench=bench)
            for name in places
            for shape in shapes_of(self.whole, self.each, parts)
        ]
