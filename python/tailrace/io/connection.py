"""Open a series: check the arguments, and make the reader or writer behind it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal

from tailrace.core import InputError
from tailrace.core import Series as CompiledSeries
from tailrace.grids import UniformGrid, triple

from .handle import Handle
from .values import parameter_text

if TYPE_CHECKING:
    from mpi4py import MPI

Mode = Literal["r", "w", "x", "a"]


def connect(
    path: str | PathLike[str],
    mode: Mode = "r",
    *,
    comm: MPI.Comm | None = None,
    engine: str | None = None,
    parameters: Mapping[str, object] | None = None,
    grid: UniformGrid | None = None,
    precision: Literal["float32", "float64"] | None = None,
    rewind_to: int | None = None,
    guard: bool = False,
) -> tuple[Handle, Mode, MPI.Comm]:
    """Open what a `Series` is made of. Collective. The arguments are those of `tailrace.steps.series.open`.

    :returns: the handle, the mode, and the ranks.
    """
    if mode not in ("r", "w", "x", "a"):
        raise InputError(f"unknown mode {mode!r}: expected 'r', 'w', 'x' or 'a'")
    name = fspath(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"the path {name!r} is not in UTF-8; rename the file or directory") from None
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_SELF if mode == "r" else MPI.COMM_WORLD
    place = None
    if grid is not None:
        origin, spacing = (tuple(float(v) for v in values) for values in (grid.origin, grid.spacing))
        place = (triple(grid.points), origin, spacing, tuple(map(list, grid.uneven)))
    texts = {key: parameter_text(value) for key, value in (parameters or {}).items()}
    if texts.get("closing") == "true":  # the engine knows no boundaries
        if grid is None or grid.boundaries is None:
            raise InputError(
                "closing = true: it is not known which directions are periodic. To fix this, give a grid with "
                'boundaries, or name the directions, as closing = "xz"'
            )
        texts["closing"] = grid.periodic
    if guard and mode in ("r", "a"):
        from .guard import check_metadata

        check_metadata(name, engine, comm)
    core = CompiledSeries.open(name, mode, comm.py2f(), engine or "", texts, place, precision, rewind_to)
    return Handle(core), mode, comm
