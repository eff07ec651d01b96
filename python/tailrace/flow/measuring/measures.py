"""What a run measures besides the volume averages of every flow: means, wall shear, scalars, the force on a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import Grid, ProcessGrid, weighted_sum
from tailrace.io.names import COMPONENTS
from tailrace.parallel import extreme

from .forces import ControlVolume

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case


class Measures:
    """Columns of the time series, by name. Collective over `comm`, but for `columns` and `definitions`.

    There are only those that the case gives rise to: none for a flow between free-slip or periodic boundaries.
    """

    def __init__(self, case: Case, flow: Any, grid: Grid, processes: ProcessGrid, comm: MPI.Comm) -> None:
        self._case, self._flow, self._processes, self._comm = case, flow, processes, comm
        self._walls = [(d, upper) for d, upper, word in case.grid.given_ends() if word == "wall"]
        driven = case.forcing.flow_rate is not None or any(case.forcing.acceleration)
        self._means = driven or any(word != "periodic" and word != "free-slip" for e in case.grid.ends for word in e)
        self._force = None
        if case.body is not None and case.body.box is not None:
            x, y, z = (None if span == "all" else span for span in case.body.box)
            self._force = ControlVolume(flow, grid, (x, y, z))
        (start, count) = flow.box
        weights = [np.array(grid.weights(d))[s : s + n] for d, (s, n) in enumerate(zip(start, count, strict=True))]
        self._weights = [(one / sum(grid.weights(d))).tolist() for d, one in enumerate(weights)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names. Local."""
        return tuple(name for name, _ in self._named())

    @property
    def definitions(self) -> str:
        """Lines that explain them. Local."""
        return "".join(f"\n{name}{text}" for name, text in self._named())

    def _named(self) -> list[tuple[str, str]]:
        found = []
        if self._means:
            found += [(f"mean_{name}", f" = <{name}>, in U") for name in COMPONENTS]
        for d, upper in self._walls:
            end = f"{'xyz'[d]}_{'upper' if upper else 'lower'}"
            for i, name in enumerate(COMPONENTS):
                if i != d:
                    text = f" = nu times the mean of the derivative of {name} into the flow at this wall, in U^2"
                    found.append((f"shear_{end}_{name}", text))
        for scalar in self._case.scalar:
            found += [
                (f"{scalar.name}_mean", f" = <{scalar.name}>"),
                (f"{scalar.name}_square", f" = <{scalar.name}^2>"),
                (f"{scalar.name}_min", ": the least value"),
                (f"{scalar.name}_max", ": the largest value"),
            ]
        if self._force:
            found += [(f"force_{axis}", f": of the flow on the body in {axis}, for a density of 1") for axis in "xyz"]
        return found

    def __call__(self, time: float) -> dict[str, float]:
        """Their values in the present state."""
        flow, numbers = self._flow, []
        if self._means:
            numbers += [self._mean(flow.velocity(i)) for i in range(3)]
        for d, upper in self._walls:
            slopes = flow.mean_gradient(d, upper)
            sign = -self._case.viscosity if upper else self._case.viscosity
            numbers += [sign * slope for i, slope in enumerate(slopes) if i != d]
        for number in range(len(self._case.scalar)):
            values = flow.scalar(number)
            ends = np.array([-values.min(initial=np.inf), values.max(initial=-np.inf)], np.float64)
            least, most = extreme(self._comm, ends, largest=True)
            numbers += [self._mean(values), self._mean(values, values), float(-least), float(most)]
        if self._force:
            numbers += [float(part) for part in self._force(time)]
        return dict(zip(self.columns, numbers, strict=True))

    def _mean(self, values: Any, other: Any = None) -> float:
        return weighted_sum(self._processes, self._weights, values if other is None else [(values, other)])

    def before_step(self, time: float) -> None:
        """Keep what the next step changes, if its change is measured. Collective."""
        if self._force:
            self._force.before_step(time)

    def forget(self) -> None:
        """Forget what was kept of a velocity that is no longer that of the flow. Local."""
        if self._force:
            self._force.forget()

    @property
    def state(self) -> list[float]:
        """What a checkpoint must hold: the nodes of the box, then times with the momentum in it. Local."""
        if not self._force:
            return []
        return [*self._force.nodes, *(number for time, momentum in self._force.state for number in (time, *momentum))]

    @state.setter
    def state(self, numbers: list[float]) -> None:
        if self._force and tuple(numbers[:6]) == self._force.nodes:  # the momentum of another box is another one
            rows = np.array(numbers[6:], np.float64).reshape(-1, 4).tolist()
            self._force.state = [(row[0], row[1:]) for row in rows]
