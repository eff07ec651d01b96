"""Flows around bodies, made by the compiled core on any number of ranks."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace import core as _core
from tailrace.flow import body
from tailrace.flow.measuring import forces

Array = NDArray[np.float64]
NODES, LENGTHS, REYNOLDS, DT = (65, 48, 8), (10.0, 6.0, 1.0), 100.0, 0.01  # of Xcompact3D's `cyl`


def part(flow: Any, whole: Array) -> Array:
    """This rank's part of an array over the grid."""
    first, count = flow.box
    z, y, x = (slice(first[d], first[d] + count[d]) for d in (2, 1, 0))
    return whole[z, y, x]


def read(file: Path, components: int = 1) -> Array:
    """Raw arrays of Xcompact3D, compressed."""
    values = np.frombuffer(lzma.decompress(file.read_bytes())).reshape(components, *NODES[::-1])
    return values if components > 1 else values[0]


def cylinder(comm: Any, folder: Path, rows: int, scheme: str = "ab3") -> tuple[Any, Any]:
    """The flow around a cylinder between an inflow and an outflow, at its start, and its grid."""
    grid = _core.Grid(NODES, LENGTHS, ("dirichlet", "periodic", "periodic"))
    processes = _core.ProcessGrid(comm.py2f(), rows, comm.size // rows)
    flow = _core.Flow64(grid, processes, _core.FlowOptions(1 / REYNOLDS, scheme, "aggressive"), "alltoall")
    flow.make_outflow(0, "largest", 0.0, False)
    flow.face(0, False, 0)[...] = 1
    body.put_into(flow, body.Cylinder((3.0, 2.9), 0.5), "cylinder")
    for i, values in enumerate(read(folder / "init.bin.xz", 3)):
        flow.velocity(i)[...] = part(flow, values)
    flow.invalidate()
    return flow, grid


def far_from_xcompact3d(comm: Any, directory: str, rows: int) -> float:
    """The largest difference of the velocity after 100 and 200 steps; in the body it is zero."""
    folder = Path(directory)
    flow, _ = cylinder(comm, folder, rows)
    largest = 0.0
    for number in (1, 2):
        for _ in range(100):
            flow.step(DT, None)
        for i, name in enumerate(("ux", "uy", "uz")):
            exact = part(flow, read(folder / f"{name}-{number}.bin.xz"))
            largest = max(largest, np.abs(flow.velocity(i) - exact).max())
    return float(max(comm.allgather(largest)))


def _ball(comm: Any, rows: int, method: str) -> tuple[Any, Array]:
    """Some steps around a sphere and a wall of a box that is stretched, with a scalar, and the force on the sphere."""
    grid = _core.Grid((18, 17, 16), (2.0, 1.7, 1.6), ("periodic", "dirichlet", "free-slip"), "walls", 0.5)
    options = _core.FlowOptions(0.02, "rk3", "aggressive")
    options.acceleration = (0.3, 0.0, 0.0)
    ends = [["given", "given"] for _ in range(3)]
    sides = ("periodic", "dirichlet", "free-slip")
    options.add_scalar(_core.ScalarOptions(0.03, sides, ends, (0.0, 0.2, 0.0), (0.0, 0.0, 0.0), None, None))
    flow = _core.Flow64(grid, _core.ProcessGrid(comm.py2f(), rows, comm.size // rows), options, method)
    body.put_into(flow, body.Sphere((1.0, 0.8, 0.7), 0.4), "sphere")
    (i, j, k), (ni, nj, nk) = flow.box
    x, y, z = (np.array(grid.coordinates(d)) for d in range(3))
    x, y, z = x[None, None, i : i + ni], y[None, j : j + nj, None], z[k : k + nk, None, None]
    flow.velocity(0)[...] = y * (1.7 - y) * (1 + 0.2 * np.sin(np.pi * x) * np.cos(np.pi * z / 1.6))
    flow.scalar(0)[...] = y + 0.1 * np.cos(np.pi * x)
    flow.scalar_face(0, 1, True)[...] = 1.7
    flow.invalidate()
    volume = forces.ControlVolume(flow, grid, ((0.3, 1.7), (0.2, 1.5), (0.1, 1.4)))
    for step in range(3):
        flow.step(0.005, None)
        force = volume((step + 1) * 0.005)
    return flow, force


def far_from_alone(comm: Any, rows: int, method: str) -> list[float]:
    """The largest differences of a flow around a sphere on these ranks from the same on one rank.

    Of the velocity, of the scalar and of the force.
    """
    from mpi4py import MPI

    flow, force = _ball(comm, rows, method)
    alone, same_force = _ball(MPI.COMM_SELF, 1, "alltoall")
    assert 20 < int(alone.body_mask().sum()) < 2000
    assert np.abs(same_force).max() > 1e-3
    assert np.array_equal(flow.body_mask(), part(flow, alone.body_mask()))
    pairs = [(flow.velocity(i), alone.velocity(i)) for i in range(3)], [(flow.scalar(0), alone.scalar(0))]
    largest = [max(float(np.abs(here - part(flow, all_)).max()) for here, all_ in group) for group in pairs]
    return [*largest, float(np.abs(force - same_force).max())]


def one_rank_fails(comm: Any) -> None:
    """A shape that fails on the last rank only."""
    grid = _core.Grid((12, 12, 12), (1.0, 1.0, 1.0), ("periodic",) * 3)
    flow = _core.Flow64(
        grid, _core.ProcessGrid(comm.py2f(), 1, comm.size), _core.FlowOptions(0.1, "rk3", "aggressive"), "alltoall"
    )

    def shape(x: Array, y: Array, z: Array) -> Any:
        if comm.rank == comm.size - 1:
            raise ZeroDivisionError("no radius")
        return x < 0.5

    body.put_into(flow, shape, "body.py: inside")
