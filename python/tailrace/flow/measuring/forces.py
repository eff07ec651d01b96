"""Forces on a body, by the balance of momentum in a box around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import ControlVolume32, ControlVolume64, Flow32, Flow64, Grid, InputError

from .slope import last_slope

if TYPE_CHECKING:
    from numpy.typing import NDArray

Span = tuple[float, float] | None
"""From where to where a box goes along a direction; None: all of it."""


@dataclass
class ControlVolume:
    """The force of the fluid on what is inside a box: the pressure and the viscous stress on the faces of the box, less
    what momentum flows out through them and what momentum the fluid in the box gains.

    :param spans: of the box in x, y and z. Ends move to the next node. A periodic direction that is covered as a whole
        has no faces. Faces should be some nodes away from the body.
    :raises InputError: where a span is not within the grid or holds no cell.

    The momentum of the last steps is kept for the time derivative, of second order (first after one step): a checkpoint
    must hold `state`, pairs of a time and a momentum. All but `forget` are collective.
    """

    flow: Flow64 | Flow32
    grid: Grid
    spans: tuple[Span, Span, Span]
    state: list[tuple[float, list[float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        first, last = zip(*(_nodes(self.grid, d, span) for d, span in enumerate(self.spans)), strict=True)
        self.nodes: tuple[int, ...] = (*first, *last)
        self._volume: ControlVolume64 | ControlVolume32
        if isinstance(self.flow, Flow64):
            self._volume = ControlVolume64(self.flow, first, last)
        else:
            self._volume = ControlVolume32(self.flow, first, last)

    def before_step(self, time: float) -> None:
        """Keep the momentum before a step: so a force does not depend on where others are asked for."""
        if not self.state or self.state[-1][0] != time:
            self._keep(time)

    def __call__(self, time: float) -> NDArray[np.float64]:
        """The force (x, y, z) at this time, for a density of one; not a number where no step led to it."""
        self._keep(time)
        parts = self._volume.balance()
        gain = last_slope(*zip(*self.state, strict=True))
        outside = [np.asarray(parts[name]) for name in ("pressure", "viscous", "driving")]
        return np.asarray(sum(outside) - np.asarray(parts["convection"]) - gain)

    def forget(self) -> None:
        """The velocity was changed at once: what was kept is not what the forces made of it. Local."""
        self.state = []

    def _keep(self, time: float) -> None:
        self.state = [entry for entry in self.state if entry[0] < time][-2:]
        self.state.append((time, list(self._volume.momentum())))


def _nodes(grid: Grid, d: int, span: Span) -> tuple[int, int]:
    x = np.asarray(grid.coordinates(d))
    if span is None:
        return 0, len(x) - 1
    first, last = (int(np.abs(x - place).argmin()) for place in span)
    step = (x[-1] - x[0]) / (len(x) - 1)
    if not (x[0] - step / 2 <= span[0] < span[1] <= x[-1] + step / 2) or first >= last:
        raise InputError(
            f"a box for forces goes from {span[0]:g} to {span[1]:g} in {'xyz'[d]}; expected a span within "
            f"{x[0]:g} .. {x[-1]:g} with two nodes at least, the lower end first"
        )
    return first, last
