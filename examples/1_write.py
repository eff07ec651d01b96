"""Write a series: a field that is shared by the ranks, in nine steps, with its grid.

mpiexec -n 2 python 1_write.py waves.h5    or waves.bp, waves.sion, or waves: the ending of the path selects the format
tailrace info waves.h5                     shows what is in it
tailrace plot waves.h5 --field ux --step 3 -o 1_write.png
"""

import sys

import numpy as np
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "waves.h5"
comm = MPI.COMM_WORLD
points = nx, ny, nz = 32, 24, 16  # in x, y, z

# Each rank has some planes of the box. Arrays are (nz, ny, nx): x is the last index, the fastest in memory.
first, last = nz * comm.rank // comm.size, nz * (comm.rank + 1) // comm.size
x = 2 * np.pi * np.arange(nx) / nx
y = 2 * np.pi * np.arange(ny)[:, None] / ny
z = 2 * np.pi * np.arange(first, last)[:, None, None] / nz

# The grid is optional. With it, ParaView knows where the points are, and analyses can compute derivatives.
spacing = (2 * np.pi / nx, 2 * np.pi / ny, 2 * np.pi / nz)
grid = tr.UniformGrid(points, spacing=spacing, boundaries=("periodic", "periodic", "periodic"))

with tr.open(path, "w", comm=comm, grid=grid) as out:
    out.set_attribute("ux/units", "m/s")
    for step in range(9):
        time = 0.5 * step
        ux = np.exp(-time / 4) * (np.sin(x - time) * np.cos(y) + np.cos(z) / 2)
        # A Block is this rank's part: an array, the points of the whole field, and where the part begins (x, y, z).
        out.write_step(time, ux=tr.Block(ux, points, start=(0, 0, first)), index=10 * step)
