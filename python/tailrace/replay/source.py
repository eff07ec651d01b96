"""Steps from a series: files, or a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailrace.core import InputError, IoError
from tailrace.steps import opening

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.io.coupling import Coupling
    from tailrace.steps.grid_file import GridFile
    from tailrace.steps.step import Step
    from tailrace.steps.stored_step import StoredStep


class SeriesSource:
    """A series, read in parallel: each rank reads its part of every field. Collective over `comm`.

    :param grid_file: the grid, if the series has none or a wrong one.
    :param precision: the type of the fields, "float32" or "float64"; None: as stored.
    :raises InputError: it is no series, has no steps, or its grid is not known.
    :raises IoError: nothing came in time.
    """

    def __init__(
        self, path: str, comm: MPI.Comm, *, grid_file: GridFile | None = None, precision: str | None = None
    ) -> None:
        self.path, self.comm = path, comm
        self._series = opening.open(path, "r", comm=comm, grid=grid_file, precision=precision)  # type: ignore[arg-type]
        self.streaming, self.engine = self._series.streaming, self._series.engine
        self._pending = self._first()
        self.first_index = self._pending.index
        self.attributes: dict[str, Any] = (
            self._pending.known.attributes
        )  # of all steps, also where the first has others
        self.operators = self._pending.operators

    def _first(self) -> StoredStep:
        if self.streaming:
            step = self._series.next_step()
            if step is None:
                raise IoError(f"{self.path}: the stream ended without a step")
            return step
        if not len(self._series):
            raise InputError(f"{self.path}: has no steps to analyse")
        return self._series[0]

    @property
    def names(self) -> list[str]:
        """The names of the fields of the first step. Local."""
        return list(self._pending.names)

    def positions(self, chosen: slice) -> range:
        """The positions of the chosen steps; for files only. Local."""
        return range(len(self._series))[chosen]

    def index(self, position: int) -> int:
        """Index of a stored step; for files only. Local."""
        return self._series[position].index

    def read(self, position: int) -> Step:
        """A stored step; for files only."""
        return self._series[position]

    def stream(self, chosen: slice) -> Iterator[Step]:
        """The chosen steps of a stream."""
        wanted = itertools.islice(itertools.count(), chosen.start, chosen.stop, chosen.step)
        next_wanted = next(wanted, None)
        for number in itertools.count():
            if next_wanted is None:  # asked first: the next step may come late
                return
            found = self._pending if number == 0 else self._series.next_step()
            if found is None:
                return
            if number == next_wanted:
                yield found
                next_wanted = next(wanted, None)

    @property
    def coupling(self) -> Coupling:
        """The cost of a stream for both sides, on rank 0. May be called after `close`. Local."""
        return self._series.coupling

    def waited(self) -> float:
        """Seconds that the ranks waited for steps of a stream, on average. Collective."""
        return sum(phase.mean_seconds for phase in self._series.summary() if phase.phase == "wait")

    def close(self) -> None:
        """Close the series."""
        self._series.close()
