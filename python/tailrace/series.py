"""Series of steps on disk: written, appended to and read through the same verbs whatever the engine.

    with tr.open("run.bp", "w", grid=grid) as out:
        out.write_step(0.25, index=100, ux=ux, uy=uy)

    for step in tr.open("run.bp"):  # or "sst:run": a stream, step by step as another program makes them
        print(step.index, step.time, step["ux"].max())

Arrays have the shape (nz, ny, nx); one of (components, nz, ny, nx) is stored as a variable per component, name_1 to
name_n, and read by its own name or by theirs. Numbers are float32, float64, int32 or int64. Boxes, shapes and starts
are in the order x, y, z, as everywhere in Tailrace. Errors are `InputError` (a ValueError) for what the caller did and
`IoError` (an OSError) for what the disk or the files did; every rank gets the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, overload

import numpy as np

from . import _core

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    Attribute = str | int | float | Sequence[int] | Sequence[float]
    Scalar = float | int | str

__all__ = [
    "Block",
    "Box",
    "Coupling",
    "CouplingSide",
    "LeftOut",
    "PointGrid",
    "Region",
    "Series",
    "Step",
    "Stored",
    "UniformGrid",
    "open",
]

Triple = tuple[int, int, int]
_STORED = [np.dtype(name) for name in ("float32", "float64", "int32", "int64")]
Mode = Literal["r", "w", "a"]


class Box(NamedTuple):
    """A block of a global array: indices start <= i < start + count, in x, y, z."""

    start: Triple
    count: Triple  # type: ignore[assignment] # tuple has a method of this name, which nobody calls on a box


class Region(NamedTuple):
    """Points start, start + stride, ... of a variable, `count` of them; in x, y, z."""

    start: Triple
    count: Triple  # type: ignore[assignment] # as in Box
    stride: Triple = (1, 1, 1)


class Stored(NamedTuple):
    """What a step says of a variable: stored type, global shape (x, y, z), and whether it is a list.

    A list has the shape (columns, rows, 1).
    """

    dtype: str
    shape: Triple
    is_list: bool


class LeftOut(NamedTuple):
    """A step that a stream has left out.

    `why`: "dropped" (there was no room), "skipped" (to keep to the `share`) or "unread" (there was no reader).
    """

    index: int  # type: ignore[assignment] # tuple has a method of this name, which nobody calls on a step
    time: float
    why: str


@dataclass(frozen=True)
class CouplingSide:
    """One program of a coupling, as its rank 0 measured it; seconds of wall time.

    `state` is "open" or "closed", of a reader also "lost" (gone without a word) or "dropped" (it held the writer up).
    """

    ranks: int
    steps: int  # given to the readers, or read to their end
    elapsed: float  # since the two met
    compute: float  # own work
    wait: float  # for the other side
    transfer: float  # moving steps
    state: str
    host: str
    process: int


@dataclass(frozen=True)
class Coupling:
    """What a stream has cost, of both of its ends.

    `role` is "writer", "reader", or "none": not a stream, or not rank 0, which alone knows. `others` are, of a writer,
    its readers in the order they came, and of a reader the writer as it was at the last step.
    """

    role: Literal["none", "writer", "reader"]
    own: CouplingSide
    others: tuple[CouplingSide, ...]
    dropped: int  # steps for which there was no room; of a reader: all steps that it missed
    skipped: int  # steps left out to keep to the `share`
    unread: int  # steps when there was no reader


class PointGrid(Protocol):
    """What a series wants to know of a grid."""

    @property
    def points(self) -> Sequence[int]:
        """Points per direction."""

    @property
    def origin(self) -> Sequence[float]:
        """Position of the first point."""

    @property
    def spacing(self) -> Sequence[float]:
        """Distance between neighbours."""


@dataclass(frozen=True)
class UniformGrid:
    """Points at origin + i * spacing in each direction (x, y, z)."""

    points: Triple
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class StretchedGrid(UniformGrid):
    """Points at `coordinates[direction][i]`; where a direction (x, y, z) has none, its points are even."""

    coordinates: tuple[Sequence[float], Sequence[float], Sequence[float]] = ((), (), ())


@dataclass(frozen=True)
class Block:
    """One rank's part of a global array.

    `data` (nz, ny, nx), or (components, nz, ny, nx), begins at global point `start` (x, y, z) of an array of `shape`
    points, and has `ghosts` layers more on every side, which are not written. `ghosts` is one number or one per
    direction (x, y, z).
    """

    data: NDArray[Any]
    shape: Triple
    start: Triple = (0, 0, 0)
    ghosts: int | Triple = 0

    def boxes(self) -> tuple[Box, Box]:
        """The box that is written and the box that `data` covers."""
        width = (self.ghosts,) * 3 if isinstance(self.ghosts, int) else self.ghosts
        held = _shape_of(self.data)
        memory = Box(_triple(s - g for s, g in zip(self.start, width, strict=True)), held)
        return Box(_triple(self.start), _triple(n - 2 * g for n, g in zip(held, width, strict=True))), memory


def open(
    path: str | PathLike[str],
    mode: Mode = "r",
    *,
    comm: MPI.Comm | None = None,
    engine: str | None = None,
    parameters: Mapping[str, object] | None = None,
    grid: PointGrid | None = None,
    precision: Literal["float32", "float64"] | None = None,
    rewind_to: int | None = None,
) -> Series:
    """Open the series at `path` to read ("r"), to write anew ("w") or to append to ("a"). Collective over `comm`.

    comm: the ranks that take part; all of them (COMM_WORLD) when writing, this one alone (COMM_SELF) when reading.
    engine: one of `_core.engine_names()`; without it what is there already says, when reading or appending, then the
        variable TAILRACE_ENGINE of the environment, then the path: .bp, .h5 or .vtkhdf, .sion, sst:NAME, a directory.
    parameters: of the engine, by their own names; and for all engines `checksums` (True), `sync` (False: a step is
        complete when the operating system has it, not when the disk has it), `buffers` (0; n: steps are copied and
        written in the background, at most n at a time), `stripe_count` and `stripe_size` (on Lustre), `trace` and
        `folded` (files to write at close: Chrome trace, folded stacks). They win over TAILRACE_PARAMETERS.
    grid: where the points lie, for the programs that draw them: a UniformGrid, or a StretchedGrid, for which hdf5 adds
        an XDMF file of the same name.
    precision: in which type arrays are stored; without it as they come.
    rewind_to: when appending, drop the steps with a larger index first.
    """
    if mode not in ("r", "w", "a"):
        raise _core.InputError(f"unknown mode {mode!r}: expected 'r', 'w' or 'a'")
    name = fspath(path)
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_SELF if mode == "r" else MPI.COMM_WORLD
    place = None
    if grid is not None:
        origin, spacing = (tuple(float(v) for v in values) for values in (grid.origin, grid.spacing))
        coordinates = getattr(grid, "coordinates", ((), (), ()))
        place = (_triple(grid.points), origin, spacing, tuple([float(x) for x in along] for along in coordinates))
    texts = {key: _parameter_text(value) for key, value in (parameters or {}).items()}
    core = _core.Series.open(name, mode, comm.py2f(), engine or "", texts, place, precision, rewind_to)
    return Series(core, mode, comm.size)


class Series:
    """An ordered set of steps in one place; made by `open`. A context manager, and when reading a sequence of steps.

    All methods are collective over the communicator it was opened with, except those that only look.
    """

    def __init__(self, core: _core.Series, mode: Mode, ranks: int) -> None:
        self._core: _core.Series | None = core
        self._mode = mode
        self._ranks = ranks
        self._kept: list[NDArray[Any]] = []  # arrays that the core reads in end_step
        self._closing: tuple[list[LeftOut], Coupling] | None = None  # how it stood when it was closed

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
        """Write one step: its time, its index (that of the step before plus one), arrays, numbers and texts by name.

        On one rank an array is the whole variable; on several each rank gives its `Block`. Of `lists` each rank gives
        its own rows.
        """
        if index is None:
            last = self._open().last_index()
            index = 0 if last is None else last + 1
        if self.begin_step(index, time):
            for name, data in {**(fields or {}), **more}.items():
                self.write(name, data)
            for name, rows in (lists or {}).items():
                self.write_list(name, rows)
            for name, value in (scalars or {}).items():
                self.write_scalar(name, value)
        self.end_step()

    def declare(self, name: str, shape: Sequence[int], dtype: str) -> None:
        """Fix the shape (x, y, z) and the stored type ("float32", "int64") of a variable before its first write."""
        core = self._open()
        with _together(core):
            extent, stored = _triple(shape), str(dtype)
        core.declare(name, extent, stored)

    def begin_step(self, index: int, time: float) -> bool:
        """Begin a step; `index` must be larger than that of the step before. Returns whether the step is taken.

        Files take every step; a stream may leave it out (its parameter `policy`). What is written to a step that is not
        taken is checked and ignored, so who looks can save the work; `end_step` ends it all the same. With `buffers`
        that is decided later, and the answer is True.
        """
        core = self._open()
        with _together(core):
            number, moment = int(index), float(time)
        return bool(core.begin_step(number, moment))

    def write(
        self, name: str, data: NDArray[Any] | Block, *, region: Region | None = None, deferred: bool = False
    ) -> None:
        """Write this rank's part of a variable: float32, float64, int32 or int64. Afterwards the array may be changed.

        A contiguous array is written from where it is; another one is copied first.

        :param region: store these points only, as a variable of `region.count` points.
        :param deferred: nothing is copied, and the array must stay as it is until `end_step`; one that has changed
            is an error there.
        """
        core = self._open()
        with _together(core):
            part = data if isinstance(data, Block) else self._whole(name, data)
            array, shape = _numbers(name, part.data), _triple(part.shape)
            block, memory = part.boxes()
            place = None if region is None else Region(*(_triple(three) for three in Region(*region)))
        if deferred:
            self._kept.append(array)
        core.write(name, array, shape, block, memory, place, deferred)

    def write_list(self, name: str, rows: NDArray[Any]) -> None:
        """Write this rank's rows of a list: particles, probes. Each rank has as many as it likes, also none.

        :param rows: (rows,) or (rows, columns); stored in the order of the ranks.
        """
        core = self._open()
        with _together(core):
            array = _numbers(name, rows)
            array = array.reshape(-1, 1) if array.ndim == 1 else array
        core.write_list(name, array)

    def write_scalar(self, name: str, value: Scalar) -> None:
        """Write one number or text of the open step; rank 0's counts."""
        core = self._open()
        with _together(core):
            plain = _scalar_value(value)
        core.write_scalar(name, plain)

    def attribute(self, name: str, value: Attribute) -> None:
        """Set an attribute of the series, or as "variable/name" of a variable. Stored with the next step.

        :param value: text, a number or a list of numbers.
        """
        core = self._open()
        with _together(core):
            plain = _attribute_value(value)
        core.attribute(name, plain)

    def end_step(self) -> None:
        """End the step: from now on it is there for readers, and survives whatever happens to this run.

        With `buffers` that is so when `flush` or `close` returns, and an error of the background is raised by the
        next `begin_step`, `flush` or `close`.
        """
        try:
            self._open().end_step()
        finally:
            self._kept.clear()

    def flush(self) -> None:
        """With `buffers`: wait until every step that was ended is written, or raise what went wrong."""
        self._open().flush()

    def close(self) -> None:
        """Close the series. Closing twice does nothing."""
        if self._core is not None:
            self._core.close()
            self._closing = self.dropped, self.coupling
            self._core = None

    @property
    def dropped(self) -> list[LeftOut]:
        """The steps that a stream has left out: the last 100 000, in rank 0; elsewhere, and for files, none.

        Also after `close`. With `buffers` it waits for the background.
        """
        if self._core is None and self._closing is not None:
            return self._closing[0]
        return [LeftOut(*one) for one in self._open().dropped()]

    # ---- reading --------------------------------------------------------------------------------
    @property
    def steps(self) -> list[Step]:
        """The complete steps, in order; of a stream those that came so far, of which the last can be read."""
        return [Step(self, number, index, time) for number, (index, time) in enumerate(self._open().steps())]

    @property
    def times(self) -> NDArray[np.float64]:
        """The times of the steps."""
        return np.array([time for _, time in self._open().steps()])

    @property
    def attributes(self) -> dict[str, Any]:
        """What the series says of itself as a whole."""
        return dict(self._open().attributes())

    @property
    def grid(self) -> UniformGrid | None:
        """Where the points lie, if the writer told."""
        found = self._open().grid()
        if found is None:
            return None
        points, origin, spacing, (x, y, z) = found
        place = (_triple(points), (origin[0], origin[1], origin[2]), (spacing[0], spacing[1], spacing[2]))
        return StretchedGrid(*place, (x, y, z)) if x or y or z else UniformGrid(*place)

    def __len__(self) -> int:
        return len(self._open().steps())

    @overload
    def __getitem__(self, number: int) -> Step: ...
    @overload
    def __getitem__(self, number: slice) -> list[Step]: ...
    def __getitem__(self, number: int | slice) -> Step | list[Step]:
        return self.steps[number]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.next_step, None) if self.streaming else iter(self.steps)

    def verify(self) -> list[str]:
        """Compare all steps with their checksums; one line for all damage. Of a stream: those to come."""
        return [*self._open().damage(), *(line for step in self for line in step.verify())]

    @property
    def streaming(self) -> bool:
        """Whether the steps come one by one, as the writer makes them: a stream, open to read."""
        return bool(self._open().streaming)

    def next_step(self, timeout: float | None = None) -> Step | None:
        """Of a stream: wait for the next step, after which only that one can be read. None: the writer has ended.

        :raises IoError: nothing came for `timeout` seconds; without it, for as many as the parameter `timeout` says.
        """
        return self.steps[-1] if self._open().next_step(-1.0 if timeout is None else timeout) else None

    # ---- both -----------------------------------------------------------------------------------
    @property
    def coupling(self) -> Coupling:
        """What a stream has cost, of both of its ends, so far; in rank 0. Also after `close`."""
        if self._core is None and self._closing is not None:
            return self._closing[1]
        found = self._open().coupling()
        sides = tuple(CouplingSide(**one) for one in (found["own"], *found["others"]))
        counts = {name: found[name] for name in ("dropped", "skipped", "unread")}
        return Coupling(found["role"], sides[0], sides[1:], **counts)

    @property
    def path(self) -> str:
        """Where the series is."""
        return str(self._open().path)

    @property
    def engine(self) -> str:
        """Name of the engine in use."""
        return str(self._open().engine)

    @property
    def counters(self) -> dict[str, float]:
        """Bytes moved and seconds spent by this rank so far."""
        return dict(self._open().counters())

    @property
    def notes(self) -> list[str]:
        """What the series has to say about how it was opened: striping, what was chosen and why. Rank 0 has all."""
        return list(self._open().notes())

    def summary(self) -> list[PhaseSummary]:
        """Where the time of all ranks went so far. Collective."""
        return [PhaseSummary(*row) for row in self._open().summary()]

    def __enter__(self) -> Series:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            # One rank may have failed alone: no collective close. Complete steps stay, an open one is dropped.
            self._core = None

    def __repr__(self) -> str:
        if self._core is None:
            return "<Series, closed>"
        verb = {"r": "reading", "w": "writing", "a": "appending"}[self._mode]
        steps = self._core.steps()
        lines = [f"<Series {self.path}: {self.engine}, {verb}, {len(steps)} step{'' if len(steps) == 1 else 's'}>"]
        if steps:
            lines.append(f"  index {steps[0][0]} to {steps[-1][0]}, time {steps[0][1]:g} to {steps[-1][1]:g}")
        if steps and self._mode == "r" and not self._core.streaming:
            variables = self._core.variables(len(steps) - 1)
            width = max((len(name) for name, *_ in variables), default=0)
            for name, dtype, shape, is_list in variables:
                extent = f"list of {shape[1]} x {shape[0]}" if is_list else f"(z, y, x) = {tuple(reversed(shape))}"
                lines.append(f"  {name:{width}} {dtype} {extent}")
            lines += [f"  {name} = {value}" for name, value in self._core.scalars(len(steps) - 1).items()]
        return "\n".join(lines)

    def _open(self) -> _core.Series:
        if self._core is None:
            raise _core.InputError("the series is closed")
        return self._core

    def _whole(self, name: str, data: NDArray[Any]) -> Block:
        array = np.asarray(data)
        # On several ranks a bare array is nobody's whole; the check is local, but true of every rank alike.
        if self._ranks > 1:
            raise _core.InputError(f"{name}: on {self._ranks} ranks each rank gives a Block(data, shape, start) of it")
        return Block(array, _shape_of(array))


