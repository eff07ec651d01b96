"""What of a case a device does not compute yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sections.grid_section import GridSection
    from .sections.numerics_section import NumericsSection

_LONGEST = 1056  # nodes in a direction: 32 lanes of 33 rows


def not_on_device(
    grid: GridSection, numerics: NumericsSection, others: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """Key and reason of what in a case does not go with a device. Local.

    :param others: by its key, what of other sections does not, where it is true.
    """
    if numerics.device == "cpu":
        return
    found = {
        "grid.stretching where z is not periodic": grid.stretching and grid.sides[2] != "periodic",
        f"grid.points of more than {_LONGEST}": max(grid.points) > _LONGEST,
        "numerics.implicit_y": numerics.implicit_y,
        "numerics.eddy_viscosity": numerics.eddy_viscosity,
        "numerics.wall_divergence": numerics.wall_divergence != "mirrored",
        **others,
    }
    for key, value in found.items():
        if value:
            yield (
                "numerics.device",
                f"'gpu' does not go with {key} yet; leave out that key, or take numerics.device = 'cpu'",
            )
