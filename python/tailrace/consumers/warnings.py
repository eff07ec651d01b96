"""Warnings of a run while it computes: the flow is under-resolved, or the time step is too large.

A warning is printed when it is first found, and again when it has become much worse. At the end, the worst of each kind
is printed once more. The exit code does not change. The numbers are the same on all ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailrace.flow.stability import Stability

# The spacing over the Kolmogorov length up to which a flow counts as resolved: k_max eta >= 1.5 with k_max = pi / h
# (Pope, Turbulent Flows, 2000, section 9.1.2; Yeung and Pope 1989).
RESOLVED = math.pi / 1.5
# First derivatives see less of the motion near the spacing of the grid than second derivatives do. So they give less
# dissipation if there is such motion. A laminar flow has none, however small its Kolmogorov length.
_DISAGREEMENT = 0.005
_NEEDED = ("dissipation", "dissipation_laplacian", "cfl")
_MODELLED = ("dissipation_hyperviscous", "dissipation_eddy")  # more than viscosity takes
_WORSE = 1.5  # a warning is repeated when it is worse by this factor
_GROWTH = 1e-3  # growth of a mode in one step; a smaller one does no harm within the time in which the flow changes
_ADVISED = 0.7  # share of the largest stable step


@dataclass(frozen=True)
class Resolution:
    """How well a grid resolves a flow, by the flow's own dissipation.

    :param spacing_over_eta: the largest spacing over the Kolmogorov length eta = (nu^3 / dissipation)^(1/4).
    :param disagreement: by how much less dissipation the strain has than the Laplacian, as a share of the latter.
    """

    spacing_over_eta: float
    disagreement: float

    @property
    def suffices(self) -> bool:
        """Whether the flow is resolved, or so smooth that this does not matter."""
        return self.spacing_over_eta <= RESOLVED or self.disagreement < _DISAGREEMENT


def resolution(numbers: Mapping[str, float], spacing: Sequence[float], viscosity: float) -> Resolution:
    """How well a grid resolves a flow.

    :param numbers: its dissipation, by strain and by Laplacian, named as in the time series.
    """
    by_strain = numbers["dissipation"]
    by_laplacian = numbers["dissipation_laplacian"] - sum(numbers.get(name, 0.0) for name in _MODELLED)
    largest = max(by_strain, by_laplacian)
    if not largest > 0:
        return Resolution(0.0, 0.0)
    eta = (viscosity**3 / largest) ** 0.25
    disagreement = 1 - by_strain / by_laplacian if by_laplacian > 0 else 0.0
    return Resolution(max(spacing) / eta if eta > 0 else math.inf, disagreement)


class Warnings:
    """The warnings of one run.

    :param points: nodes in x, y and z.
    :param stability: of the time steps.
    :param moving: whether walls move: they do work on the flow, so that its two dissipations tell nothing.
    :param auto: whether the time step is chosen from the velocity.
    :param diffusivities: those of the velocity and of scalars, by the key that each follows from.
    """

    def __init__(
        self,
        spacing: Sequence[float],
        points: Sequence[int],
        viscosity: float,
        stability: Stability,
        *,
        auto: bool,
        moving: bool = False,
        diffusivities: Mapping[str, float] | None = None,
    ) -> None:
        self._spacing, self._points, self._viscosity = spacing, points, viscosity
        self._moving = moving
        self._auto, self._diffusivities = auto, diffusivities or {}
        self._stability = stability
        self._said: dict[str, float] = {}  # kind of warning -> how bad it was when it was printed
        self._worst: dict[str, tuple[float, str]] = {}

    def look(self, numbers: Mapping[str, float]) -> list[str]:
        """The warnings to print now. `numbers`: the measured values of the model; "dt" belongs to the CFL number."""
        dt = numbers["dt"]
        if not dt > 0 or not all(math.isfinite(numbers[name]) for name in _NEEDED):
            return []  # the run is about to end with an error that says more
        found = {"resolution": self._of_resolution(numbers), "step": self._of_step(numbers["cfl"] / dt, dt)}
        return self._new(found, int(numbers["step"]), numbers["time"])

    def look_at_step(self, step: int, time: float, rate: float, dt: float) -> list[str]:
        """Those about the size of the next step, which a run that goes on may have got by another case.

        :param rate: the largest sum |u_d| / h_d of the velocity.
        """
        return self._new({"step": self._of_step(rate, dt)}, step, time)

    def _new(self, found: Mapping[str, tuple[float, str]], step: int, time: float) -> list[str]:
        """Of what is found that which was not said yet, or is much worse now."""
        lines = []
        for kind, (badness, text) in found.items():
            if not text:
                continue
            text = f"warning: step {step}, t = {time:.4g}: {text}"
            if badness > self._worst.get(kind, (0.0, ""))[0]:
                self._worst[kind] = (badness, text)
            if badness > _WORSE * self._said.get(kind, 0.0):
                self._said[kind] = badness
                lines.append(text)
        return lines

    def summary(self) -> list[str]:
        """The worst of each kind, for the end of the run."""
        return [text for _, text in self._worst.values()]

    def _of_resolution(self, numbers: Mapping[str, float]) -> tuple[float, str]:
        if self._moving:
            return 0.0, ""
        found = resolution(numbers, self._spacing, self._viscosity)
        if found.suffices:
            return 0.0, ""
        largest = max(self._spacing)
        factors = [found.spacing_over_eta / RESOLVED * h / largest for h in self._spacing]
        points = " x ".join(str(math.ceil(n * max(1.0, f))) for n, f in zip(self._points, factors, strict=True))
        return found.spacing_over_eta, (
            f"the flow is under-resolved: the largest spacing is {found.spacing_over_eta:.3g} Kolmogorov lengths, of "
            f"which {RESOLVED:.2g} are resolved (k_max eta = 1.5), and the dissipation by strain is "
            f"{found.disagreement:.1%} less than that by the Laplacian. It needs at least {points} points, or a "
            "smaller Reynolds number"
        )

    def _of_step(self, rate: float, dt: float) -> tuple[float, str]:
        if not math.isfinite(rate) or self._stability.is_stable(dt, rate, _GROWTH):
            return 0.0, ""
        largest = self._stability.largest_step(rate, _GROWTH)
        if self._auto:  # the velocity has grown since the step was chosen
            remedy = "reduce time.cfl"
        else:
            remedy = f"use time.dt = {_two_digits(_ADVISED * largest)}"
            if self._stability.scheme in ("rk3", "euler"):
                remedy += ', or time.dt = "auto"'
        return dt / largest, (
            f"the time step {dt:.3g} is above {largest:.3g}, up to which {self._stability.scheme} is stable with this "
            f"velocity and viscosity (CFL number {rate * dt:.3g}{self._by_diffusion(dt)}): the flow may soon not be "
            f"finite; {remedy}"
        )

    def _by_diffusion(self, dt: float) -> str:
        """Which diffusivities forbid the step, whatever the velocity is."""
        limit, most = self._stability.largest_step(0.0, _GROWTH), max(self._diffusivities.values(), default=0.0)
        causes = [what for what, one in self._diffusivities.items() if dt > limit * most / one]
        return f"; diffusion alone allows {limit:.3g}, by {' and '.join(causes)}" if causes else ""


def _two_digits(value: float) -> str:
    """The number with two digits, rounded down."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / unit) * unit:.2g}"
