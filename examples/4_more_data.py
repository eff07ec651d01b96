"""Write more than fields: arrays with ghost points, planes, every n-th point, particles, numbers and texts.

mpiexec -n 2 python 4_more_data.py more.h5      on one or several ranks; draws 4_more_data.png
tailrace info more.h5 --minmax
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "more.h5"
comm = MPI.COMM_WORLD
points = nx, ny, nz = 32, 24, 16
first, last = nz * comm.rank // comm.size, nz * (comm.rank + 1) // comm.size  # the planes of this rank
dx, dy, dz = (2 * np.pi / n for n in points)
x, y = dx * np.arange(nx), dy * np.arange(ny)[:, None]
z = dz * np.arange(first - 1, last + 1)[:, None, None]  # with a ghost plane on both sides
number = np.arange(100)
grid = tr.UniformGrid(points, spacing=(dx, dy, dz), boundaries=("periodic",) * 3)

with tr.open(path, "w", comm=comm, grid=grid) as out:
    out.set_attribute("particles/columns", "number, x, y, z")
    for step in range(5):
        time = 0.5 * step
        ux = np.sin(x + time) * np.cos(y) + z
        # Ghost points are left out without a copy: so many layers in x, y, z.
        block = tr.Block(ux, points, start=(0, 0, first), ghosts=(0, 0, 1))
        helix = 2 * np.pi * (number + 0.5) / 100
        particles = np.column_stack([number, np.pi + np.cos(helix + time), np.pi + np.sin(helix + time), helix])
        mine = particles[(helix >= first * dz) & (helix < last * dz)]  # each rank has its own number of them

        out.begin_step(step, time)
        out.write("ux", block)
        # A region is every stride-th point from `start`, `count` of them; only these points are stored.
        out.write("plane", block, region=tr.Region(start=(0, 0, 8), count=(nx, ny, 1)))
        out.write("coarse", block, region=tr.Region((0, 0, 0), (nx // 2, ny // 2, nz // 2), stride=(2, 2, 2)))
        out.write_list("particles", mine)  # rows; stored in the order of the ranks
        out.write_scalar("phase", np.cos(time))
        out.write_scalar("note", f"this is step {step}")
        out.end_step()

if comm.rank == 0:
    with tr.open(path) as series:
        plane, rows = series[2]["plane"][0], series[2]["particles"]
        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.contourf(x, y[:, 0], plane, levels=20, cmap="RdBu_r")
        dots = axes.scatter(rows[:, 1], rows[:, 2], c=rows[:, 3], s=9, cmap="viridis")
        axes.set(xlabel="x", ylabel="y", title=f"plane and particles, t = {series[2].time:g}")
        figure.colorbar(dots, label="z of the particles")
        figure.savefig("4_more_data.png", dpi=100)
