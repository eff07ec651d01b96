"""A setting of the benchmark of checkpoints, and its cells: how many elements, written and read by how many ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..records.records import Cell
from ..records.variants import Variant
from .element_lists import ElementLists, first_rows


@dataclass(frozen=True)
class CheckpointSetting:
    """One number of elements in one directory.

    :param rows: elements of all ranks.
    :param columns: coefficients of each.
    :param uneven: how much the ranks' numbers of rows differ, see `element_lists.first_rows`.
    :param seed: the seed of these numbers.
    :param writers: the number of ranks that wrote the file; equal to `ranks` when it is written.
    :param place: the name of the folder of its files.
    """

    directory: str
    ranks: int
    rows: int
    columns: int
    uneven: float
    seed: int
    writers: int
    place: str

    @property
    def bytes(self) -> int:
        """Bytes of all values."""
        return self.rows * (1 + self.columns) * 8

    def lists(self, rank: int) -> ElementLists:
        """The lists that a rank writes or reads."""
        first = first_rows(self.rows, self.ranks, self.uneven, self.seed)
        return ElementLists(self.rows, self.columns, first[rank], first[rank + 1])

    def folder(self, directory: Path, variant: Variant) -> Path:
        """The folder of the series of a variant, because two variants may have the same file name."""
        return directory / self.place / variant.name.replace("/", "_")

    def restarted_on(self, ranks: int) -> CheckpointSetting:
        """The setting for reading these files on another number of ranks, each with other rows than the writers."""
        return replace(self, ranks=ranks, seed=self.seed + 1)

    def cell(self, operation: str, cache: str, variant: Variant) -> Cell:
        """The cell of a variant."""
        return replace(
            self._cell(operation, cache), name=variant.name, engine=variant.engine, parameters=variant.parameters
        )

    def limit(self, operation: str, cache: str, name: str) -> Cell:
        """The cell of a limit."""
        return replace(self._cell(operation, cache), name=name, role="limit")

    def small(self, variant: Variant, steps: int) -> Cell:
        """The cell of the cost of metadata: one row of each rank in each of many steps."""
        cell = self.cell("metadata", "page cache", variant)
        return replace(cell, shape=(1, self.ranks), variables=1, steps=steps, source="one row of each rank")

    def _cell(self, operation: str, cache: str) -> Cell:
        source = f"lists, uneven {self.uneven:g}, seed {self.seed}"
        if operation.startswith("restart"):
            source += f", written by {self.writers}"
        return Cell(
            "checkpoint", operation, "", directory=self.directory, ranks=self.ranks,
            shape=(self.columns, self.rows), variables=2, cache=cache, source=source,
        )  # fmt: skip
