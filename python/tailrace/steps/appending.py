"""Whether a series may go on with a grid: what a series says of its points and its box holds for all of its steps."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import InputError, IoError
from tailrace.io import series as array_series
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpi4py import MPI

    from tailrace.grids import UniformGrid

_SAME = 1e-6  # relative; some files have the places in single precision


def refuse_another_grid(
    path: str | PathLike[str],
    engine: str | None,
    grid: UniformGrid,
    comm: MPI.Comm,
    *,
    rewind_to: int | None,
    guard: bool,
) -> None:
    """Refuse a grid that is not that of the steps that a series keeps: it would be that of all of them. Collective.

    :param rewind_to: the last index that is kept; None: all are.
    :param guard: see `tailrace.open`.
    :raises InputError: the grids differ; the message tells in what.
    """
    on_root(comm, lambda: _refuse(fspath(path), engine, grid, rewind_to, guard))


def _refuse(path: str, engine: str | None, grid: UniformGrid, rewind_to: int | None, guard: bool) -> None:
    try:
        with array_series.open(path, engine=engine, guard=guard) as stored:
            known, attributes = stored.grid, stored.attributes
            count = sum(1 for step in stored.steps if rewind_to is None or step.index <= rewind_to)
    except (InputError, IoError):  # there is no series yet, or who opens it to append tells what is wrong
        return
    if count == 0:
        return
    differing = [*_in_places(known, grid), *_in_the_box(attributes, grid)]
    if differing:
        what, before, now = differing[0]
        raise InputError(
            f"{path}: its {count} steps have {what} = {before}, and the grid that is given has {now}; a series has one "
            "grid. To fix this, give that one, leave grid out, or write another series"
        )


def _in_places(known: UniformGrid | None, grid: UniformGrid) -> list[tuple[str, Any, Any]]:
    """Where the points differ: what, before, now."""
    if known is None:
        return []
    if tuple(known.points) != tuple(grid.points):
        return [("points", tuple(known.points), tuple(grid.points))]
    for axis, before, now in zip("xyz", known.coordinates, grid.coordinates, strict=True):
        length = float(np.ptp(before)) or 1.0
        if not np.allclose(before, now, rtol=0, atol=_SAME * length):
            at = int(np.abs(before - now).argmax())
            return [(f"{axis}[{at}]", float(before[at]), float(now[at]))]
    return []


def _in_the_box(attributes: Mapping[str, Any], grid: UniformGrid) -> list[tuple[str, Any, Any]]:
    """Where boundaries and stretching differ, if both are known."""
    if grid.boundaries is None or "boundaries" not in attributes:
        return []
    before = {"stretching": "", "beta": 0.0, **attributes}
    now: dict[str, Any] = {"boundaries": ",".join(grid.boundaries), "stretching": grid.stretching}
    if grid.stretching:
        now["beta"] = grid.beta
    return [(key, before[key], value) for key, value in now.items() if before[key] != value]
