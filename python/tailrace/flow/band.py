"""A random force on a band of low wave numbers, which keeps isotropic turbulence up. All is local."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .initial.isotropic import RandomVelocity
from .initial.values import coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.case.sections.forcing_section import BandSection
    from tailrace.core import Grid


class BandForce:
    """The force in each step: another one in every step, the same in all stages of a step, free of divergence.

    A force f that lasts for a step dt and knows nothing of the velocity adds the energy <f . f> dt^2 / 2 in the mean,
    so it has <f . f> / 2 = power / dt. It follows from the seed and the number of the step alone: a resumed run has the
    same forces to the last bit (a force that is white in time: Eswaran and Pope 1988, in the limit of short times).

    :param section: [forcing.band] of a case.
    :param box: this rank's nodes (start, count in x, y, z).
    """

    def __init__(self, section: BandSection, grid: Grid, box: tuple[Any, Any]) -> None:
        self._section, self._lengths = section, list(grid.lengths)
        self._places = coordinates(grid, box)
        self._width = 2 * math.pi / max(self._lengths)
        self._shells = math.floor(section.k_max / self._width + 0.5)
        self._made: tuple[tuple[int, float], list[NDArray[np.float64]]] | None = None

    def __call__(self, step: int, dt: float) -> list[NDArray[np.float64]]:
        """The three components on this rank's nodes, (nz, ny, nx), in the step that begins after `step` steps."""
        if self._made is None or self._made[0] != (step, dt):
            self._made = ((step, dt), list(self._force(step, dt)))
        return self._made[1]

    def _force(self, step: int, dt: float) -> tuple[NDArray[np.float64], ...]:
        told = self._section

        def spectrum(k: NDArray[np.float64]) -> NDArray[np.float64]:
            inside = (k >= told.k_min * (1 - 1e-9)) & (k <= told.k_max * (1 + 1e-9))
            return np.where(inside, told.power / dt / (self._width * max(1, int(inside.sum()))), 0.0)

        force = RandomVelocity(self._lengths, spectrum, self._shells, (told.seed << 64) + step)
        return force(*self._places)
