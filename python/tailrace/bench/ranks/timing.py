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
    """The moments of one rank between which its phases lie."""

    phases: dict[str, float] = field(default_factory=dict)
    _last: float = 0.0

    def begin(self) -> None:
        """The first phase begins now."""
        self._last = time.perf_counter()

    def end(self, phase: str) -> float:
        """A phase ends now, and the next one begins. Returns its seconds; a name that comes again adds to it."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds
        return seconds

    def move(self, seconds: float, source: str, target: str) -> None:
        """Count a part of one phase as another one, at most all of it."""
        seconds = min(seconds, self.phases.get(source, 0.0))
        self.phases[source] = self.phases.get(source, 0.0) - seconds
        self.phases[target] = self.phases.get(target, 0.0) + seconds


@dataclass(frozen=True)
class Timing:
    """Seconds of work that all ranks did."""

    seconds: float
    phases: dict[str, float]  # of the slowest rank in each
    per_rank: dict[str, float]  # min, mean, max


def total(timings: Sequence[Timing]) -> Timing:
    """The sum of parts that were timed one after the other, with something untimed between them."""

    def add(dicts: list[dict[str, float]]) -> dict[str, float]:
        return {name: sum(one.get(name, 0.0) for one in dicts) for name in dict.fromkeys(k for d in dicts for k in d)}

    return Timing(
        sum(one.seconds for one in timings),
        add([one.phases for one in timings]),
        add([one.per_rank for one in timings]),
    )


class Together:
    """Times work from the barrier before it to the barrier after it. No clock of one rank is compared with another's.

    Each rank takes the time between its own barriers; the longest of them holds the work of all ranks, whenever each
    of them left the first barrier.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm
        self.marks = Marks()
        self._begin = 0.0

    def start(self) -> None:
        """Collective."""
        self._comm.barrier()
        self._begin = time.perf_counter()
        self.marks.begin()

    def stop(self) -> Timing:
        """Collective. The phases have been marked before it."""
        own = sum(self.marks.phases.values())  # without waiting for others
        self._comm.barrier()
        whole = time.perf_counter() - self._begin
        return Timing(
            slowest(self._comm, {"whole": whole})["whole"],
            slowest(self._comm, self.marks.phases),
            spread_of(self._comm, own),
        )


def meet_asleep(comm: MPI.Comm) -> None:
    """A barrier for ranks that may wait for long: they leave their cores to others. Collective."""
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
