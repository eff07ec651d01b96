"""The steps that tests of engines write: their values follow from the index alone, so that any program can say what
should be there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tailrace as tr

SHAPE = (16, 16, 8)  # 16 KiB of float64


def whole(index: int, shape: tuple[int, int, int] = SHAPE, salt: float = 0.0) -> NDArray[np.float64]:
    """The values of a variable in step `index`: no two points and no two steps alike."""
    nx, ny, nz = shape
    return np.arange(nx * ny * nz, dtype=float).reshape(nz, ny, nx) + 1e6 * index + salt


def part(comm: Any, index: int, shape: tuple[int, int, int] = SHAPE, salt: float = 0.0) -> tr.Block:
    """This rank's slab of `whole`; ranks beyond the planes have none."""
    begin, end = shape[2] * comm.rank // comm.size, shape[2] * (comm.rank + 1) // comm.size
    return tr.Block(whole(index, shape, salt)[begin:end].copy(), shape, (0, 0, begin))


def write_step(out: tr.Series, comm: Any, index: int) -> None:
    """A step with two variables, a list and a scalar."""
    out.begin_step(index, 0.5 * index)
    write_arrays(out, comm, index)
    write_rows(out, comm)
    out.end_step()


def write_arrays(out: tr.Series, comm: Any, index: int) -> None:
    """What a step holds without its list: two variables and a scalar."""
    out.write("ux", part(comm, index))
    out.write("uy", part(comm, index, (6, 5, 4), 0.25))
    out.write_scalar("energy", 0.125 * index)


def write_rows(out: tr.Series, comm: Any) -> None:
    """A list: 0, 2, 4, ... rows of the ranks."""
    out.write_list("rows", np.arange(2 * comm.rank, dtype=float))


def check_step(step: tr.Step) -> None:
    """Raise AssertionError when a step of `write_step` is not what was written."""
    np.testing.assert_array_equal(step["ux"], whole(step.index))
    np.testing.assert_array_equal(step["uy"], whole(step.index, (6, 5, 4), 0.25))
    assert step.time == 0.5 * step.index
    assert step.scalars == {"energy": 0.125 * step.index}
    if "rows" in step:
        assert (np.diff(step["rows"]) <= 1).all()  # their number depends on the ranks
