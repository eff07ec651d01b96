"""Look at a run: enstrophy of each step, spectrum of the last one, profiles by xarray and dask, three pictures.

tailrace run 6_three_places.toml -n 2                    writes snapshots.h5
mpiexec -n 2 python 10_look_at_a_run.py snapshots.h5     or on one rank: the same numbers; draws 10_look_at_a_run.png
"""

import sys

import matplotlib.pyplot as plt
import xarray as xr
from mpi4py import MPI

import tailrace as tr

path = sys.argv[1] if len(sys.argv) > 1 else "snapshots.h5"
with tr.open(path, comm=MPI.COMM_WORLD) as series:  # each rank has its part of the fields; averages are of the whole
    times = series.times
    enstrophy = [0.5 * tr.mean_square(tr.curl(step.vector("u"))) for step in series]
    spectrum = tr.spectrum(series[-1].vector("u"))

if MPI.COMM_WORLD.rank == 0:
    data = xr.open_dataset(path, engine="tailrace", chunks={})
    profile = (data["ux"] ** 2).mean(["x", "z"]).compute()  # (time, y)
    for name, values in ("enstrophy", enstrophy), ("spectrum", spectrum.energy), ("profile", profile.values.ravel()):
        print(name, *(f"{value:.15e}" for value in values))
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    left.plot(times, enstrophy, "o-")
    left.set(xlabel="time", ylabel="enstrophy")
    middle.semilogy(spectrum.k, spectrum.density, "o-", ms=3)
    middle.set(xlabel="wave number k", ylabel="E(k)", ylim=(1e-10, 1))
    for time in (0, 1, 2):
        right.plot(data["y"], profile.sel(time=time, method="nearest"), label=f"t = {time}")
    right.set(xlabel="y", ylabel="average of ux * ux over x and z")
    right.legend(loc="upper right", fontsize=8)
    figure.savefig("10_look_at_a_run.png", dpi=100)
