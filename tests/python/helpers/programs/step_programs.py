"""What tests/python/steps runs on its ranks: fields of a series, read and written by several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace as tr
from helpers.inputs.flows_on_disk import GRID, exact_vorticity, fill


def write_fields(comm: Any, path: str, engine: str, parameters: dict[str, Any]) -> None:
    """Write Fields and a Vector of this number of ranks, without a word about boxes."""
    ops = tr.Operators(GRID.points, GRID.lengths, GRID.boundaries, comm=comm)
    with tr.open(path, "w", comm=comm, engine=engine, grid=GRID, parameters=parameters) as out:
        for number in range(3):
            u = tr.Vector.from_function(ops, lambda x, y, z, number=number: fill(x, y, z, number))
            out.write_step(0.5 * number, index=10 * number, ux=u.x, uy=u.y, uz=u.z, w=u)


def read_fields(comm: Any, path: str) -> list[float]:
    """Curl, averages and parts of fields that these ranks share."""
    with tr.open(path, comm=comm) as series:
        assert series[0].operators.comm.size == comm.size  # local: it was made when the series was opened
        found = []
        for step in series:
            u = step.vector("u")
            w = tr.curl(u)
            for mine, exact in zip(w, exact_vorticity(*u.x.coordinates(), step.index // 10), strict=True):
                assert abs(np.asarray(mine) - exact).max() < 2e-3  # what the schemes give on so few points
            whole = step.read("ux")
            z, y, x = u.x.start
            dz, dy, dx = u.x.shape
            assert whole.shape == u.x.global_shape
            np.testing.assert_array_equal(whole[z : z + dz, y : y + dy, x : x + dx], u.x)
            np.testing.assert_array_equal(step["w"][0], whole)
            np.testing.assert_array_equal(step.to_xarray(["uy"])["uy"].values, u.y)
            found += [tr.mean(u @ u), tr.mean_square(w), float(u.x.max())]
        return found


def put_zeros(comm: Any, path: str) -> None:
    """What is read cannot be changed."""
    with tr.open(path, comm=comm) as series:
        series[0]["ux"][...] = 0.0


def write_from_other_ranks(comm: Any, path: str) -> None:
    """A field of one rank cannot be written by several."""
    ops = tr.Operators(GRID.points, GRID.lengths, GRID.boundaries)
    field = tr.Field.from_function(ops, 1.0)
    with tr.open(path, "w", comm=comm, grid=GRID) as out:
        out.write_step(0.0, ux=field)
