"""Options of benches that write a grid: engines, ranks, sizes, parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..options import Decomposition, Engines, SizeOptions

if TYPE_CHECKING:
    from tailrace.grids import Triple

    from ..records.variants import Variant
    from .setting import IoSetting


@dataclass(frozen=True)
class GridOptions:
    """Engines, numbers of ranks, points, and how ranks share the points."""

    engines: Engines = field(default_factory=list)
    sizes: SizeOptions = field(default_factory=SizeOptions)
    decomposition: Decomposition = "pencils"

    def variants(self, usual: Sequence[str] = ()) -> tuple[Variant, ...]:
        """The engines with their parameters.

        :param usual: the engines if the user chooses none; by default `variants.USUAL`.
        :raises ValueError: an engine is not known.
        """
        from ..records.variants import USUAL, variant_of

        return tuple(variant_of(text) for text in self.engines or usual or USUAL)

    def settings(
        self, ranks: int, directories: Iterable[str], whole: Sequence[Triple], each: Sequence[Triple] = (),
        **more: Any,
    ) -> list[IoSetting]:  # fmt: skip
        """Every size in every directory on `ranks` ranks.

        :param directories: the names of the directories.
        :param whole, each: see `SizeOptions.shapes`.
        :param more: further values of a setting.
        :raises ValueError: the numbers do not fit each other.
        """
        from ..ranks.partition import partition_of
        from .setting import IoSetting

        partition = partition_of(self.decomposition, ranks)
        return [
            IoSetting(name, ranks, partition, shape, **more)
            for name in directories
            for shape in self.sizes.shapes(partition, whole, each)
        ]
