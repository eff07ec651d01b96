"""The benchmark of analyses: operators on fields, called from Python as analyses call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.fields.calculus import curl, grad
from tailrace.fields.field import Field
from tailrace.fields.operators import Operators
from tailrace.fields.reductions import mean_square
from tailrace.fields.spectra import spectrum
from tailrace.fields.vector import Vector
from tailrace.grids import Triple

from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.round_robin import RoundRobin
from .rounds import INDEPENDENT, ComputeRounds, ComputeSetting, Timed, Variants

if TYPE_CHECKING:
    from mpi4py import MPI

_FIELDS = 4
_NUMBERS = 20  # numbers for each point of a rank, at most: four fields, their gradients, intermediate values


@dataclass(frozen=True)
class Operation:
    """An analysis of fields.

    :param takes: the number of fields that it reads, at most four.
    :param gives: the number of fields that it makes.
    """

    work: Callable[[list[Field]], Any]
    takes: int
    gives: int


def enstrophy(fields: list[Field]) -> float:
    """Half the mean square of the curl of the first three. Collective."""
    return 0.5 * mean_square(curl(Vector(*fields[:3])))


OPERATIONS = {
    "gradients": Operation(grad, 4, 12),
    "curl": Operation(lambda fields: curl(Vector(*fields[:3])), 3, 3),
    "enstrophy": Operation(enstrophy, 3, 0),
    "spectrum": Operation(lambda fields: spectrum(Vector(*fields[:3])), 3, 0),
}


def waves(nodes: Triple, comm: MPI.Comm | None = None, transpose: str = "auto", dtype: str = "float64") -> list[Field]:
    """Four periodic fields. Collective. `comm`: the ranks; this one alone by default."""
    how: Any = transpose
    operators = Operators(nodes, (2 * pi,) * 3, ("periodic",) * 3, comm=comm, transpose=how, dtype=dtype)

    def wave(shift: int) -> Field:
        return Field.from_function(
            operators, lambda x, y, z: np.sin(x + shift) * np.cos(2 * y - shift) * np.cos(z + 2 * shift)
        )

    return [wave(shift) for shift in range(_FIELDS)]


@dataclass(frozen=True)
class AnalysisProgram:
    """The benchmark of analyses on one number of ranks."""

    settings: tuple[ComputeSetting, ...]
    operations: tuple[str, ...]
    transposes: tuple[str, ...]
    rhythm: RoundOptions

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        each = [len(self.transposes) + (setting.ranks > 1) for setting in self.settings]
        return (self.rhythm.rounds + 1) * sum(len(self.operations) * variants + 2 for variants in each)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            rounds = AnalysisRounds(comm, setting, RoundRobin(job, number, emit))
            rounds.round_robin.run(rounds.variants(self.operations, self.transposes), self.rhythm)


class AnalysisRounds(ComputeRounds):
    """The rounds of one setting."""

    def __init__(self, comm: MPI.Comm, setting: ComputeSetting, round_robin: RoundRobin) -> None:
        super().__init__(comm, setting, round_robin)
        self._fields: dict[str, list[Field]] = {}

    def variants(self, operations: tuple[str, ...], transposes: tuple[str, ...]) -> Variants:
        """Every operation with each way of transposing, and the limits. Collective."""
        found = self.memory_limits()
        room = self.comm.size > 1 and self.has_room(_NUMBERS * self.setting.item)
        for name in operations:
            one = OPERATIONS[name]
            size = (one.takes + one.gives) * self.setting.points * self.setting.item
            for transpose in transposes:
                cell = self.setting.cell(name, transpose, variables=one.takes)
                work = partial(self._together, one, transpose)
                found[f"{name} {transpose}"] = partial(self.measure, cell, work, size)
            if room:
                cell = self.setting.cell(name, INDEPENDENT, "limit", one.takes)
                found[f"{name} {INDEPENDENT}"] = partial(self.measure, cell, partial(self._apart, one), size)
        return found

    def _together(self, one: Operation, transpose: str) -> Timed:
        if transpose not in self._fields:
            self._fields[transpose] = waves(self.setting.shape, self.comm, transpose, self.setting.precision)
        fields = self._fields[transpose]
        return self.together(lambda: one.work(fields)), {}

    def _apart(self, one: Operation) -> Timed:
        """The time if every rank works alone, on fields of its own of the same size."""
        if INDEPENDENT not in self._fields:
            self._fields[INDEPENDENT] = waves(self.setting.shape, dtype=self.setting.precision)
        fields = self._fields[INDEPENDENT]
        return self.apart(lambda: one.work(fields)), {}
