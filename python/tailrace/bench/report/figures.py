"""Measured numbers in words: rates, seconds, shares, ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..advise.load import GIB
from ..records.summary import Spread, Summary


def significant(value: float, digits: int = 3) -> str:
    """A number with `digits` significant digits: 0.0123, 1.23, 123, 12345."""
    if value == 0:
        return "0"
    if not math.isfinite(value) or not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    power = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 9.99 with two digits is 10
    return f"{value:.{max(0, digits - 1 - power)}f}"


def seconds(value: float) -> str:
    """A time: 12.3 s, 12.3 ms, 12.3 µs."""
    factor, unit = in_unit(value)
    return f"{significant(value * factor)} {unit}"


def in_unit(value: float) -> tuple[float, str]:
    """The factor for seconds, and the unit that suits a time."""
    return next((pair for pair in ((1.0, "s"), (1e3, "ms")) if abs(value) * pair[0] >= 1 or value == 0), (1e6, "µs"))


def percent(share: float) -> str:
    """A share: 78 %, 7.8 %, 120 %."""
    return f"{significant(100 * share, 2)} %"


def times(ratio: float) -> str:
    """A ratio: 1.95 times."""
    return f"{significant(ratio)} times"


@dataclass(frozen=True)
class Figure:
    """The rounds of a cell in the unit in which users compare them."""

    low: float
    median: float
    high: float
    unit: str  # GiB/s; s if no values are moved

    def words(self) -> str:
        """The median with its unit: 2.31 GiB/s."""
        return seconds(self.median) if self.unit == "s" else f"{significant(self.median)} {self.unit}"

    def range(self) -> str:
        """The least and the most, in the unit of `words`: 1.90 to 2.40."""
        factor = in_unit(self.median)[0] if self.unit == "s" else 1.0
        return f"{significant(self.low * factor)} to {significant(self.high * factor)}"


def moves(summary: Summary) -> bool:
    """Whether a cell moves values, so that it has a rate."""
    return any(one.bytes for one in summary.rounds)


def figure_of(summary: Summary) -> Figure:
    """GiB/s of a cell, or seconds if it moves nothing."""
    if moves(summary):
        return _figure(summary.rate, GIB, "GiB/s")
    return _figure(summary.seconds, 1.0, "s")


def _figure(spread: Spread, unit: float, name: str) -> Figure:
    return Figure(spread.least / unit, spread.median / unit, spread.most / unit, name)