class PhaseSummary(NamedTuple):
    """One phase of input and output over all ranks: sums of calls and bytes, and the ranks' own seconds in it."""

    phase: str
    calls: int
    bytes: int
    min_seconds: float
    mean_seconds: float
    max_seconds: float


class Step:
    """A step of a series that is being read: index, time, and its variables by name."""

    def __init__(self, series: Series, number: int, index: int, time: float) -> None:
        self._series = series
        self._number = number
        self.index = index
        self.time = time

    @property
    def variables(self) -> dict[str, Stored]:
        """Stored type and shape (x, y, z) of every array and list."""
        found = self._series._open().variables(self._number)
        return {name: Stored(dtype, _triple(shape), is_list) for name, dtype, shape, is_list in found}

    @property
    def names(self) -> list[str]:
        """Names of the arrays and lists."""
        return list(self.variables)

    @property
    def scalars(self) -> dict[str, Scalar]:
        """The single numbers and texts of the step, by name."""
        return dict(self._series._open().scalars(self._number))

    @property
    def missed(self) -> list[int]:
        """The indices of the steps that the writer of a stream has left out since the step that was read before."""
        return list(self._series._open().missed(self._number))

    def verify(self) -> list[str]:
        """Compare the step with its checksums, in pieces of bounded size; one line for every block that is damaged.

        Raises IoError where the writer of a stream is lost, which is no damage.
        """
        return list(self._series._open().verify(self._number))

    @property
    def unchecked(self) -> list[str]:
        """The arrays that have no checksums, of which `verify` can say nothing."""
        return list(self._series._open().unchecked(self._number))

    def read(
        self, name: str, box: Box | tuple[Sequence[int], Sequence[int]] | None = None, *, dtype: str | None = None
    ) -> NDArray[Any]:
        """A box of an array as (nz, ny, nx), or all of it; of a list (rows, columns), or (rows,) where it has but one.

        Collective; every rank may want another box.

        All components of an array come as (components, nz, ny, nx).

        :param dtype: "float32" or "float64", if not as stored.
        """
        core = self._series._open()
        with _together(core):
            variables = self.variables
            components = 0 if name in variables else self.components(name)
            unknown = Stored("float64", (0, 0, 0), False)  # an unknown name fails below, on all ranks
            stored = variables.get(f"{name}_1" if components else name, unknown)
            start, count = ((0, 0, 0), stored.shape) if box is None else (_triple(box[0]), _triple(box[1]))
            extent = ((components,) if components else ()) + tuple(max(0, n) for n in reversed(count))
            array = np.empty(extent, dtype=dtype or stored.dtype)
        core.read(self._number, name, (start, count), array)
        if not stored.is_list:
            return array
        return array[0, :, 0] if stored.shape[0] == 1 else array[0]

    def components(self, name: str) -> int:
        """How many components an array has that was written as (components, nz, ny, nx); 0: it is none."""
        return int(self._series._open().components(self._number, name))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        return name in self.variables or (isinstance(name, str) and self.components(name) > 0)

    def __repr__(self) -> str:
        return f"<Step {self.index}: time {self.time:g}; {', '.join(self.names)}>"


