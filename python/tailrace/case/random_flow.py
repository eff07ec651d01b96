"""Whether the random flow "isotropic" of a case fits its grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .document import Problem

if TYPE_CHECKING:
    from .sections.case_section import CaseSection
    from .sections.grid_section import GridSection

MOST_SHELLS = 64  # the amplitudes of all modes are on every rank: 50 MB at that number
_END = 4.0  # times k0: where its energy per wave number is 2e-11 of the largest
_ENOUGH = 2.3  # times k0: beyond it there is a thousandth of the energy


def shells_of(k0: float, grid: GridSection) -> int:
    """The number of shells of wave numbers n w, w = 2 pi / (longest side), that get energy: up to 4 k0, or up to what
    the grid has in all directions. Local."""
    width = 2 * math.pi / max(grid.lengths)
    shortest = min(math.pi * n / length for n, length in zip(grid.points, grid.lengths, strict=True))
    return min(math.ceil(_END * k0 / width), math.floor(shortest / width - 0.5 - 1e-9))


def problems_of(case: CaseSection, grid: GridSection) -> Iterator[Problem]:
    """What does not fit. Local."""
    if case.flow != "isotropic" or case.parameters is None or case.parameters.k0 is None:
        return
    if any(side != "periodic" for side in grid.boundaries):
        found = ", ".join(" and ".join(dict.fromkeys(ends)) for ends in grid.ends)
        yield Problem("case.flow", f"'{case.flow}' needs periodic boundaries in x, y and z (found {found})")
        return
    k0, width = case.parameters.k0, 2 * math.pi / max(grid.lengths)
    reason = ""
    if k0 < width:
        reason = f"must be at least the smallest wave number of the box, {width:g} (found {k0:g})"
    elif k0 > MOST_SHELLS / _END * width:
        reason = f"must be at most {MOST_SHELLS / _END * width:g} (found {k0:g})"
    elif shells_of(k0, grid) < _ENOUGH * k0 / width:
        shells = math.ceil(_ENOUGH * k0 / width)
        wanted = [math.floor((2 * shells + 1) * width * length / (2 * math.pi)) + 1 for length in grid.lengths]
        reason = (
            f"the grid does not have the wave numbers of this spectrum (found {k0:g}): it needs at least "
            f"{' x '.join(map(str, wanted))} points, or a smaller k0"
        )
    if reason:
        yield Problem("case.parameters.k0", reason)
