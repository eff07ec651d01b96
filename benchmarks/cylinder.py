"""The flow around a circular cylinder: its drag, the length of its wake and the frequency at which it sheds vortices.

    mpiexec -n 2 python benchmarks/cylinder.py [reynolds] [nodes per diameter] [width] [end time] [upstream]

Inflow and outflow in x, `upstream` before the cylinder and 14 behind it; free slip at the ends of y, `width` apart;
periodic in z. Nodes in y are closest together at the cylinder, where they are as far apart as in x. Lengths are in
diameters. Literature for a cylinder that stands alone: at
Re 40 the drag coefficient is 1.52 to 1.54 and the wake 2.2 to 2.3 diameters long (Dennis and Chang 1970; Fornberg 1980;
Linnick and Fasel 2005); at Re 100 the mean drag coefficient is 1.33 to 1.36 and the Strouhal number 0.164 to 0.167
(Williamson 1996; Park, Kwon and Choi 1998; Linnick and Fasel 2005).
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from tailrace import core as _core
from tailrace.flow import body, forces

DOWNSTREAM = 14.0  # diameters from the centre of the cylinder to the outflow
DEPTH_NODES = 8
STRETCHING = ("centre", 2.0)  # at the ends of y nodes are 40 times as far apart as at the cylinder
SHEDDING = 47.0  # the Reynolds number from which on the wake sheds vortices
ENDS = ("dirichlet", "free-slip", "periodic")


def nodes_across(width: float, spacing: float) -> int:
    """How many nodes in y have this spacing in the middle, at most."""
    trial = np.diff(_core.Grid((9, 129, 8), (1.0, width, 1.0), ENDS, *STRETCHING).coordinates(1)).min()
    return 2 * math.ceil(64 * trial / spacing) + 1


class Wake:
    """The flow, with a diameter of one and an inflow of one."""

    def __init__(self, comm: MPI.Comm, reynolds: float, resolution: int, width: float, upstream: float) -> None:
        spacing = 1 / resolution
        self.comm = comm
        self.dt = min(0.35 * spacing, 0.09 * reynolds * spacing**2)  # RK3's limits of convection and of diffusion
        self.length = upstream + DOWNSTREAM
        nodes = (round(self.length / spacing) + 1, nodes_across(width, spacing), DEPTH_NODES)
        self.depth = DEPTH_NODES * spacing
        self.grid = _core.Grid(nodes, (self.length, width, self.depth), ENDS, *STRETCHING)
        options = _core.FlowOptions(1 / reynolds, "rk3", "aggressive")
        processes = _core.ProcessGrid(comm.py2f(), 1, comm.size)
        method = "shared" if _core.can_share_memory(comm.py2f()) else "alltoall"
        self.flow = _core.Flow64(self.grid, processes, options, method)
        self.flow.make_outflow(0, "largest", 0.0, False)
        self.flow.face(0, False, 0)[...] = 1
        self.centre = (upstream, width / 2)
        body.put_into(self.flow, body.Cylinder(self.centre, 0.5), "cylinder")
        self.flow.velocity(0)[...] = 1
        if reynolds > SHEDDING:
            self.blow_across()
        self.flow.invalidate()
        x, y = self.centre
        self.volume = forces.ControlVolume(self.flow, self.grid, ((x - 2, x + 4), (y - 2, y + 2), None))

    def blow_across(self) -> None:
        """A gust through the wake, so that vortices begin to shed at once."""
        (i, j, _), (ni, nj, _) = self.flow.box
        x = np.array(self.grid.coordinates(0))[i : i + ni] - self.centre[0] - 2
        y = np.array(self.grid.coordinates(1))[j : j + nj] - self.centre[1]
        self.flow.velocity(1)[...] = 0.5 * np.exp(-(x**2) - y[:, None] ** 2)

    def run(self, end: float) -> NDArray[Any]:
        """Rows of time, drag and lift coefficient."""
        rows = []
        for step in range(1, round(end / self.dt) + 1):
            self.flow.step(self.dt, None)
            if step % 4 == 0:
                force = self.volume(step * self.dt) * 2 / self.depth
                rows.append((step * self.dt, force[0], force[1]))
            if step % 400 == 0 and self.comm.rank == 0:
                print(f"t = {rows[-1][0]:6.2f}, drag {rows[-1][1]:.4f}, lift {rows[-1][2]:+.4f}", flush=True)
        return np.array(rows)

    def wake_length(self) -> float:
        """From the rear of the cylinder to where the velocity on the line behind it changes its sign; 0 without one."""
        (_, j, k), (_, nj, _) = self.flow.box
        row = int(np.abs(np.array(self.grid.coordinates(1)) - self.centre[1]).argmin())
        here = k == 0 and j <= row < j + nj
        u = next(
            each
            for each in self.comm.allgather(self.flow.velocity(0)[0, row - j].copy() if here else None)
            if each is not None
        )
        x = np.array(self.grid.coordinates(0))
        rear = self.centre[0] + 0.5
        behind = np.flatnonzero((x[:-1] > rear) & (u[:-1] < 0) & (u[1:] >= 0))
        if behind.size == 0:
            return 0.0
        i = behind[-1]
        return float(x[i] - u[i] * (x[i + 1] - x[i]) / (u[i + 1] - u[i]) - rear)


def strouhal(times: NDArray[Any], lift: NDArray[Any]) -> float:
    """From the times at which the lift passes its mean upwards."""
    lift = lift - lift.mean()
    up = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    at = times[up] - lift[up] * (times[up + 1] - times[up]) / (lift[up + 1] - lift[up])
    return float(1 / np.diff(at).mean()) if at.size > 1 else 0.0


def main() -> None:
    given = [float(word) for word in sys.argv[1:]]
    reynolds, resolution, width, end, upstream = [*given, *(40.0, 10.0, 80.0, 50.0, 34.0)[len(given) :]]
    wake = Wake(MPI.COMM_WORLD, reynolds, round(resolution), width, upstream)
    rows = wake.run(end)
    length = wake.wake_length()
    late = rows[rows[:, 0] > 0.7 * end]
    if MPI.COMM_WORLD.rank == 0:
        print(
            f"Re {reynolds:g}, {resolution:g} nodes per diameter, width {width:g}, upstream {upstream:g}, "
            f"{rows.shape[0] * 4} steps of {wake.dt:.4g}"
        )
        print(
            f"drag {late[:, 1].mean():.4f} (last {rows[-1, 1]:.4f}), lift {np.ptp(late[:, 2]) / 2:.4f}, "
            f"wake {length:.3f}"
        )
        if reynolds > SHEDDING:
            print(f"Strouhal number {strouhal(late[:, 0], late[:, 2]):.4f}")


if __name__ == "__main__":
    main()
