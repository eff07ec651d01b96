"""What makes the first step of a flow meaningless, as far as its case and its first state tell: before it is taken.

A flow at rest says nothing about the velocity that forces, moving walls and a flow rate give it within the first step.
A large diffusivity, or nodes that are close together, may allow only steps with which no run reaches its end. Local.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .stability import diffusivities_of, stability_of

if TYPE_CHECKING:
    from tailrace.case.case import Case
    from tailrace.core import Grid

    from .stability import Stability

_GROWTH = 1e-3  # of a mode in one step, as of the warnings of a run
_MOST_STEPS = 1e8  # of a run; the longest have some millions
_SMALL = 1e-4  # of the step that the velocity allows
_TRIES = 200  # halvings of a step


@dataclass(frozen=True)
class FirstState:
    """What is known of the first state.

    :param dt: the nominal size of the first step.
    :param rate: the largest sum |u_d| / h_d of its velocity.
    :param acceleration: the largest one in x, y and z, by forces that the pressure does not balance.
    """

    dt: float
    rate: float
    acceleration: tuple[float, float, float]


def concerns(case: Case, grid: Grid, state: FirstState) -> list[str]:
    """A line for each reason for which the first step means nothing."""
    stability = stability_of(case, grid)
    return [*_set_in_motion(case, grid, state, stability), *_too_small(case, grid, state, stability)]


def _set_in_motion(case: Case, grid: Grid, state: FirstState, stability: Stability) -> Iterator[str]:
    """The velocity that the first step brings is more than its size allows."""
    spacing = [min(grid.distances(d)) for d in range(3)]
    driven, causes = _driven(case, spacing)
    pull = sum(abs(a) / h for a, h in zip(state.acceleration, spacing, strict=True))
    largest = case.time.cfl or math.inf

    def coming(dt: float) -> float:
        return max(state.rate, driven) + pull * dt

    def fits(dt: float) -> bool:
        return coming(dt) * dt <= largest and stability.is_stable(dt, coming(dt), _GROWTH)

    if not stability.is_stable(state.dt, state.rate, _GROWTH):
        return  # which the warnings of the run tell
    if stability.is_stable(state.dt, coming(state.dt), _GROWTH):
        return
    if pull > 0:
        causes.append(f"by an acceleration of {max(state.acceleration):.3g}")
    smaller = next((state.dt / 2**n for n in range(1, _TRIES) if fits(state.dt / 2**n)), 0.0)
    key = "time.dt_max" if case.time.dt == "auto" else "time.dt"
    before, number = "smaller" if state.rate else "zero", coming(state.dt) * state.dt
    yield (
        f"the first step is {state.dt:.3g}, and the flow, whose velocity is {before} before it, is set in motion "
        f"{' and '.join(causes)}: its CFL number may be {number:.3g} after it; give {key} = {0.95 * smaller:.2g}, "
        "or begin with a velocity"
    )


def _driven(case: Case, spacing: list[float]) -> tuple[float, list[str]]:
    """The rate of the velocities that ends and a flow rate impose at once, and what they are."""
    rates = {}
    for d, upper, word in case.grid.given_ends():
        velocity = case.boundary.constant(d, upper) or (0.0, 0.0, 0.0)
        if any(velocity):
            name = f"by the {word} boundary.{'xyz'[d]}_{'upper' if upper else 'lower'}"
            rates[name] = sum(abs(u) / h for u, h in zip(velocity, spacing, strict=True))
    if case.forcing.flow_rate:
        rates["by forcing.flow_rate"] = abs(case.forcing.flow_rate) / spacing["xyz".index(case.forcing.direction)]
    return max(rates.values(), default=0.0), list(rates)


def _too_small(case: Case, grid: Grid, state: FirstState, stability: Stability) -> Iterator[str]:
    """Diffusion allows dt = "auto" only steps with which the run comes to nothing."""
    if case.time.dt != "auto" or not state.dt > 0:
        return
    steps = case.time.end / state.dt if case.time.end is not None else 0.0
    by_velocity = (case.time.cfl or 0.0) / state.rate if state.rate > 0 else 0.0
    limit = stability.largest_step(0.0)
    if limit > 2 * state.dt or not (steps > _MOST_STEPS or limit < _SMALL * by_velocity):
        return
    what, largest = max(diffusivities_of(case).items(), key=lambda one: one[1])
    smallest = min(min(grid.distances(d)) for d in range(3))
    reach = f"; time.end = {case.time.end:g} is {steps:.2g} steps away" if steps else ""
    yield (
        f"the first step is {state.dt:.3g}, since diffusion allows no larger one: {what} is a diffusivity of "
        f"{largest:.3g} on a spacing of {smallest:.3g}{reach}; check these numbers: a larger case.reynolds or schmidt, "
        "or fewer nodes, allows larger steps"
    )
