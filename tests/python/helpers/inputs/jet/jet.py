"""A plane jet between two walls, with a dye in it."""

import numpy as np

import tailrace as tr

disturbance = tr.noise(
    7,
    lengths=(8.0, 6.0, 4.0),
    boundaries=("periodic", "wall", "periodic"),
    spectrum=lambda k: k**2 * np.exp(-k),
    shells=8,
    solenoidal=True,
)


def velocity(x, y, z, *, width=0.5, size=0.05):
    u, v, w = disturbance(x, y, z)
    return 1 / np.cosh((y - 3) / width) ** 2 - 1 / np.cosh(3 / width) ** 2 + size * u, size * v, size * w


def dye(x, y, z, *, width=0.5):
    return np.exp(-(((y - 3) / width) ** 2)) + 0 * (x + z)
