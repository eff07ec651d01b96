"""The balance of the kinetic energy: what the forces give, what the solver takes, and what is left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .slope import last_slope

if TYPE_CHECKING:
    from tailrace.case.case import Case

NOTES = 4  # energies of consecutive steps, through which the rate of change goes
_PART_OF = "the part of dissipation_laplacian that is"


class EnergyBudget:
    """Columns of the time series: parts of the dissipation, the power of forces, and the residual. Collective.

    The rate of change of the energy is that of a polynomial through the energies of this and the three last steps. A
    force that jumps from step to step, as the one that keeps the flow rate, would spoil it, so what such forces have
    done is taken from the energies first.

    :param given: whether the model has a force of a function.
    """

    def __init__(self, case: Case, flow: Any, *, given: bool) -> None:
        self._flow, self._case = flow, case
        forcing, numerics = case.forcing, case.numerics
        rate, band = forcing.flow_rate is not None, forcing.band is not None
        works = given or rate or band or forcing.linear != 0 or any(forcing.acceleration)
        works = works or any(any(scalar.buoyancy) for scalar in case.scalar)
        named = [
            (numerics.hyperviscosity is not None, "dissipation_hyperviscous", f": {_PART_OF} of hyperviscosity"),
            (numerics.implicit_y, "dissipation_implicit", f": {_PART_OF} of diffusion along y, taken implicitly"),
            (numerics.eddy_viscosity is not None, "dissipation_eddy", f": {_PART_OF} of the eddy viscosity"),
            (works, "work", " = <u . f>, the power of all forces f on nodes that are free to move, in U^3 / L"),
            (rate, "driving_force", ": the force along the flow that kept the flow rate in the last step, in U^2 / L"),
            (
                _is_closed(case),
                "energy_residual",
                " = d(kinetic_energy)/dt - work + dissipation_laplacian: what the schemes add; not a number at first",
            ),
        ]
        self._named = [(name, text) for there, name, text in named if there]
        self._notes: list[tuple[int, float, float]] = []  # step, time, and energy without the work of jumping forces
        self._given = 0.0  # the work of jumping forces since the start, but for that which the solver knows

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names. Local."""
        return tuple(name for name, _ in self._named)

    @property
    def definitions(self) -> str:
        """Lines that explain them. Local."""
        return "".join(f"\n{name}{text}" for name, text in self._named)

    def gave(self, work: float) -> None:
        """A jumping force has done this work per volume in a step. Local."""
        self._given += work

    def note(self, step: int, time: float) -> None:
        """Note the energy of this state, for the rate of change at a later one; call it in the steps before a row."""
        if "energy_residual" not in self.columns or (self._notes and self._notes[-1][0] == step):
            return
        energy = self._flow.energy() - self._given - self._flow.flow_rate_work
        self._notes = [*(one for one in self._notes if step - NOTES < one[0] < step), (step, time, energy)]

    def forget(self) -> None:
        """Forget the energies of earlier states: somebody has changed the velocity. Local."""
        self._notes = []

    def __call__(
        self, step: int, time: float, power: tuple[float, float], averages: dict[str, float]
    ) -> dict[str, float]:
        """Their values in the present state, of which `averages` were just measured. Corrects those, see there.

        :param power: of the functions that are smooth in time, now, and of forces that jump, in the last step.
        """
        rates, case = self._flow.energy_rates(), self._case
        averages["dissipation_laplacian"] += rates["eddy"]
        driving = self._flow.flow_rate_force()
        kept = driving * (case.forcing.flow_rate or 0.0)
        smooth = rates["work"] + power[0]
        found = {f"dissipation_{part}": rates[part] for part in ("hyperviscous", "implicit", "eddy")}
        found |= {"work": smooth + power[1] + kept, "driving_force": driving}
        self.note(step, time)
        found["energy_residual"] = self._rate() - smooth + averages["dissipation_laplacian"]
        return {name: found[name] for name in self.columns}

    def _rate(self) -> float:
        if len(self._notes) < NOTES:
            return math.nan
        _, times, energies = zip(*self._notes, strict=True)
        return float(last_slope(times, energies))

    @property
    def state(self) -> list[float]:
        """What a checkpoint must hold, as numbers. Local."""
        return [self._given, self._flow.flow_rate_work, *(float(one) for note in self._notes for one in note)]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        if not numbers:
            return
        self._given, self._flow.flow_rate_work = numbers[:2]
        rows = zip(numbers[2::3], numbers[3::3], numbers[4::3], strict=True)
        self._notes = [(int(step), time, energy) for step, time, energy in rows]


def _is_closed(case: Case) -> bool:
    """Whether no energy comes or goes through the ends or a body: only then do the columns have all of the balance."""
    words = {word for ends in case.grid.ends for word in ends}
    if case.body is not None or words - {"periodic", "free-slip", "wall"} or case.boundary.velocity is not None:
        return False
    walls = ((d, case.boundary.constant(d, upper)) for d, upper, _ in case.grid.given_ends())
    return all(velocity is None or velocity[d] == 0 for d, velocity in walls)
