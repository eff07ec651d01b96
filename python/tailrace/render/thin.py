"""Fields that were stored at one point or along a line, as curves: over time, and over the coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .curves import Curve
from .quantities import arrays, quantity, stored_shape
from .style import AXES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep


def points(step: StoredStep) -> list[str]:
    """The names of the fields of which one point is stored, as by a probe."""
    return [name for name in arrays(step) if max(stored_shape(step, name)) == 1]


def lines(step: StoredStep) -> list[str]:
    """The names of the fields that are stored along a line."""
    return [
        name for name in arrays(step) if sorted(stored_shape(step, name))[:2] == [1, 1] and name not in points(step)
    ]


def line_curve(step: StoredStep, path: str, name: str, label: str, note: str) -> Curve:
    """A field along its line.

    :raises PlotError: the step has no such field.
    """
    shown = quantity(step, name, path)
    axis = AXES[int(np.argmax(shown.shape))]
    values = np.ravel(shown.read(None)).astype(float)
    known = step.known.coordinates()
    places: NDArray[Any] | None = known[AXES.index(axis)] if known is not None else None
    if places is None or len(places) != len(values):
        return Curve(name, np.arange(len(values), dtype=float), values, f"node along {axis}", label, note)
    return Curve(name, places, values, axis, label, note)
