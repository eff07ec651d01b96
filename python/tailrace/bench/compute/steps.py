"""The benchmark of the solver: seconds per step, by phase, over ranks and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tailrace.core import Flow32, Flow64

from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.round_robin import RoundRobin
from ..ranks.timing import Together
from .flow import GPU, FlowKind, MadeFlow
from .rounds import INDEPENDENT, ComputeRounds, ComputeSetting, Timed, Variants

if TYPE_CHECKING:
    from mpi4py import MPI

STEP = "step"


def ways_of(devices: Sequence[str], transposes: tuple[str, ...]) -> tuple[str, ...]:
    """How steps are computed: by the processor with each way of transposing, and by a device.

    :raises ValueError: a device has another name than cpu or gpu.
    """
    for name in devices:
        if name not in ("cpu", GPU):
            raise ValueError(f"--device {name}: expected cpu or {GPU}")
    on_cpu = transposes if not devices or "cpu" in devices else ()
    return (*on_cpu, *((GPU,) if GPU in devices else ()))


@dataclass(frozen=True)
class SolverProgram:
    """The benchmark of the solver on one number of ranks."""

    settings: tuple[tuple[FlowKind, ComputeSetting], ...]
    ways: tuple[str, ...]  # see `ways_of`
    rhythm: RoundOptions

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        limits = sum(3 if setting.ranks > 1 else 2 for _, setting in self.settings)
        return (self.rhythm.rounds + 1) * (len(self.ways) * len(self.settings) + limits)

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, (kind, setting) in enumerate(self.settings):
            rounds = SolverRounds(comm, setting, RoundRobin(job, number, emit), kind)
            rounds.round_robin.run(rounds.variants(self.ways), self.rhythm)


class SolverRounds(ComputeRounds):
    """The rounds of one setting: flows take turns, a step at a time."""

    def __init__(self, comm: MPI.Comm, setting: ComputeSetting, round_robin: RoundRobin, kind: FlowKind) -> None:
        super().__init__(comm, setting, round_robin)
        self._kind = kind
        self._made: dict[str, MadeFlow] = {}

    def variants(self, ways: tuple[str, ...]) -> Variants:
        """The flow in each way, and the limits. Collective."""
        found = self.memory_limits()
        variables = 3 + self._kind.scalars
        for way in ways:
            cell = self.setting.cell(STEP, way, variables=variables)
            found[way] = partial(self.measure, cell, partial(self._step, way), 0)
        if self.comm.size > 1 and self.has_room(self._least()):
            alone = self.setting.cell(STEP, INDEPENDENT, "limit", variables)
            found[INDEPENDENT] = partial(self.measure, alone, self._apart, 0)
        return found

    def _least(self) -> int:
        """Least number of bytes that a flow holds for each point."""
        make = Flow32 if self.setting.precision == "float32" else Flow64
        three = make.least_bytes_per_node("rk3")
        return three + three // 3 * self._kind.scalars

    def _step(self, way: str) -> Timed:
        if way not in self._made:
            self._made[way] = MadeFlow(self._kind, self.setting, self.comm, way)
        flow = self._made[way]
        clock = Together(self.comm)
        clock.start()
        clock.marks.phases |= flow.step()
        return clock.stop(), flow.counts()

    def _apart(self) -> Timed:
        """The time if every rank works alone, on a flow of its own of the same size."""
        from mpi4py import MPI

        if INDEPENDENT not in self._made:
            self._made[INDEPENDENT] = MadeFlow(self._kind, self.setting, MPI.COMM_SELF, "alltoall")
        return self.apart(self._made[INDEPENDENT].step), {}
