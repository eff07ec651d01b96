"""Derivatives, averages and spectra of your own arrays, by the solver's sixth-order schemes, on any number of ranks.

mpiexec -n 2 python 8_operators.py            prints errors against exact values; draws 8_operators.png
"""

import numpy as np
from matplotlib.figure import Figure
from mpi4py import MPI

import tailrace as tr

comm = MPI.COMM_WORLD

# A grid that the ranks share: points, lengths and boundaries in x, y, z. Free-slip directions have both end points.
ops = tr.Operators((32, 24, 17), (2 * np.pi, 2 * np.pi, np.pi), ("periodic", "periodic", "free-slip"), comm=comm)
x, y, z = ops.coordinates()  # of this rank's points
z, y = z[:, None, None], y[:, None]

# A field is this rank's part of an array, (nz, ny, nx). parity: is it mirrored (1) or mirrored with the opposite sign
# (-1) at free-slip boundaries, here in z? A derivative needs to know.
p = tr.Field(np.sin(x) * np.cos(2 * y) * np.cos(z), ops, parity=(1, 1, 1), name="p")
u = tr.Vector(
    tr.Field(np.sin(x) * np.cos(y) * np.cos(z), ops, parity=(1, 1, 1)),
    tr.Field(-np.cos(x) * np.sin(y) * np.cos(z), ops, parity=(1, 1, 1)),
    tr.Field(0 * x + 0 * y + 0 * z, ops, parity=(1, 1, -1)),
)

w = tr.curl(u)
found = {  # the schemes' errors, and numbers of the whole field, which every rank gets
    "error of dp/dz": (tr.ddz(p) + np.sin(x) * np.cos(2 * y) * np.sin(z)).max(),
    "error of the Laplacian": (tr.laplacian(p) + 6 * p).max(),
    "divergence of u": abs(tr.div(u)).max(),
    "mean of p * p": tr.mean(p * p),  # 1/8
    "enstrophy": 0.5 * tr.mean(w @ w),  # 3/8
    "energy at wave number 2 in y": tr.spectrum_1d(p, "y").energy[2],  # half of 1/8
}
profile = (p * p).mean("xy")  # over two directions: an array over z
values = tr.plane(w.z, "z", position=0.5)  # interpolated; every rank gets the whole plane
if comm.rank == 0:
    print(*(f"{name}: {value:.6g}" for name, value in found.items()), sep="\n")
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    image = left.imshow(values, origin="lower", extent=(0, 2 * np.pi, 0, 2 * np.pi), cmap="RdBu_r", aspect="auto")
    left.set(xlabel="x", ylabel="y", title="vorticity in z at z = 0.5")
    figure.colorbar(image)
    right.plot(profile, np.pi * np.arange(profile.size) / 16, "o-", ms=3)
    right.set(xlabel="average of p * p over x and y", ylabel="z")
    figure.savefig("8_operators.png", dpi=100)
