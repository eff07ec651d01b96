"""A setting of benchmarks that write, and its cells: data, directory and number of ranks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..records.records import Cell
from ..records.variants import Variant


@dataclass(frozen=True)
class IoSetting:
    """One size in one directory on one number of ranks."""

    directory: str
    ranks: int
    decomposition: tuple[int, int, int]
    shape: tuple[int, int, int]
    halo: int = 0
    variables: int = 1
    steps: int = 1
    precision: str = "float64"
    source: str = ""
    bench: str = "io"

    @property
    def bytes(self) -> int:
        """Bytes of all values that are written."""
        nx, ny, nz = self.shape
        return nx * ny * nz * self.point_bytes * self.steps

    @property
    def point_bytes(self) -> int:
        """Bytes of the values of one point in one step."""
        return self.variables * (4 if self.precision == "float32" else 8)

    def cell(self, operation: str, cache: str, variant: Variant) -> Cell:
        """The cell of a variant."""
        return Cell(
            operation=operation,
            name=variant.name,
            engine=variant.engine,
            parameters=variant.parameters,
            cache=cache,
            **asdict(self),
        )

    def limit(self, operation: str, cache: str, name: str) -> Cell:
        """The cell of a limit."""
        return Cell(operation=operation, name=name, role="limit", cache=cache, **asdict(self))
