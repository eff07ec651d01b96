"""What makes a random velocity zero at the ends of a box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Window:
    """The product of sin^2(pi s / length) over the directions that are not periodic, and its gradient. Local.

    :raises InputError: there are not three lengths and three boundaries.
    """

    def __init__(self, lengths: Sequence[float], boundaries: Sequence[str]) -> None:
        if len(lengths) != 3 or len(boundaries) != 3 or isinstance(boundaries, str):
            raise InputError(f"expected three lengths and three boundaries; found {lengths!r} and {boundaries!r}")
        self._rates = [
            0.0 if kind == "periodic" else math.pi / length for length, kind in zip(lengths, boundaries, strict=True)
        ]
        self.is_one = not any(self._rates)

    def __call__(self, x: Array, y: Array, z: Array) -> Array:
        """Its values at the points of x (1, 1, nx), y (1, ny, 1) and z (nz, 1, 1)."""
        a, b, c = (self._line(rate, line) for rate, line in zip(self._rates, (x, y, z), strict=True))
        return a * b * c

    def gradient(self, x: Array, y: Array, z: Array) -> list[Array]:
        """Its derivatives along x, y and z."""
        places = list(zip(self._rates, (x, y, z), strict=True))
        found = []
        for d in range(3):
            a, b, c = (self._slope(*one) if i == d else self._line(*one) for i, one in enumerate(places))
            found.append(a * b * c)
        return found

    @staticmethod
    def _line(rate: float, line: Array) -> Array:
        """One value at a time: NumPy's functions of arrays may round by the place in the array."""
        values = [math.sin(rate * s) ** 2 if rate else 1.0 for s in line.ravel().tolist()]
        return np.array(values, dtype=np.float64).reshape(line.shape)

    @staticmethod
    def _slope(rate: float, line: Array) -> Array:
        values = [rate * math.sin(2 * rate * s) for s in line.ravel().tolist()]
        return np.array(values, dtype=np.float64).reshape(line.shape)
