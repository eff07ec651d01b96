"""A simulation of your own that can be killed at any moment and continues on any number of ranks.

mpiexec -n 2 python 3_restart.py decay.h5 25    as if interrupted at step 25; the last checkpoint is of step 20
mpiexec -n 1 python 3_restart.py decay.h5 40    continues from step 20; the results are those of a single run
tailrace plot decay.h5 --field u --step 4 -o 3_restart.png
"""

import sys

import numpy as np
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "decay.h5"
last_step = int(sys.argv[2]) if len(sys.argv) > 2 else 40
checkpoints = [path + ".checkpoint1", path + ".checkpoint2"]  # written in turn, so one of them is always complete
comm = MPI.COMM_WORLD
points = nx, ny, nz = 48, 36, 8
first, last = nz * comm.rank // comm.size, nz * (comm.rank + 1) // comm.size  # the planes of this rank
dt = 0.01
grid = tr.UniformGrid(points, spacing=tuple(2 * np.pi / n for n in points), boundaries=("periodic",) * 3)


def write(series, step, u):
    """Write this rank's part; when this returns, the step is complete."""
    series.write_step(dt * step, u=tr.Block(u, points, start=(0, 0, first)), index=step)


# The newest checkpoint, whatever the ranks of its writer had.
step = None
for checkpoint in checkpoints:
    try:
        with tr.open(checkpoint, comm=comm) as state:
            if len(state) and (step is None or state[-1].index > step) and not state.verify():  # verify: its damage
                step = state[-1].index
                u = state[-1].read("u", ((0, 0, first), (nx, ny, last - first)))
    except tr.InputError:
        pass  # not written yet

if step is not None:
    results = tr.open(path, "a", comm=comm, rewind_to=step)  # removes the results after the checkpoint
else:
    step = 0
    x, y = 2 * np.pi * np.arange(nx) / nx, 2 * np.pi * np.arange(ny)[:, None] / ny
    u = (1 + np.arange(first, last)[:, None, None]) * (np.sin(x) + np.sin(4 * x) * np.cos(3 * y))
    results = tr.open(path, "w", comm=comm, grid=grid)
    write(results, step, u)

with results:
    while step < last_step:  # diffusion in x and y
        u = u + 0.2 * sum(np.roll(u, 1, axis) + np.roll(u, -1, axis) - 2 * u for axis in (1, 2))
        step += 1
        if step % 5 == 0:
            write(results, step, u)
        if step % 10 == 0:  # engine raw, and sync: end_step returns when the step is on the disk
            with tr.open(checkpoints[step // 10 % 2], "w", comm=comm, engine="raw", parameters={"sync": True}) as state:
                write(state, step, u)
