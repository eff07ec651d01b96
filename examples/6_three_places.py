"""An analysis that runs inside a simulation, beside it on other ranks, and afterwards on its files.

tailrace run 6_three_places.toml -n 2 --beside 6_three_places.py --beside-out beside      inside and beside at once
tailrace analyse 6_three_places.py snapshots.h5 -n 2 -o after                               after
diff analysis/6_three_places.csv after/6_three_places.csv                                   the same up to rounding

The picture is after/6_three_places-slice-000040.png.
"""

import numpy as np
from matplotlib.figure import Figure

import tailrace as tr


def analyse(step):
    """A function of a step. It is called on all ranks; each has its part of every field."""
    w = tr.curl(step.vector("u"))
    results = {"energy": 0.5 * tr.mean_square(step.vector("u")), "enstrophy": 0.5 * tr.mean(w @ w)}  # -> a table
    if step.index == 40:
        plane = tr.plane(w.z, "z", position=1.0)  # on every rank; a figure may come from rank 0 alone
        if step.comm.rank == 0:
            results["slice"] = draw(plane, step.time)  # -> a picture
    return results


def draw(plane, time):
    """A picture of a plane, values (ny, nx)."""
    figure = Figure(figsize=(4.4, 3.6), layout="constrained")
    axes = figure.subplots()
    top = np.abs(plane).max()
    image = axes.imshow(
        plane, origin="lower", extent=(0, 2 * np.pi, 0, 2 * np.pi), cmap="RdBu_r", vmin=-top, vmax=top,
        interpolation="bilinear",
    )  # fmt: skip
    axes.set(xlabel="x", ylabel="y", title=f"vorticity in z at z = 1, t = {time:g}")
    figure.colorbar(image)
    return figure
