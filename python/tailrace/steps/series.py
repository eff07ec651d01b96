"""The series of users: its steps have fields wherever it says its grid.

    with tr.open("run.h5") as series:
        for step in series:
            print(step.time, 0.5 * tr.mean_square(tr.curl(step.vector("u"))))

Reading, writing and streaming are those of `tailrace.io.series`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tailrace.core import Grid, InputError
from tailrace.fields.field import Field
from tailrace.fields.vector import Vector
from tailrace.formats.recognise import FAMILIES, open_dataset, refuse_unknown, series_of_run
from tailrace.grids import StretchedGrid, Triple, UniformGrid
from tailrace.io.connection import Mode, connect
from tailrace.io.engines import ENGINES, is_stream
from tailrace.io.handle import Handle
from tailrace.io.names import RAW_NAMES
from tailrace.io.placement import Block, Box, Region
from tailrace.io.series import SeriesOf
from tailrace.io.step import ArrayStep
from tailrace.io.values import parameter_text
from tailrace.notebook import card
from tailrace.parallel import agree, on_root

from .grid_file import GridFile, GridPart, read_grid_file
from .series_grid import SeriesGrid
from .stored_step import StoredStep

if TYPE_CHECKING:
    import xarray
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.io.placement import Stored

Method = Literal["nearest", "pad", "backfill"]


def open(
    path: str | PathLike[str],
    mode: Mode = "r",
    *,
    comm: MPI.Comm | None = None,
    engine: str | None = None,
    parameters: Mapping[str, object] | None = None,
    grid: UniformGrid | Grid | GridFile | str | PathLike[str] | None = None,
    precision: Literal["float32", "float64"] | None = None,
    rewind_to: int | None = None,
    guard: bool = False,
) -> Series:
    """Open the series at `path` to read ("r"), to write a new one ("w", "x") or to append ("a"). Collective.

    Files of other programs can be read too: Xcompact3D, the Pencil Code, Nektar++, SIONlib, and HDF5 and BP files of
    unknown origin (docs/formats.md). Their content shows which program wrote them.

    With "w" the new series replaces an earlier series of Tailrace that no program is writing. With "x" the path must be
    free, or an empty directory. Files of other programs are never replaced.

    :param comm: the ranks that take part. Default: all ranks (COMM_WORLD) to write, this rank alone (COMM_SELF) to
        read.
    :param engine: one of `tailrace.io.engines.ENGINES`, or when reading a family of `formats.recognise.FAMILIES`.
        Default when reading or appending: the engine or the program that wrote the files. Else the environment variable
        TAILRACE_ENGINE decides, or without it the path: .bp, .h5 or .vtkhdf, .sion, sst:NAME, or a directory.
    :param parameters: parameters of the engine, by their own names. All engines have `checksums` (default True), `sync`
        (default False; a step is complete when the operating system has it, with True when the disk has it), `buffers`
        (default 0; with n, steps are copied and written in the background, at most n at a time), `stripe_count` and
        `stripe_size` (on Lustre), `trace` and `folded` (files to write at close: Chrome trace, folded stacks). They
        have priority over TAILRACE_PARAMETERS.
    :param grid: when writing, the places of the points: a UniformGrid or a StretchedGrid; hdf5 has both in an XDMF
        file beside it too. A grid with boundaries stores all that derivatives need. When reading, the grid
        of a series that does not store it: a UniformGrid with boundaries, a StretchedGrid with its law, or the path of
        a TOML file (see `tailrace.steps.grid_file`). It has priority over the grid that is stored. The grid of
        operators, `ops.grid`, can be used for both.
    :param precision: when writing, the type in which arrays are stored; default: the type of each array. When reading,
        the type of the fields; default: float32 if all fields are stored in float32, else float64.
    :param rewind_to: when appending, first drop the steps with a larger index.
    :param guard: for files that may be damaged, or made to do harm: ADIOS2 or HDF5 could crash on them, hang, or take
        all memory. Before the series is opened to read or append, rank 0 reads its metadata (of bp4 and bp5 also all
        values) in a child process, also if its checksums are right. If the child dies, IoError is raised.
    :raises InputError: an argument is wrong, or the series does not exist.
    :raises IoError: the series cannot be read or written.
    :raises ConfigError: the grid file has a problem.

    >>> grid = tr.UniformGrid((16, 12, 8), spacing=(0.5, 0.25, 0.25), boundaries=("periodic",) * 3)
    >>> with tr.open("run.h5", "w", grid=grid) as series:
    ...     series.write_step(0.5, ux=np.ones((8, 12, 16)))
    >>> with tr.open("run.h5") as series:
    ...     print(tr.mean(series[0]["ux"]))
    1.0
    """
    if mode == "r":
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_SELF
        given = agree(comm, lambda: given_grid(grid))
        family = engine if engine in FAMILIES and engine not in ENGINES else None  # sion is both
        texts = {key: parameter_text(value) for key, value in (parameters or {}).items()}
        if engine is None and not is_stream(fspath(path)):
            path = on_root(comm, lambda: series_of_run(path))
        if engine is None or family is not None:
            found = open_dataset(path, comm, family, texts, guard)
            if found is not None:
                return Series(Handle(found), mode, comm, given=given, precision=precision)
            on_root(comm, lambda: refuse_unknown(Path(path)))
        handle = connect(path, mode, comm=comm, engine=engine, parameters=parameters, rewind_to=rewind_to, guard=guard)
        return Series(*handle, given=given, precision=precision)
    if isinstance(grid, Grid):
        grid = UniformGrid.of(grid)
    if grid is not None and not isinstance(grid, UniformGrid):
        raise InputError(f"grid = {grid!r}: a series is written with a UniformGrid or a StretchedGrid")
    if grid is not None and grid.boundaries is not None and _has_law(grid):
        grid.checked()
    series = Series(
        *connect(
            path, mode, comm=comm, engine=engine, parameters=parameters, grid=grid, precision=precision,
            rewind_to=rewind_to, guard=guard,
        )
    )  # fmt: skip
    _tell_box(series, grid)
    return series


def given_grid(grid: UniformGrid | Grid | GridFile | str | PathLike[str] | None) -> GridFile:
    """The user's knowledge of a grid, in one form. Local.

    :raises ConfigError, InputError: it is wrong, or not enough.
    """
    if isinstance(grid, Grid):
        grid = UniformGrid.of(grid)
    if grid is None or isinstance(grid, GridFile):
        return grid or GridFile()
    if not isinstance(grid, UniformGrid):
        return read_grid_file(Path(grid))
    if grid.boundaries is None:
        raise InputError(
            'grid: a UniformGrid to read with needs its boundaries, as boundaries=("periodic", "free-slip", "periodic")'
        )
    known = grid.checked()
    box = {"points": grid.points, "lengths": tuple(known.lengths), "boundaries": grid.boundaries}
    law = {"stretching": known.stretching, "beta": known.beta} if known.stretching else {}
    return GridFile(grid=GridPart.model_validate({**box, **law}))


def _has_law(grid: UniformGrid) -> bool:
    """Whether the places of the points follow from the lengths of the box, so that fields can be differentiated."""
    return bool(isinstance(grid, StretchedGrid) and grid.stretching) or not any(map(len, grid.uneven))


def _tell_box(series: Series, grid: UniformGrid | None) -> None:
    """Store lengths, boundaries and stretching of a new series, by which its reader can differentiate."""
    if grid is None or grid.boundaries is None:
        return
    series.set_attribute("lengths", list(grid.lengths or ()))
    series.set_attribute("boundaries", ",".join(grid.boundaries))
    if isinstance(grid, StretchedGrid) and grid.stretching:
        series.set_attribute("stretching", grid.stretching)
        series.set_attribute("beta", grid.beta)


class Series(SeriesOf[StoredStep]):
    """An ordered set of steps in one place, made by `open`: a context manager, and when reading a sequence of steps.

    `series[3]` is a step by position, `series.step(300)` by index, `series.at(time=1.5)` by time. If the series stores
    its grid, or `open` was given one, `step["ux"]` is a Field; otherwise it is an array.

    Methods are collective over the communicator given to `open`; properties, `len` and `repr` are local.

    :param given: what the user knows of the grid, when reading.
    :param precision: type of the fields that are read.

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
    ) -> None:
        super().__init__(handle, mode, comm)
        self._given, self._precision = given or GridFile(), precision
        self._known: SeriesGrid | None = None
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
            self._given.time_of(index, time),
            lambda: self._grid_by(stored),
            missed=lambda: self._missed(number, stored),
            lazy=files and self.comm.size == 1,
            dataset=self.to_xarray if files else None,
        )

    def _grid_by(self, step: ArrayStep) -> SeriesGrid:
        if self._known is None:
            dataset = self._handle.dataset
            aliases = dataset.aliases if dataset is not None else RAW_NAMES if ENGINES[self.engine].file_names else {}
            self._known = SeriesGrid(
                self.path, aliases, self.comm, self.attributes, super().grid, step, self._given, self._precision
            )
        return self._known

    def _missed(self, number: int, stored: ArrayStep) -> list[int]:
        """The indices of steps that are lost: those a stream reports, and gaps in the rhythm of the writer."""
        lost = set(stored.missed) if self.streaming else set()
        every = int(self.attributes.get("every", 0))
        if number and every:
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
        return np.array([self._given.time_of(index, time) for index, time in self._handle.reader().steps()])

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
        """Write this rank's part of a variable: float32, float64, int32 or int64. Afterwards the array may be changed.

        A contiguous array is written without a copy; another one is copied first.

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
        return xarray.open_dataset(self.path, engine="tailrace", chunks=chunks, grid=self._given)


def _kind(one: Stored) -> str:
    x, y, z = one.shape
    return f"list of {y} rows, {x} columns of {one.dtype}" if one.is_list else f"{one.dtype}, (z, y, x) = {(z, y, x)}"


def _asked(time: float, method: Method | None) -> str:
    return {None: f"at time {time:.10g}", "pad": f"up to time {time:.10g}"}.get(method, f"from time {time:.10g} on")


def _around(times: NDArray[np.float64], time: float) -> str:
    near = np.sort(times[np.argsort(np.abs(times - time))[:4]])
    return f"{times[0]:.10g} to {times[-1]:.10g}, next to it {', '.join(f'{one:.10g}' for one in near)}"
