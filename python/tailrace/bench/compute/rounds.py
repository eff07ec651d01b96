"""Settings, limits and rounds that the benches of computation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.flow.memory import check_memory
from tailrace.grids import Triple
from tailrace.parallel import agree

from ..ranks.noise import Watch
from ..ranks.round_robin import RoundRobin
from ..ranks.timing import Timing, Together
from ..records.records import Cell

if TYPE_CHECKING:
    from mpi4py import MPI

INDEPENDENT = "independent runs"  # the limit: ranks that compute at the same time, without communication
TRANSPOSES = ("auto", "shared", "alltoall", "subarray")  # how data move between ranks, as in a case

Timed = tuple[Timing, dict[str, float]]  # timing and counts
Variants = dict[str, Callable[[], bool]]


@dataclass(frozen=True)
class ComputeSetting:
    """One size on one number of ranks."""

    bench: str
    ranks: int
    shape: Triple
    precision: str = "float64"
    source: str = ""  # the flow

    @property
    def points(self) -> int:
        """The number of points of the whole grid."""
        return prod(self.shape)

    @property
    def item(self) -> int:
        """Bytes of a number."""
        return np.dtype(self.precision).itemsize

    def cell(
        self,
        operation: str,
        name: str,
        role: Literal["way", "limit"] = "way",
        variables: int = 1,
        parameters: Mapping[str, int | str] | None = None,
    ) -> Cell:
        """The cell of a variant or a limit."""
        pairs = tuple((parameters or {}).items())
        return Cell(
            operation=operation, name=name, role=role, variables=variables, parameters=pairs, **asdict(self)
        )  # fmt: skip


class ComputeRounds:
    """The rounds of one setting. All methods are collective."""

    def __init__(self, comm: MPI.Comm, setting: ComputeSetting, round_robin: RoundRobin) -> None:
        self.comm, self.setting, self.round_robin = comm, setting, round_robin
        self._watch = Watch(comm)

    def measure(self, cell: Cell, work: Callable[[], Timed], size: int) -> bool:
        """Measure one round of a cell; False if it has failed. `size`: bytes of the values that are moved."""
        with self.round_robin.failures(cell) as outcome:
            self.round_robin.begin(cell, outcome)
            self._watch.start()
            timing, counts = work()
            disturbed = self._watch.stop()
            self.round_robin.keep(cell, timing, size, disturbed=disturbed, counts=counts)
        return outcome.right

    def memory_limits(self) -> Variants:
        """Limits: the best speed of the memory, with arrays of as many points as the setting."""
        streams = Streams(self.comm, self.setting.points, self.setting.precision)
        copy, add = (
            self.setting.cell(operation, name, "limit")
            for operation, name in (("copy", "memory copy"), ("add", "adding two arrays into a third"))
        )
        return {
            copy.name: lambda: self.measure(copy, lambda: (streams.copy(), {}), streams.bytes),
            add.name: lambda: self.measure(add, lambda: (streams.add(), {}), 3 * streams.bytes),
        }

    def has_room(self, bytes_per_point: int) -> bool:
        """Whether every rank can hold the whole grid in half of the memory of its machine; if not, a note says so."""
        x, y, z = self.setting.shape
        try:
            check_memory((x, y, z), 2 * bytes_per_point * self.comm.size, self.comm)
        except InputError:
            size = " x ".join(map(str, self.setting.shape))
            self.round_robin.note(f"{size}, {self.comm.size} ranks: not enough memory for the limit of {INDEPENDENT}")
            return False
        return True

    def together(self, work: Callable[[], object]) -> Timing:
        """The time of work that all ranks do."""
        clock = Together(self.comm)
        clock.start()
        work()
        clock.marks.end("work")
        timing = clock.stop()
        return Timing(timing.seconds, {}, timing.per_rank)

    def apart(self, work: Callable[[], object]) -> Timing:
        """The time of work that every rank does alone at the same time, divided by the ranks.

        This is the time that perfect sharing among the ranks would take.
        """
        timing = self.together(work)
        per_rank = {name: seconds / self.comm.size for name, seconds in timing.per_rank.items()}
        return Timing(per_rank["mean"], {}, per_rank)


class Streams:
    """Three arrays on each rank; one array on all ranks together has the size of a field.

    :param dtype: float64 or float32.
    """

    def __init__(self, comm: MPI.Comm, points: int, dtype: str) -> None:
        self._comm, self._count, self._dtype = comm, max(1, points // comm.size), dtype
        self.bytes = self._count * np.dtype(dtype).itemsize * comm.size  # of one array on all ranks

    @cached_property
    def _arrays(self) -> list[NDArray[Any]]:
        """Made when the first cell needs them: if they do not fit into memory, that cell has failed."""
        return agree(self._comm, lambda: [np.ones(self._count, self._dtype) for _ in range(3)])

    def copy(self) -> Timing:
        """Copy one into another. Collective."""
        first, second, _ = self._arrays
        return self._timed("copy", lambda: np.copyto(second, first))

    def add(self) -> Timing:
        """Add two into a third. Collective."""
        first, second, third = self._arrays
        return self._timed("add", lambda: np.add(first, second, out=third))

    def _timed(self, phase: str, work: Callable[[], object]) -> Timing:
        clock = Together(self._comm)
        clock.start()
        work()
        clock.marks.end(phase)
        return clock.stop()


def checked_transposes(words: Sequence[str], default: tuple[str, ...] = ("auto",)) -> tuple[str, ...]:
    """The methods of transposing that were given, or the default if none was.

    :raises ValueError: a word is not a method of transposing.
    """
    for word in words:
        if word not in TRANSPOSES:
            raise ValueError(f"--transpose {word}: expected one of {', '.join(TRANSPOSES)}")
    return tuple(words) or default
