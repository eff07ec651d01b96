"""Send steps to another program while both run. Nothing is stored. Start the two in any order:

mpiexec -n 2 python 5_stream_send.py sst:waves &
mpiexec -n 1 python 5_stream_receive.py sst:waves      or: tailrace analyse YOUR_SCRIPT.py sst:waves
"""

import sys

import numpy as np
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "sst:waves"
comm = MPI.COMM_WORLD
points = nx, ny, nz = 32, 24, 16
first, last = nz * comm.rank // comm.size, nz * (comm.rank + 1) // comm.size  # the planes of this rank
x = 2 * np.pi * np.arange(nx) / nx
y = 2 * np.pi * np.arange(ny)[:, None] / ny
z = 2 * np.pi * np.arange(first, last)[:, None, None] / nz
grid = tr.UniformGrid(points, spacing=tuple(2 * np.pi / n for n in points), boundaries=("periodic",) * 3)

# The first step waits up to 30 s for a receiver, which then gets all steps. policy says what happens when it is slower
# than we are: "block" makes us wait, "drop_oldest", "drop_newest" and "adapt" leave steps out.
with tr.open(path, "w", comm=comm, grid=grid, parameters={"wait_for_reader": 30, "policy": "block"}) as out:
    for step in range(20):
        time = 0.25 * step
        taken = out.begin_step(step, time)
        if taken:  # False: nobody gets this step, and we need not prepare it
            ux = np.exp(-time / 4) * (np.sin(x - time) * np.cos(y) + np.cos(z) / 2)
            out.write("ux", tr.Block(ux, points, start=(0, 0, first)))
        out.end_step()
