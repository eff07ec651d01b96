"""The uncertainty of a prediction: Monte Carlo over the figures of a profile.

Every figure of a profile is multiplied by a log-normal factor with median 1, whose standard deviation the profile
states, and every engine by one more of `residual_factor`. Draws have a fixed seed: equal questions get equal answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .load import Load
from .model import predict_pattern, stripes_of
from .pattern import pattern_of
from .profile import FIGURES, Profile

DRAWS = 400
SEED = 1974
LOW, HIGH = 0.1, 0.9  # the quantiles that are stated: four of five draws lie between


@dataclass(frozen=True)
class StripedVariant:
    """An engine with its parameters and the stripes of its files."""

    engine: str
    parameters: Mapping[str, Any]
    stripes: int | None = None

    @property
    def name(self) -> str:
        """For people: raw dist, hdf5 collective."""
        words = [str(value) for key, value in sorted(self.parameters.items()) if key in ("strategy", "transfer")]
        return " ".join([self.engine, *words])


@dataclass(frozen=True)
class Uncertainty:
    """The range that holds four of five draws, and the median."""

    low: float
    median: float
    high: float


def draws_of(profile: Profile, count: int = DRAWS) -> Profile:
    """A profile whose figures are arrays: many machines, drawn from the uncertainties of this profile."""
    numbers = np.random.default_rng(SEED).standard_normal((len(FIGURES), count))
    drawn = {}
    for key, row in zip(FIGURES, numbers, strict=True):
        value = getattr(profile, key)
        spread = math.log(profile.uncertainty.get(key, profile.default_factor))
        drawn[key] = None if value is None else value * np.exp(spread * row)
    return profile.changed(drawn)


def seconds_of(
    profile: Profile, load: Load, variants: Sequence[StripedVariant], count: int = DRAWS
) -> NDArray[np.float64]:
    """Seconds of each variant (rows) in each draw (columns); those of one column share the figures of the machine."""
    drawn = draws_of(profile, count)
    factors = np.random.default_rng(SEED + 1).standard_normal((len(variants), count)) * math.log(
        profile.residual_factor
    )
    seconds = []
    for variant in variants:
        stripes = stripes_of(profile, variant.stripes)
        pattern = pattern_of(variant.engine, variant.parameters, load, profile, stripes)
        seconds.append(predict_pattern(drawn, load, pattern, variant.engine, stripes).seconds)
    return np.array(seconds) * np.exp(factors)


def range_of(values: NDArray[np.float64]) -> Uncertainty:
    """The quantiles of a row of draws."""
    low, median, high = np.quantile(values, (LOW, 0.5, HIGH))
    return Uncertainty(float(low), float(median), float(high))
