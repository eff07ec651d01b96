"""The series of users: its steps have fields wherever it says its grid.

Reading, writing and streaming are those of `tailrace.io.series`; `opening` makes it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from tailrace.core import InputError
from tailrace.fields.field import Field
from tailrace.fields.vector import Vector
from tailrace.grids import StretchedGrid, Triple, UniformGrid
from tailrace.io.connection import Mode
from tailrace.io.engines import ENGINES
from tailrace.io.handle import Handle
from tailrace.io.names import RAW_NAMES
from tailrace.io.placement import Block, Box, Region
from tailrace.io.series import SeriesOf
from tailrace.io.step import ArrayStep
from tailrace.notebook import card
from tailrace.parallel import agree

from .grid_file import GridFile
from .series_grid import SeriesGrid
from .stored_step import StoredStep

if TYPE_CHECKING:
    import xarray
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.io.placement import Stored

Method = Literal["nearest", "pad", "backfill"]


class Again(Protocol):
    """How a series was opened to read; it can be pickled."""

    def open(self) -> Series:
        """The same series, opened once more on this rank alone."""


class Series(SeriesOf[StoredStep]):
    """An ordered set of steps in one place, made by `open`: a context manager, and when reading a sequence of steps.

    `series[3]` is a step by position, `series.step(300)` by index, `series.at(time=1.5)` by time. If the series stores
    its grid, or `open` was given one, `step["ux"]` is a Field; otherwise it is an array.

    Methods are collective over the communicator given to `open`; properties, `len` and `repr` are local.

    A series that is open to read on one rank can be pickled: another process opens it again, whatever its directory.

    :param given: what the user knows of the grid, when reading.
    :param precision: type of the fields that are read.
    :param again: how another process opens it, when reading.

    >>> with tr.open("run.h5", "w") as series:
    ...     series.write_step(0.0, p=np.zeros((8, 12, 16)))
    >>> with tr.open("run.h5", "a") as series:
    ...     series.write_step(0.5, p=np.ones((8, 12, 16)))
    >>> with tr.open("run.h5") as series:
    ...     print([(step.index, step.time, float(step["p"].mean())) for step in series])
    [(0, 0.0, 0.0), (1, 0.5, 1.0)]
    """

    def __init__(
        self,
        handle: Handle,
        mode: Mode,
        comm: MPI.Comm,
        *,
        given: GridFile | None = None,
        precision: Literal["float32", "float64"] | None = None,
        again: Again | None = None,
    ) -> None:
        super().__init__(handle, mode, comm)
        self._given, self._precision, self._again = given or GridFile(), precision, again
        self._known: SeriesGrid | None = None
        self._counting = 0, True  # whether the times of so many steps are their numbers
        if mode == "r" and not self.streaming and len(self) and (comm.size > 1 or given != GridFile()):
            known = agree(comm, lambda: self.steps[0].known)  # it reads the first step
            with suppress(InputError):  # it is raised again where they are needed
                _ = known.operators  # made while all ranks are here: steps are local afterwards

    # ---- steps -------------------------------------------------------------------------------------------------------
    def _step(self, number: int, index: int, time: float) -> StoredStep:
        stored = ArrayStep(self._handle, number, index, time)
        files = not self.streaming
        return StoredStep(
            stored,
            self._time_of(index, time),
            lambda: self._grid_by(stored),
            missed=lambda: self._missed(number, stored),
            lazy=files and self.comm.size == 1,
            series=self if files else None,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle needs to open it again.

        :raises InputError: it is a stream, open to write, or open on several ranks.
        """
        why = ""
        if self._mode != "r":
            why = "is open to write"
        elif self.comm.size > 1:
            why = f"is open on {self.comm.size} ranks, whose communicator no other process has"
        if self._again is None or why:
            path = self.path if self._handle.is_open else "the series"
            why = why or "is a stream, whose steps come once"
            raise InputError(f"{path}: {why}, so it cannot be pickled; open it in the process that reads it")
        return self._again.open, ()

    def _grid_by(self, step: ArrayStep) -> SeriesGrid:
        if self._known is None:
            dataset = self._handle.dataset
            aliases = dataset.aliases if dataset is not None else RAW_NAMES if ENGINES[self.engine].file_names else {}
            self._known = SeriesGrid(
                self.path, aliases, self.comm, self.attributes, super().grid, step, self._given, self._precision,
                None if dataset is None else dataset.places,
            )  # fmt: skip
        return self._known

    def _missed(self, number: int, stored: ArrayStep) -> list[int]:
        """The indices of steps that are lost: those a stream reports, and gaps in the rhythm of the writer.

        A run leaves no step out of a file. Its rhythm is that of its last part: it may change at each resume.
        """
        if not self.streaming and self.dataset is None and self.attributes.get("made_by") == "run":
            return []
        lost = set(stored.missed) if self.streaming else set()
        every = self.attributes.get("every", 0)
        if number and isinstance(every, int) and every > 0:
            lost.update(range(self.steps.index_at(number - 1) + every, stored.index, every))
        return sorted(lost)

    def step(self, index: int) -> StoredStep:
        """The step with this index, which is the number of the time step in a simulation. Local.

        :raises InputError: no step has this index; the message names the nearest.
        """
        steps = self.steps
        return steps[steps.position_of(index)]

    def at(self, time: float, method: Method | None = None) -> StoredStep:
        """The step at a time. Local.

        :param method: None: the step with this time, equal to nine digits. "nearest": the nearest step. "pad": the last
            step that is not later. "backfill": the first step that is not earlier. As in `sel` of xarray. Of steps
            with the same time, which a run leaves that was started again from an earlier one, the last.
        :raises InputError: no step fits; the message has the times around it.

        >>> with tr.open("run.h5", "w") as series:
        ...     for time in (0.0, 0.5, 1.0):
        ...         series.write_step(time, p=np.full((8, 12, 16), time))
        >>> with tr.open("run.h5") as series:
        ...     print(series.at(0.5).index, series.at(0.8, "pad").index, series.at(0.8, "nearest").index)
        1 1 2
        """
        if method not in (None, "nearest", "pad", "backfill"):
            raise InputError(f"method = {method!r}: expected 'nearest', 'pad', 'backfill' or None")
        times = self.times
        if not len(times):
            raise InputError(f"{self.path}: has no steps")
        close = np.isclose(times, time, rtol=1e-9, atol=1e-12)
        fits = {
            None: close,
            "nearest": ~np.isnan(times),
            "pad": (times <= time) | close,
            "backfill": (times >= time) | close,
        }[method]
        if not fits.any():
            raise InputError(
                f"{self.path}: has no step {_asked(time, method)}; its times are {_around(times, time)}. "
                'series.at(time, method="nearest") gives the nearest'
            )
        nearest = times[np.argmin(np.where(fits, np.abs(times - time), np.inf))]
        return self.steps[int(np.flatnonzero(fits & np.isclose(times, nearest, rtol=1e-12, atol=0))[-1])]

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of the steps."""
        return np.array([self._time_of(index, time) for index, time in self._handle.reader().steps()])

    def _time_of(self, index: int, time: float) -> float:
        """The time of a step; that of the user's file, where the numbers of all steps stand for times."""
        if self._given.time is None or time != index:
            return time
        if not self.streaming:
            steps = self._handle.reader().steps()
            if len(steps) != self._counting[0]:
                self._counting = len(steps), all(step == at for step, at in steps)
        return self._given.time_of(index) if self._counting[1] else time

    # ---- the grid ----------------------------------------------------------------------------------------------------
    @property
    def grid(self) -> UniformGrid | None:
        """The places of the points, with boundaries if these are known. None: the series does not store the places."""
        told = super().grid
        if self._mode != "r" or not len(self):
            return told
        known = self.steps[-1].known
        return told if known.grid is None else UniformGrid.of(known.grid)

    def _repr_html_(self) -> str:
        """For notebooks: where it is, its steps, its grid, its variables and its attributes. Local."""
        if not self._handle.is_open:
            return card("Series, closed", [])
        steps = self.steps
        rows: list[tuple[str, Any]] = [("path", self.path), ("engine", self.engine), ("steps", len(steps))]
        if len(steps):
            rows.append(("time", f"{self.times[0]:g} to {self.times[-1]:g}"))
        grid = self.grid
        if grid is not None:
            rows.append(("grid", " x ".join(map(str, grid.points)) + " points in x, y, z"))
            rows.append(("boundaries", ", ".join(grid.boundaries or ("not known",))))
            if isinstance(grid, StretchedGrid):
                rows.append(
                    ("stretching", f"{grid.stretching}, beta {grid.beta:g}" if grid.stretching else "of its own")
                )
        if self._mode == "r" and not self.streaming and len(steps):
            kinds = steps[-1].variables.items()
            rows += [(name, _kind(one)) for name, one in kinds]
        above = ("lengths", "boundaries", "stretching", "beta")
        rows += [(name, value) for name, value in self.attributes.items() if name not in above]
        return card(f"Series {Path(self.path).name}", rows)

    # ---- writing -----------------------------------------------------------------------------------------------------
    def write(
        self,
        name: str,
        data: NDArray[Any] | Block | Field | Vector,
        *,
        region: Region | None = None,
        deferred: bool = False,
    ) -> None:
        """Write this rank's part of a variable. Afterwards the array may be changed.

        A contiguous array in the byte order of the machine is written without a copy; another one is copied first.

        :param data: an array, on several ranks a Block of it; a Field; or a Vector, which is stored by components.
        :param region: store these points only, as a variable of `region.count` points.
        :param deferred: do not copy the array. It must not change before `end_step`, which raises an error if it did.
        """
        super().write(name, data, region=region, deferred=deferred)  # type: ignore[arg-type] # `_place` takes them

    def _place(
        self, name: str, data: NDArray[Any] | Block | Field | Vector
    ) -> tuple[str, NDArray[Any], Triple, Box, Box]:
        return super()._place(name, self._block(name, data) if isinstance(data, Field | Vector) else data)

    def _block(self, name: str, data: Field | Vector) -> Block:
        operators = data.operators
        if operators.comm.size != self.comm.size:
            raise InputError(
                f"{name}: the field is shared by {operators.comm.size} ranks, the series is written by {self.comm.size}"
            )
        fields = [data] if isinstance(data, Field) else list(data)
        centred = fields[0].centred
        values = np.asarray(data) if isinstance(data, Field) else np.stack([np.asarray(one) for one in fields])
        return Block(values, operators.shape(centred), operators.box(centred)[0])

    # ---- export ------------------------------------------------------------------------------------------------------
    def to_xarray(self, chunks: Any = None) -> xarray.Dataset:
        """The whole series as an xarray.Dataset, read when it is used. Local: each rank opens the files for itself.

        :param chunks: as in `xarray.open_dataset`; with {} dask chooses the size of its pieces.
        :raises InputError: this is a stream, or is not open to read.
        """
        import xarray

        if self._mode != "r" or self.streaming:
            kind = "a stream" if self._mode == "r" else "open to write"
            raise InputError(f"{self.path}: is {kind}; xarray needs a series on disk, open to read")
        assert self._again is not None  # as of all files that are read
        return xarray.open_dataset(self._again, engine="tailrace", chunks=chunks)  # type: ignore[arg-type] # of ours


def _kind(one: Stored) -> str:
    x, y, z = one.shape
    return f"list of {y} rows, {x} columns of {one.dtype}" if one.is_list else f"{one.dtype}, (z, y, x) = {(z, y, x)}"


def _asked(time: float, method: Method | None) -> str:
    return {None: f"at time {time:.10g}", "pad": f"up to time {time:.10g}"}.get(method, f"from time {time:.10g} on")


def _around(times: NDArray[np.float64], time: float) -> str:
    near = np.sort(times[np.argsort(np.abs(times - time))[:4]])
    return f"{times[0]:.10g} to {times[-1]:.10g}, next to it {', '.join(f'{one:.10g}' for one in near)}"
