"""Read a series with xarray: lazily, by dask, with labels. Takes what 1_write has written.

python 9_xarray.py waves.h5                   draws 9_xarray.png
"""

import sys

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

path = sys.argv[1] if len(sys.argv) > 1 else "waves.h5"

# engine="tailrace" always: without it, xarray may take the file for one of netCDF and show an empty set.
# chunks={}: arrays of dask in pieces, which are read when they are needed; nothing is read here.
with xr.open_dataset(path, engine="tailrace", chunks={}) as data:
    print(data)
    profile = data["ux"].mean(["x", "y"])  # (time, z), not computed yet
    energy = 0.5 * (data["ux"] ** 2).mean(["x", "y", "z"])
    profile, energy = profile.compute(), energy.compute()  # now
    for time, value in zip(energy["time"].values, energy.values, strict=True):
        print(f"time {time:g}: energy {value:.12f}")
    line = data["ux"].sel(y=0, z=np.pi, method="nearest")  # by coordinates; reads only this line of every step

    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    line.plot(ax=left)  # xarray labels the axes, with units
    profile.isel(time=slice(0, None, 2)).plot.line(ax=right, x="z")
    right.set_ylabel("average of ux over x and y")
    figure.savefig("9_xarray.png", dpi=100)
