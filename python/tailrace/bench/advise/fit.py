"""Fit the profile of a machine to measured writes: least squares of logarithms.

The unknowns are the logarithms of figures of the profile, so they stay positive, and a factor for each engine. The
residuals are logarithms of measured over predicted seconds; large ones count less (Huber 1964). A weak prior keeps
figures unchanged that the data do not determine. Gauss-Newton steps with Levenberg's damping start from several
points, because the model has kinks; these are smoothed at first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .load import Load
from .model import predict_pattern, stripes_of
from .pattern import Pattern, PatternError, pattern_of
from .profile import FIGURES, MOST_FACTOR, Profile

Vector = NDArray[np.float64]

PRIOR = math.log(5.0)  # standard deviation of the logarithm of a figure before the data
ENGINE_PRIOR = math.log(1.5)  # ... of the factor of an engine
NOISE = 0.2  # first guess of the standard deviation of a residual
LEAST_NOISE = 0.02
HUBER = 1.5  # beyond so many standard deviations, a residual counts linearly, not as a square
STARTS = 2
STEPS = 25
SHARPNESS = (2.0, 6.0, 20.0, math.inf)
SEED = 2006
LEAST = 1e-7  # the start of a figure that is 0: its logarithm must exist
FEWEST = 6  # observations, if all figures are fitted


class FitError(ValueError):
    """There are too few observations, or they do not fit the model."""


@dataclass(frozen=True)
class Observation:
    """The measured seconds of a write."""

    load: Load
    engine: str
    seconds: float
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stripes: int | None = None


@dataclass(frozen=True)
class Fit:
    """A fitted profile; its `residual_factor` is the factor of the residuals, its uncertainties those of the fit."""

    profile: Profile
    residuals: tuple[float, ...]  # logarithms of measured over predicted seconds, in the order of the observations
    determined: tuple[str, ...]  # figures that the data determine better than the prior

    @property
    def factor(self) -> float:
        """One standard deviation of measured over predicted seconds."""
        return self.profile.residual_factor


def fit(
    observations: Sequence[Observation], start: Profile, figures: Sequence[str] | None = None, *, engines: bool = True
) -> Fit:
    """Fit the figures of a profile.

    :param start: counts and other figures are taken from it.
    :param figures: which to fit; by default all figures of `start`, without those of networks if all is on one node.
    :param engines: also a factor for each engine.
    :raises FitError: too few observations, or one of an engine that the model does not describe.
    """
    fewest = FEWEST if figures is None else len(figures) + 1
    if len(observations) < fewest:
        raise FitError(f"a fit needs {fewest} measured ways or more (found {len(observations)})")
    patterns = _patterns(observations, start)
    names = list(figures) if figures is not None else _fittable(observations, start)
    kinds = sorted({one.engine for one in observations}) if engines else []
    problem = _Problem(observations, patterns, start, names, kinds)
    solution = min((problem.solve(first) for first in problem.starts()), key=problem.cost)
    return problem.fit_of(solution)


def _patterns(observations: Sequence[Observation], start: Profile) -> list[Pattern]:
    try:
        return [
            pattern_of(one.engine, one.parameters, one.load, start, stripes_of(start, one.stripes))
            for one in observations
        ]
    except PatternError as error:
        raise FitError(str(error)) from None


def _fittable(observations: Sequence[Observation], start: Profile) -> list[str]:
    one_node = all((one.load.nodes or start.nodes(one.load.ranks)) == 1 for one in observations)
    held = {"network_gib_per_s_per_node", "client_gib_per_s_per_node"} if one_node else set()
    return [key for key in FIGURES if key not in held and getattr(start, key) is not None]


class _Problem:
    """The least-squares problem: unknowns are deviations of logarithms from the start."""

    def __init__(
        self,
        data: Sequence[Observation],
        patterns: Sequence[Pattern],
        start: Profile,
        names: list[str],
        kinds: list[str],
    ) -> None:
        self.data, self.start, self.names, self.kinds = list(zip(data, patterns, strict=True)), start, names, kinds
        self.base = [max(LEAST, getattr(start, name)) for name in names]
        self.prior = np.array([PRIOR] * len(names) + [ENGINE_PRIOR] * len(kinds))
        self.measured = np.log([one.seconds for one in data])
        self.noise = NOISE
        self.sharpness = math.inf

    def profile(self, unknowns: Vector) -> Profile:
        """The profile at a point; for many points (columns), a profile of arrays.

        The mean of the factors of engines is kept at 1: otherwise they could replace the rates.
        """
        own = unknowns[len(self.names) :]
        if self.kinds:
            own = own - own.mean(axis=0)
        factors = np.exp(np.clip(np.concatenate([unknowns[: len(self.names)], own]), -30, 30))
        values = {name: base * row for name, base, row in zip(self.names, self.base, factors, strict=False)}
        engines = dict(zip(self.kinds, factors[len(self.names) :], strict=True)) or dict(self.start.engine_factor)
        return self.start.changed({**values, "engine_factor": engines})

    def residuals(self, unknowns: Vector) -> Vector:
        """Logarithms of measured over predicted seconds; a column for each point."""
        profile = self.profile(unknowns)
        predicted = [
            np.broadcast_to(self._seconds(profile, one, pattern), unknowns.shape[1:]) for one, pattern in self.data
        ]
        return (self.measured - np.log(np.array(predicted)).T).T

    def _seconds(self, profile: Profile, one: Observation, pattern: Pattern) -> float:
        stripes = stripes_of(profile, one.stripes)
        return predict_pattern(profile, one.load, pattern, one.engine, stripes, self.sharpness).seconds

    def cost(self, unknowns: Vector) -> float:
        """The function that is minimised."""
        size = np.abs(self.residuals(unknowns)) / self.noise
        loss = np.where(size < HUBER, size**2, 2 * HUBER * size - HUBER**2)
        return float(np.sum(loss) + np.sum((unknowns / self.prior) ** 2))

    def _weights(self, residuals: Vector) -> Vector:
        """Weights of the residuals, so that their weighted squares have the slope of the loss."""
        return np.minimum(1.0, HUBER * self.noise / np.maximum(np.abs(residuals), 1e-12))

    def starts(self) -> list[Vector]:
        """Points to begin at: the profile as it is, and others near it."""
        jitter = np.random.default_rng(SEED).standard_normal((STARTS - 1, len(self.prior))) * self.prior / 3
        return [np.zeros(len(self.prior)), *jitter]

    def solve(self, unknowns: Vector) -> Vector:
        """The minimum that is reached from a point. The kinks of the model get sharper on the way."""
        for self.sharpness in SHARPNESS:
            unknowns = self._descend(unknowns)
        return unknowns

    def _descend(self, unknowns: Vector) -> Vector:
        damping, cost = 1e-2, self.cost(unknowns)
        for _ in range(STEPS):
            residuals, slope = self.residuals(unknowns), self.slope(unknowns)
            weighted = slope.T * self._weights(residuals) / self.noise**2
            normal = weighted @ slope + np.diag(self.prior**-2)
            right = -weighted @ residuals - unknowns / self.prior**2
            trial = unknowns + np.clip(np.linalg.solve(normal + damping * np.diag(np.diag(normal)), right), -2, 2)
            better = self.cost(trial)
            if better < cost:
                gained, unknowns, cost, damping = cost - better, trial, better, max(damping / 5, 1e-8)
                if gained < (1e-6 if self.sharpness == math.inf else 1e-3) * cost:
                    break
            else:
                damping *= 5
                if damping > 1e6:
                    break
        return unknowns

    def slope(self, unknowns: Vector, step: float = 1e-5) -> Vector:
        """Derivatives of the residuals (rows) by the unknowns (columns), by central differences."""
        moves = step * np.eye(len(unknowns))
        points = unknowns[:, None] + np.concatenate([moves, -moves], axis=1)
        ahead, behind = np.split(self.residuals(points), 2, axis=1)
        return (ahead - behind) / (2 * step)

    def fit_of(self, unknowns: Vector) -> Fit:
        """The result, with its residuals and the uncertainty of each figure."""
        residuals, slope = self.residuals(unknowns), self.slope(unknowns)
        known = np.trace(np.linalg.solve(slope.T @ slope + self.noise**2 * np.diag(self.prior**-2), slope.T @ slope))
        noise = max(LEAST_NOISE, math.sqrt(float(residuals @ residuals) / max(1.0, len(residuals) - float(known))))
        normal = slope.T @ slope / noise**2 + np.diag(self.prior**-2)
        spread = np.sqrt(np.diag(np.linalg.inv(normal)))
        pairs = list(zip(self.names, spread, strict=False))
        profile = self.profile(unknowns).model_copy(
            update={
                "residual_factor": _factor(noise),
                "uncertainty": {**self.start.uncertainty, **{name: _factor(sd) for name, sd in pairs}},
            }
        )
        determined = tuple(name for name, sd in pairs if sd < PRIOR / 3)
        return Fit(_rounded(profile), tuple(float(one) for one in residuals), determined)


def _factor(deviation: float) -> float:
    return min(MOST_FACTOR, math.exp(deviation))


def _rounded(profile: Profile) -> Profile:
    """The profile with figures of four digits, which is more than their precision."""
    short: Callable[[float], float] = lambda value: float(f"{value:.4g}")  # noqa: E731
    values: dict[str, Any] = {key: short(getattr(profile, key)) for key in FIGURES if getattr(profile, key) is not None}
    for key in ("uncertainty", "engine_factor"):
        values[key] = {name: short(value) for name, value in getattr(profile, key).items()}
    return profile.model_copy(update={**values, "residual_factor": short(profile.residual_factor)})
