"""What of a case a device does not compute yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .case import Case


def not_on_device(case: Case) -> Iterator[tuple[str, str]]:
    """Key and reason of what in the case does not go with a device. Local."""
    if case.numerics.device == "cpu":
        return
    grid, numerics = case.grid, case.numerics
    found = {
        "grid.stretching where z is not periodic": grid.stretching and grid.sides[2] != "periodic",
        "parallel.rows": case.parallel.rows > 1,
        "body": case.body,
        "scalar": case.scalar,
        "numerics.implicit_y": numerics.implicit_y,
        "numerics.eddy_viscosity": numerics.eddy_viscosity,
        "numerics.wall_divergence": numerics.wall_divergence != "mirrored",
    }
    for key, value in found.items():
        if value:
            yield "numerics.device", f"'gpu' does not go with {key} yet; leave that out, or take 'cpu'"
