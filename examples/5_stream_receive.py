"""Receive the steps of 5_stream_send, on any number of ranks; see there. Draws 5_stream_receive.png.

mpiexec -n 1 python 5_stream_receive.py sst:waves
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "sst:waves"
comm = MPI.COMM_WORLD
times, lines = [], []

with tr.open(path, comm=comm) as series:
    for step in series:  # each step comes when its writer ends it; only the newest can be read
        ux = step["ux"]
        mean_square = tr.mean(ux * ux)  # collective: the whole field, on every rank
        lines.append(tr.line(ux, "x", (0, 0)))  # along x at y = z = 0
        times.append(step.time)
        if comm.rank == 0:
            print(f"step {step.index}, time {step.time:g}: mean square {mean_square:.12f}", flush=True)
    if comm.rank == 0:
        print(f"left out: {len(step.missed)}; {series.coupling.own.steps} steps received")

if comm.rank == 0:
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    x = 2 * np.pi * np.arange(lines[0].size) / lines[0].size
    image = axes.pcolormesh(x, times, np.array(lines), cmap="RdBu_r", shading="nearest")
    axes.set(xlabel="x", ylabel="time", title="ux along a line, from the stream")
    figure.colorbar(image)
    figure.savefig("5_stream_receive.png", dpi=100)
