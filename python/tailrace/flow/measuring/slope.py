"""The time derivative of what is known at a few times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray


def last_slope(times: Sequence[float], values: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """The derivative at the last time of the polynomial through all values, by Newton's divided differences. Local.

    :param times: growing, any distances; one time or more.
    :param values: numbers or arrays of one shape. The derivative of a single one is not a number.
    """
    back = [float(time) for time in reversed(times)]
    column = [np.asarray(value, np.float64) for value in reversed(values)]
    slope, product = np.zeros_like(column[0]), 1.0
    for order in range(1, len(back)):
        column = [(a - b) / (back[at] - back[at + order]) for at, (a, b) in enumerate(pairwise(column))]
        slope = slope + product * column[0]
        product *= back[0] - back[order]
    return np.asarray(slope if len(back) > 1 else np.full_like(slope, np.nan))
