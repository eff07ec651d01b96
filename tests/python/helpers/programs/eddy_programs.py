"""Right-hand sides of a flow between walls with an eddy viscosity, on any number of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace import core as _core

POINTS, LENGTHS, NU, DT = (16, 21, 12), (3.0, 2.0, 2.5), 0.01, 1e-3


def part(box: Any, values: Any) -> Any:
    (x, y, z), (nx, ny, nz) = box
    return values[z : z + nz, y : y + ny, x : x + nx]


def beginning(grid: Any) -> list[Any]:
    x, y, z = (np.array(grid.coordinates(d)) for d in range(3))
    x, y, z = x[None, None, :], y[None, :, None], z[:, None, None]
    a, b = 2 * np.pi / LENGTHS[0], 2 * np.pi / LENGTHS[2]
    shape = np.ones((POINTS[2], POINTS[1], POINTS[0]))
    u = 1 - (y - 1) ** 2 + 0.3 * np.sin(a * x + 0.2) * np.cos(b * z) * np.sin(np.pi * y / 2) ** 2
    v = 0.2 * np.cos(a * x) * np.sin(np.pi * y / 2) ** 2 * np.sin(b * z + 0.4)
    w = 0.25 * np.sin(2 * a * x + 0.1) * np.sin(np.pi * y) * np.cos(b * z + 0.7)
    phi = 0.5 + 0.4 * np.cos(a * x + 0.3) * np.cos(np.pi * y / 2) * np.sin(b * z)
    return [one * shape for one in (u, v, w, phi)]


def first_right_hand_sides(model: Any, comm: Any, rows: int, cols: int) -> tuple[Any, list[Any]]:
    """Those of a step of Euler's scheme, for the velocity and a scalar."""
    grid = _core.Grid(POINTS, LENGTHS, ("periodic", "dirichlet", "periodic"), "walls", 0.5)
    options = _core.FlowOptions(NU, "euler", "aggressive")
    ends = [["given", "given"]] * 3
    options.add_scalar(_core.ScalarOptions(NU, grid.boundaries, ends, (0, 0, 0), (0, 0, 0), None, None))
    if model:
        options.set_eddy_model(*model)
    flow = _core.Flow64(grid, _core.ProcessGrid(comm.py2f(), rows, cols), options, "alltoall")
    fields = beginning(grid)
    for d in range(3):
        flow.velocity(d)[...] = part(flow.box, fields[d])
    flow.scalar(0)[...] = part(flow.box, fields[3])
    for upper in (False, True):  # the scalar as it is, so that its ends do not change before the right-hand side
        flow.scalar_face(0, 1, upper)[...] = flow.scalar(0)[:, [-1 if upper else 0], :]
    flow.step(DT, None)
    return flow.box, [np.array(flow.history(1, d)) for d in range(3)] + [np.array(flow.scalar_history(0, 1))]


def difference_from_alone(comm: Any, rows: int, cols: int, form: str) -> float:
    """By how much this rank's part differs from what one rank computes."""
    model = ("wale", 0.5, 0.9, form)
    _, alone = first_right_hand_sides(model, MPI.COMM_SELF, 1, 1)
    box, shared = first_right_hand_sides(model, comm, rows, cols)
    return max(float(np.abs(mine - part(box, whole)).max()) for mine, whole in zip(shared, alone, strict=True))
