"""Read what 1_write has written: any part of it, on any number of ranks.

mpiexec -n 3 python 2_read.py waves.h5       prints the mean square of ux, and draws a plane as 2_read.png
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "waves.h5"
comm = MPI.COMM_WORLD

# The short way: a step gives fields. Each rank has its part, and tr.mean is that of the whole field on every rank.
with tr.open(path, comm=comm) as series:
    for step in series:
        mean_square = tr.mean(step["ux"] ** 2)
        if comm.rank == 0:
            print(f"step {step.index}, time {step.time:g}: mean square {mean_square:.12f}")

    # Or by boxes of your own, whatever the ranks of the writer had: here each rank reads some rows of all planes.
    step = series.at(time=3.1, method="nearest")
    nx, ny, nz = step.variables["ux"].shape  # x, y, z
    first, last = ny * comm.rank // comm.size, ny * (comm.rank + 1) // comm.size
    rows = step.read("ux", ((0, first, 0), (nx, last - first, nz)))  # where it begins, how many points, in x, y, z
    total = comm.allreduce(float((rows**2).sum()))
    if comm.rank == 0:
        print(f"by rows: time {step.time:g}: mean square {total / (nx * ny * nz):.12f}")

if comm.rank == 0:
    with tr.open(path) as series:  # without comm: on this rank alone
        plane = series[2]["ux"][:, 0, ::2]  # NumPy's order, (z, y, x). Only this plane is read
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(plane, origin="lower", extent=(0, 2 * np.pi, 0, 2 * np.pi), aspect="auto", cmap="RdBu_r")
        axes.set(xlabel="x", ylabel="z", title=f"ux at y = 0, t = {series[2].time:g}")
        figure.colorbar(image)
        figure.savefig("2_read.png", dpi=100)
