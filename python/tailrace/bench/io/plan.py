"""What the benchmarks of output have in common: ranks, sizes, engines, and their settings. All is local."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tailrace.io.placement import Triple

from ..ranks.partition import partition_of, shapes_of
from ..records.variants import USUAL, Variant, variant_of
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
    def variants(self) -> tuple[Variant, ...]:
        """:raises ValueError: an engine is not known."""
        return tuple(variant_of(text) for text in self.engines)

    def settings(self, bench: str, ranks: int, directories: Iterable[str], nodes: int, steps: int) -> list[IoSetting]:
        """Every size in every directory.

        :param bench: the name of the benchmark.
        :param directories: the user's names of directories.
        :raises ValueError: the numbers do not fit each other.
        """
        partition = partition_of(self.decomposition, ranks)
        return [
            IoSetting(name, ranks, min(nodes, ranks), partition, shape, steps=steps, bench=bench)
            for name in directories
            for shape in shapes_of(self.whole, self.each, partition)
        ]
