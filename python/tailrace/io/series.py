"""Series of arrays on disk or in a stream: written, appended to and read by the same methods with every engine.

    with tr.open("run.bp", "w", grid=grid) as out:
        out.write_step(0.25, index=100, ux=ux, uy=uy)

    for step in tr.open("run.bp"):  # or "sst:run": a stream, which has each step when another program ends it
        print(step.index, step.time, step["ux"].max())

Arrays have the shape (nz, ny, nx); one of (components, nz, ny, nx) is stored as a variable per component, name_1 to
name_n, and read by its own name or by theirs. Values are float16 to float64, int8 to int64, uint8 to uint64, bool,
complex64 or complex128, as far as the engine has the type (`EngineTraits.types`). Boxes, shapes and starts are in the
order x, y, z, as everywhere in Tailrace. Errors are `InputError` (a ValueError) for wrong arguments and `IoError` (an
OSError) for failures of disks and files; every rank gets the same one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.parallel import agree, extreme
from tailrace.text import visible

from .connection import Mode, connect
from .coupling import NO_COUPLING, Coupling, CouplingSide, LeftOut
from .dataset import Dataset
from .handle import Handle, raise_on_all_ranks
from .placement import Block, Box, Region
from .step import ArrayStep
from .steps import Steps
from .values import Attribute, Scalar, attribute_value, scalar_value, stored_array

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "ArraySeries",
    "ArrayStep",
    "Block",
    "Box",
    "LeftOut",
    "Region",
    "StretchedGrid",
    "UniformGrid",
    "connect",
    "open",
]


class Verified(Protocol):
    """What every kind of step can do."""

    def verify(self) -> list[str]:
        """Compare the step with its checksums. Collective."""


OneStep = TypeVar("OneStep", bound=Verified)


class SeriesOf(ABC, Generic[OneStep]):
    """An ordered set of steps in one place. A context manager, and when reading a sequence of steps of one kind.

    Methods are collective over the communicator that it was opened with; properties, `len` and `repr` are local.
    """

    def __init__(self, handle: Handle, mode: Mode, comm: MPI.Comm) -> None:
        self._handle = handle
        self._mode = mode
        self.comm = comm
        self._kept: list[NDArray[Any]] = []  # arrays that are read in end_step
        self._closing: tuple[list[LeftOut], Coupling] | None = None  # its state when it was closed
        self._table: list[tuple[int, float]] | None = None  # of the steps of files that are read, which stay the same

    # ---- writing --------------------------------------------------------------------------------
    def write_step(
        self,
        time: float,
        fields: Mapping[str, NDArray[Any] | Block] | None = None,
        /,
        *,
        index: int | None = None,
        scalars: Mapping[str, Scalar] | None = None,
        lists: Mapping[str, NDArray[Any]] | None = None,
        **more: NDArray[Any] | Block,
    ) -> None:
        """Write one step: arrays, lists, numbers and texts by name.

        After an error the step is dropped: the series is as before, and takes the next step. docs/io/errors.md says
        what a stream cannot take back.

        :param time: the time of the step.
        :param fields, more: arrays; on one rank the whole of each, on several ranks this rank's `Block`.
        :param index: larger than the index of the step before. Default: that index plus one, or 0 for the first step.
        :param scalars: numbers and texts; those of rank 0 are stored.
        :param lists: this rank's own rows of each list.
        :raises InputError: see `begin_step` and `write`. Nothing of the step is kept.
        :raises IoError: the disk is full or gone.

        >>> with tr.open("run.h5", "w") as series:
        ...     series.write_step(0.5, index=100, scalars={"dt": 0.005}, p=np.ones((8, 12, 16)))
        >>> with tr.open("run.h5") as series:
        ...     print(series.step(100).time, series[0].scalars)
        0.5 {'dt': 0.005}
        """
        with raise_on_all_ranks(self._handle.writer()) as writer:
            last = writer.last_index()
            number = int(index) if index is not None else 0 if last is None else last + 1
            moment = float(time)
            arrays = [self._place(name, data) for name, data in {**(fields or {}), **more}.items()]
            rows = [(name, _rows(name, data)) for name, data in (lists or {}).items()]
            values = {name: scalar_value(name, value) for name, value in (scalars or {}).items()}
        writer.write_step(number, moment, arrays, rows, values)

    def declare(self, name: str, shape: Sequence[int], dtype: str) -> None:
        """Fix the shape (x, y, z) and the stored type ("float32", "int64") of a variable before its first write."""
        with raise_on_all_ranks(self._handle.writer()) as writer:
            extent, stored = triple(shape), str(dtype)
        writer.declare(name, extent, stored)

    def begin_step(self, index: int, time: float) -> bool:
        """Begin a step; `index` must be larger than that of the step before. Returns whether the step is taken.

        Files take every step; a stream may leave it out (its parameter `policy`). What is written to a step that is not
        taken is checked and ignored; `end_step` is needed in both cases. With `buffers` this is decided later, and the
        result is True.
        """
        with raise_on_all_ranks(self._handle.writer()) as writer:
            number, moment = int(index), float(time)
        return bool(writer.begin_step(number, moment))

    def write(
        self, name: str, data: NDArray[Any] | Block, *, region: Region | None = None, deferred: bool = False
    ) -> None:
        """Write this rank's part of a variable. Afterwards the array may be changed.

        A contiguous array in the byte order of the machine is written without a copy; another one is copied first.

        :param region: store these points only, as a variable of `region.count` points.
        :param deferred: do not copy the array. It must not change before `end_step`, which raises an error if it did.
        """
        with raise_on_all_ranks(self._handle.writer()) as writer:
            _, array, shape, block, memory = self._place(name, data)
            place = None if region is None else Region(*(triple(three) for three in Region(*region)))
        if deferred:
            self._kept.append(array)
        writer.write(name, array, shape, block, memory, place, deferred)

    def write_list(self, name: str, rows: NDArray[Any]) -> None:
        """Write this rank's rows of a list: particles, probes. Each rank has any number of rows, also zero.

        :param rows: (rows,) or (rows, columns); stored in the order of the ranks.
        """
        with raise_on_all_ranks(self._handle.writer()) as writer:
            array = _rows(name, rows)
        writer.write_list(name, array)

    def write_scalar(self, name: str, value: Scalar) -> None:
        """Write one number or text of the open step; that of rank 0 is stored."""
        with raise_on_all_ranks(self._handle.writer()) as writer:
            plain = scalar_value(name, value)
        writer.write_scalar(name, plain)

    def set_attribute(self, name: str, value: Attribute) -> None:
        """Set an attribute of the series, or as "variable/name" of a variable. Stored with the next step.

        :param value: text, a number or a list of numbers.
        """
        with raise_on_all_ranks(self._handle.writer()) as writer:
            plain = attribute_value(name, value)
        writer.set_attribute(name, plain)

    def end_step(self) -> None:
        """End the step: from now on readers can read it, and it stays when this program is killed.

        With `buffers` this holds when `flush` or `close` returns. An error in the background is raised by the next
        `begin_step`, `flush` or `close`.
        """
        try:
            self._handle.writer().end_step()
        finally:
            self._kept.clear()

    def abandon_step(self) -> None:
        """Drop the open step; without one, nothing happens. Local, but all ranks must drop the same step.

        The series is as it was before `begin_step`; a stream only if nothing was written yet.
        """
        try:
            self._handle.writer().abandon_step()
        finally:
            self._kept.clear()

    def flush(self) -> None:
        """With `buffers`: wait until every ended step is written.

        :raises IoError: one of them could not be written.
        """
        self._handle.writer().flush()

    def close(self) -> None:
        """Close the series. Closing twice does nothing."""
        if self._handle.is_open:
            self._handle.reader().close()  # still usable for the next two lines
            self._closing = self.dropped, self.coupling
            self._handle.drop()

    @property
    def dropped(self) -> list[LeftOut]:
        """The last 100 000 steps that a stream has left out; empty for files, and on all ranks but rank 0.

        May be called after `close`. With `buffers` it waits for the background.
        """
        if self._closing is not None:
            return self._closing[0]
        stream = self._handle.stream()
        return [] if stream is None else [LeftOut(*one) for one in stream.dropped()]

    # ---- reading --------------------------------------------------------------------------------
    @abstractmethod
    def _step(self, number: int, index: int, time: float) -> OneStep:
        """The step at a position."""

    @property
    def steps(self) -> Steps[OneStep]:
        """The complete steps, in order. In a stream: the steps received so far; only the last one can be read.

        >>> with tr.open("run.h5", "w") as series:
        ...     series.write_step(0.5, index=100, p=np.ones((8, 12, 16)))
        >>> with tr.open("run.h5") as series:
        ...     print(len(series.steps), series.steps[-1].index)
        1 100
        """
        reader = self._handle.reader()
        table = reader.steps() if self._table is None else self._table
        if self._mode == "r" and not self.streaming:
            self._table = table
        return Steps(reader.path, table, self._step)

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of the steps."""
        return np.array([time for _, time in self._handle.reader().steps()])

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the series as a whole."""
        return dict(self._handle.reader().attributes())

    @property
    def files(self) -> list[str]:
        """The paths of the files of the series; for BP its directory.

        Only for a series that is open to read; empty for a stream.
        """
        return list(self._handle.reader().files())

    @property
    def dataset(self) -> Dataset | None:
        """The Dataset behind files of another program; None for a series of Tailrace."""
        return self._handle.dataset

    @property
    def grid(self) -> UniformGrid | None:
        """The places of the points; None if the writer gave no grid."""
        found = self._handle.reader().grid()
        if found is None:
            return None
        points, origin, spacing, (x, y, z) = found
        place = (triple(points), (origin[0], origin[1], origin[2]), (spacing[0], spacing[1], spacing[2]))
        return StretchedGrid(*place, (x, y, z)) if x or y or z else UniformGrid(*place)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, position: int) -> OneStep: ...
    @overload
    def __getitem__(self, position: slice) -> list[OneStep]: ...
    def __getitem__(self, position: int | slice) -> OneStep | list[OneStep]:
        return self.steps[position]

    def __iter__(self) -> Iterator[OneStep]:
        return iter(self.next_step, None) if self.streaming else iter(self.steps)

    def verify(self) -> list[str]:
        """Compare all steps with their checksums; in a stream, the steps that follow.

        :returns: one line for each damage.
        """
        found = agree(self.comm, lambda: list(self._handle.reader().damage()))  # each rank has looked by itself
        damage: dict[str, None] = {}
        if extreme(self.comm, len(found), largest=True):
            damage = dict.fromkeys(line for lines in self.comm.allgather(found) for line in lines)
        return [*damage, *(line for step in self for line in step.verify())]

    @property
    def streaming(self) -> bool:
        """Whether this is a stream that is open to read. Each step comes when the writer ends it. Local."""
        stream = self._handle.stream()
        return stream is not None and stream.streaming

    def next_step(self, timeout: float | None = None) -> OneStep | None:
        """Wait for the next step of a stream; only that step can be read then. Returns None when the writer has ended.

        :raises IoError: no step came in `timeout` seconds. Default: the parameter `timeout` of the engine.
        """
        return self.steps[-1] if self._handle.writer().next_step(-1.0 if timeout is None else timeout) else None

    # ---- both -----------------------------------------------------------------------------------
    @property
    def coupling(self) -> Coupling:
        """The cost of a stream for both sides so far, on rank 0. May be called after `close`."""
        if self._closing is not None:
            return self._closing[1]
        stream = self._handle.stream()
        if stream is None:
            return NO_COUPLING
        role, own, others, *counts = stream.coupling()
        return Coupling(role, CouplingSide(*own), tuple(CouplingSide(*one) for one in others), *counts)  # type: ignore[arg-type] # one of the three roles

    @property
    def path(self) -> str:
        """Where the series is."""
        return self._handle.reader().path

    @property
    def engine(self) -> str:
        """Name of the engine in use."""
        return self._handle.reader().engine

    @property
    def counters(self) -> dict[str, float]:
        """Bytes moved and seconds spent by this rank so far."""
        return dict(self._handle.reader().counters())

    @property
    def notes(self) -> list[str]:
        """Remarks about the series: striping, choices and their reasons, and what the system refused to a stream.

        Rank 0 has all of them. Local.
        """
        return list(self._handle.reader().notes())

    def summary(self) -> list[PhaseSummary]:
        """Calls, bytes and time of all ranks so far, by phase. Collective."""
        stream = self._handle.stream()
        return [] if stream is None else [PhaseSummary(*row) for row in stream.summary()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._handle.drop(trace)  # one rank may have failed alone: no collective close

    def __repr__(self) -> str:
        if not self._handle.is_open:
            return "<Series, closed>"
        reader = self._handle.reader()
        verb = {"r": "reading", "w": "writing", "x": "writing", "a": "appending"}[self._mode]
        steps = reader.steps()
        lines = [f"<Series {self.path}: {self.engine}, {verb}, {len(steps)} step{'' if len(steps) == 1 else 's'}>"]
        if steps:
            lines.append(f"  index {steps[0][0]} to {steps[-1][0]}, time {steps[0][1]:g} to {steps[-1][1]:g}")
        if steps and self._mode == "r" and not self.streaming:
            variables = reader.variables(len(steps) - 1)
            width = max((len(name) for name, *_ in variables), default=0)
            for name, dtype, shape, is_list in variables:
                extent = f"list of {shape[1]} x {shape[0]}" if is_list else f"(z, y, x) = {tuple(reversed(shape))}"
                lines.append(f"  {name:{width}} {dtype} {extent}")
            lines += [f"  {name} = {value}" for name, value in reader.scalars(len(steps) - 1).items()]
        return "\n".join(map(visible, lines))

    def _place(self, name: str, data: NDArray[Any] | Block) -> tuple[str, NDArray[Any], Triple, Box, Box]:
        """The name, the contiguous array, the global shape, the box to write and the box that the array covers."""
        part = data if isinstance(data, Block) else self._whole(name, data)
        array = stored_array(name, part.data)
        if array.ndim not in (3, 4):
            more = f"{', '.join(map(str, (1,) * (3 - array.ndim) + array.shape))}"
            way = f"; to fix this, write data.reshape({more}), or a list" if array.ndim < 3 else ""
            raise InputError(
                f"{visible(name)}: expected an array (nz, ny, nx) or (components, nz, ny, nx), found {array.shape}{way}"
            )
        return name, array, triple(part.shape), *part.boxes()

    def _whole(self, name: str, data: NDArray[Any]) -> Block:
        array = np.asanyarray(data)
        # On several ranks an array without a Block does not say its place. All ranks find this error alike.
        if self.comm.size > 1:
            raise InputError(f"{name}: on {self.comm.size} ranks each rank gives a Block(data, shape, start) of it")
        return Block(array, triple([*reversed(array.shape[-3:]), 1, 1, 1][:3]))


class ArraySeries(SeriesOf[ArrayStep]):
    """A series whose steps give arrays; made by `open`. Users get `tailrace.steps.series.Series` instead."""

    def _step(self, number: int, index: int, time: float) -> ArrayStep:
        return ArrayStep(self._handle, number, index, time)


def open(path: str | PathLike[str], mode: Mode = "r", **how: Any) -> ArraySeries:
    """Open the series at `path`; its steps give plain arrays. Collective. Arguments are those of `connect`."""
    return ArraySeries(*connect(path, mode, **how))


def _rows(name: str, data: Any) -> NDArray[Any]:
    array = stored_array(name, data)
    if array.ndim not in (1, 2):
        raise InputError(f"{visible(name)}: a list has the shape (rows,) or (rows, columns), found {array.shape}")
    return array.reshape(-1, 1) if array.ndim == 1 else array


class PhaseSummary(NamedTuple):
    """One phase of input and output over all ranks: sums of calls and bytes, and the ranks' own seconds in it."""

    phase: str
    calls: int
    bytes: int
    min_seconds: float
    mean_seconds: float
    max_seconds: float
