"""Clocks of work that several ranks do together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass
class Marks:
    """The phases of one rank and their seconds."""

    phases: dict[str, float] = field(default_factory=dict)
    _last: float = 0.0

    def begin(self) -> None:
        """Begin the first phase now."""
        self._last = time.perf_counter()

    def end(self, phase: str) -> float:
        """End a phase now and begin the next one. Returns its seconds; a repeated name adds to the phase."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds
        return seconds

    def move(self, seconds: float, source: str, target: str) -> None:
        """Move seconds from one phase to another, at most all of them."""
        seconds = min(seconds, self.phases.get(source, 0.0))
        self.phases[source] = self.phases.get(source, 0.0) - seconds
        self.phases[target] = self.phases.get(target, 0.0) + seconds


@dataclass(frozen=True)
class Timing:
    """Seconds of work that all ranks did."""

    seconds: float
    phases: dict[str, float]  # seconds of the slowest rank in each phase
    per_rank: dict[str, float]  # min, mean, max


def total(timings: Sequence[Timing]) -> Timing:
    """The sum of parts that were timed one after the other."""

    def add(dicts: list[dict[str, float]]) -> dict[str, float]:
        return {name: sum(one.get(name, 0.0) for one in dicts) for name in dict.fromkeys(k for d in dicts for k in d)}

    return Timing(
        sum(one.seconds for one in timings),
        add([one.phases for one in timings]),
        add([one.per_rank for one in timings]),
    )


class Together:
    """Times work from the barrier before it to the barrier after it. Clocks of different ranks are never compared.

    Each rank takes the time between its own two barriers. The longest of these times contains the work of all ranks.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self.marks = Marks()
        self._begin = 0.0

    def start(self) -> None:
        """Begin, after a barrier. Collective."""
        self._comm.barrier()
        self._begin = time.perf_counter()
        self.marks.begin()

    def stop(self) -> Timing:
        """End, after a barrier; all phases must have been marked before. Collective."""
        own = sum(self.marks.phases.values())  # without waiting for others
        self._comm.barrier()
        whole = time.perf_counter() - self._begin
        return Timing(
            slowest(self._comm, {"whole": whole})["whole"],
            slowest(self._comm, self.marks.phases),
            spread_of(self._comm, own),
        )


def meet_asleep(comm: MPI.Comm) -> None:
    """A barrier for long waits: waiting ranks leave their cores free. Collective."""
    waiting = comm.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)


def slowest(comm: MPI.Comm, seconds: Mapping[str, float]) -> dict[str, float]:
    """The largest value of each name over the ranks, which all have the same names. Collective."""
    from mpi4py import MPI

    values = np.array(list(seconds.values()), dtype=np.float64)
    comm.Allreduce(MPI.IN_PLACE, values, MPI.MAX)
    return dict(zip(seconds, values.tolist(), strict=True))


def spread_of(comm: MPI.Comm, value: float) -> dict[str, float]:
    """Min, mean and max over the ranks. Collective."""
    from mpi4py import MPI

    values = np.array([-value, value])
    comm.Allreduce(MPI.IN_PLACE, values, MPI.MAX)
    return {"min": float(-values[0]), "mean": comm.allreduce(value) / comm.size, "max": float(values[1])}