@contextmanager
def _together(core: _core.Series) -> Iterator[None]:
    """Arguments that one rank cannot make sense of are an error on all ranks, not only where they are wrong."""
    try:
        yield
    except Exception as error:
        core.refuse(str(error), not isinstance(error, _core.IoError))
        raise  # not reached: refusing raises


def _numbers(name: str, data: Any) -> NDArray[Any]:
    array = np.ascontiguousarray(data)
    if array.dtype not in _STORED:
        raise _core.InputError(f"{name}: expected an array of float32, float64, int32 or int64, found {array.dtype}")
    return array


def _triple(values: Any) -> Triple:
    x, y, z = (int(value) for value in values)
    return x, y, z


def _shape_of(array: NDArray[Any]) -> Triple:
    if array.ndim not in (3, 4):
        raise _core.InputError(f"expected an array (nz, ny, nx) or (components, nz, ny, nx), not one of {array.shape}")
    return _triple(reversed(array.shape[-3:]))


def _parameter_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scalar_value(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        raise _core.InputError(f"expected a number or a text, not {plain!r}")
    return int(plain) if isinstance(plain, bool) else plain


def _attribute_value(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | int | float):
        return value
    values = list(value)
    if not all(isinstance(one, int | float) for one in values):
        raise _core.InputError(f"expected a text, a number or numbers, not {values!r}")
    return values
