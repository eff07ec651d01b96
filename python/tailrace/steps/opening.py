"""Open the series of users.

with tr.open("run.h5") as series:
    for step in series:
        print(step.time, 0.5 * tr.mean_square(tr.curl(step.vector("u"))))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailrace.core import Grid, InputError
from tailrace.formats.recognise import FAMILIES, open_dataset, refuse_unknown, series_of_run
from tailrace.grids import StretchedGrid, UniformGrid
from tailrace.io.connection import Mode, connect
from tailrace.io.engines import ENGINES, is_stream
from tailrace.io.handle import Handle
from tailrace.io.values import parameter_text
from tailrace.parallel import agree, on_root

from .appending import refuse_another_grid
from .grid_file import GridFile, given_grid
from .series import Series

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Reopening:
    """How a series is opened to read. It can be pickled, and opens the same series in any process and directory.

    :param path: absolute; or those of a list of files.
    :param given: what the user knows of the grid, as JSON.
    """

    path: str | tuple[str, ...]
    engine: str | None
    parameters: tuple[tuple[str, str], ...]
    given: str
    precision: Literal["float32", "float64"] | None
    guard: bool

    def open(self) -> Series:
        """The series, on this rank alone."""
        from mpi4py import MPI

        return self.on_ranks(MPI.COMM_SELF, GridFile.model_validate_json(self.given), self.path)

    def on_ranks(self, comm: MPI.Comm, given: GridFile, named: str | tuple[str, ...]) -> Series:
        """The series, on the ranks of a communicator. Collective.

        :param named: the path as the user gave it, for messages.
        """
        if isinstance(named, tuple):
            found = open_dataset(named, comm, self.engine, {}, self.guard)
            assert found is not None  # or an error
            return Series(Handle(found), "r", comm, given=given, precision=self.precision, again=self)
        path, engine = Path(named), self.engine
        family = engine if engine in FAMILIES and engine not in ENGINES else None  # sion is both
        if engine is None:
            path = on_root(comm, lambda: series_of_run(path))
        if engine is None or family is not None:
            found = open_dataset(path, comm, family, dict(self.parameters), self.guard)
            if found is not None:
                found.path = str(path)
                return Series(Handle(found), "r", comm, given=given, precision=self.precision, again=self)
            on_root(comm, lambda: refuse_unknown(path))
        handle, *_ = connect(path, "r", comm=comm, engine=engine, parameters=dict(self.parameters), guard=self.guard)
        return Series(handle, "r", comm, given=given, precision=self.precision, again=self)


def open(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
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

    Many files are read as one series by a glob, `tr.open("out/flow_*.h5")`, by a list of paths, or by the directory of
    the numbered files. They are in the order of their times, or of their names where they tell no time.

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
        texts = {key: parameter_text(value) for key, value in (parameters or {}).items()}
        if not isinstance(path, str | PathLike):
            files = tuple(absolute(one) for one in path)
            again = Reopening(files, engine, tuple(texts.items()), given.model_dump_json(), precision, guard)
            return again.on_ranks(comm, given, files)
        if is_stream(fspath(path)):
            handle, *_ = connect(path, mode, comm=comm, engine=engine, parameters=texts, rewind_to=rewind_to)
            return Series(handle, mode, comm, given=given, precision=precision)
        if rewind_to is not None:
            raise InputError(f"{path}: only a series opened to append can be rewound")
        again = Reopening(absolute(path), engine, tuple(texts.items()), given.model_dump_json(), precision, guard)
        return again.on_ranks(comm, given, fspath(path))
    if not isinstance(path, str | PathLike):
        raise InputError(f"{path!r}: several files are read only; expected one path to write")
    if isinstance(grid, Grid):
        grid = UniformGrid.of(grid)
    if grid is not None and not isinstance(grid, UniformGrid):
        raise InputError(f"grid = {grid!r}: a series is written with a UniformGrid or a StretchedGrid")
    if grid is not None and grid.boundaries is not None and _has_law(grid):
        grid.checked()
    if mode == "a" and grid is not None and not _streams(path, engine):
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        refuse_another_grid(path, engine, grid, comm, rewind_to=rewind_to, guard=guard)
    series = Series(
        *connect(
            path, mode, comm=comm, engine=engine, parameters=parameters, grid=grid, precision=precision,
            rewind_to=rewind_to, guard=guard,
        )
    )  # fmt: skip
    _tell_box(series, grid)
    return series


def _streams(path: str | PathLike[str], engine: str | None) -> bool:
    return is_stream(fspath(path)) or (engine in ENGINES and ENGINES[str(engine)].streams)


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


def absolute(path: str | PathLike[str]) -> str:
    """The path from the root of the file system on, so that it stays the same file; links are not followed.

    :raises InputError: the path is empty, or the directory of the program is gone.
    """
    try:
        if fspath(path):
            return str(Path(path).absolute())
    except FileNotFoundError:
        raise InputError(f"{path}: the directory of this program was removed; give the whole path") from None
    raise InputError("the path is empty; expected that of a series")
