"""Whether a curve is steady: the question of who waits for a flow to be developed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INDEPENDENT = 10  # values that a mean needs, to be told from a trend
_FAR = 4.0  # errors of the mean of a half: two of the difference of its quarters, which are twice as uncertain
_EVENLY = 1024  # points for the correlation
_ENOUGH = 5  # points of a quarter


def steadiness(x: NDArray[Any], y: NDArray[Any]) -> str:
    """Whether a curve is steady in the last half of time, in words that give the numbers for it.

    The error of a mean is deviation / sqrt(n), with n = T / 2 tau independent values, where tau is the integral scale
    (Tennekes and Lumley 1972, section 6.4). Means are over x, whose distances may differ. Empty where the half has too
    few points.
    """
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 2:
        return ""
    middle, late = x[0] + 0.5 * (x[-1] - x[0]), x[0] + 0.75 * (x[-1] - x[0])
    half = x >= middle
    earlier, later = half & (x <= late), x >= late
    if min(np.count_nonzero(earlier), np.count_nonzero(later)) < _ENOUGH:
        return ""
    head, mean = f"from {x[half][0]:.4g} to {x[-1]:.4g}: ", _mean(x[half], y[half])
    deviation = np.sqrt(max(_mean(x[half], (y[half] - mean) ** 2), 0.0))
    if deviation <= 1e-9 * abs(mean) or deviation == 0:
        return f"{head}{mean:.4g} to nine digits: it is kept, or does not move yet"
    count = _independent(x[half], y[half] - mean)
    error = deviation / np.sqrt(count)
    apart = _mean(x[later], y[later]) - _mean(x[earlier], y[earlier])
    share = f"{abs(apart / mean):.1%} of it" if abs(mean) > deviation else f"{abs(apart) / deviation:.0%} of that"
    return (
        f"{head}mean {mean:.4g} ± {error:.1g}, standard deviation {deviation:.2g}; from the third to the last quarter "
        f"the mean changes by {apart:.2g} ({share}): <b>{_verdict(count, abs(apart) / error)}</b>"
    )


def _verdict(count: float, apart: float) -> str:
    """Whether so many independent values are steady whose quarters differ by so many errors of their mean."""
    if count < _INDEPENDENT:
        return f"not known to be steady: it changes too slowly for this time (about {count:.0f} independent values)"
    if apart > _FAR:
        return f"not steady: chance alone gives less (about {count:.0f} independent values)"
    return f"steady, as far as about {count:.0f} independent values tell"


def _independent(x: NDArray[Any], y: NDArray[Any]) -> float:
    """How many values of a curve with mean zero are independent: its length by twice its integral scale."""
    even = np.interp(np.linspace(x[0], x[-1], _EVENLY), x, y)
    sums = np.correlate(even, even, "full")[_EVENLY - 1 :]
    ends = np.flatnonzero(sums <= 0)
    scale = 0.5 + sums[1 : ends[0] if len(ends) else _EVENLY].sum() / sums[0]  # in intervals
    return float((_EVENLY - 1) / (2 * scale))


def _mean(x: NDArray[Any], y: NDArray[Any]) -> float:
    return float(np.trapezoid(y, x) / (x[-1] - x[0]))
