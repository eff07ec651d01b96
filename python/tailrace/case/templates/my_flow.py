"""The velocity at the start of the run: a shear layer with a small disturbance. Edit it as you like."""

import numpy as np


def velocity(x, y, z, *, thickness=0.25, disturbance=0.05):
    """ux, uy, uz at the nodes: functions of the coordinates, or numbers.

    x, y and z are arrays of the shapes (1, 1, nx), (1, ny, 1) and (nz, 1, 1), so that a formula of all three has the
    shape (nz, ny, nx). On several ranks each one calls this for its own part of the grid. What the velocity has of a
    divergence is removed before the first step. `thickness` and `disturbance` are parameters of the case.
    """
    layer = np.tanh((y - np.pi) / thickness)
    near = np.exp(-(((y - np.pi) / (2 * thickness)) ** 2)) * np.sin(y / 2)  # 0 at the boundaries y = 0 and y = 2 pi
    return layer, disturbance * near * np.sin(x) * (1 + 0.5 * np.cos(2 * z)), 0 * z


# A random velocity of a spectrum of your own, on a periodic box:
#
# import tailrace as tr
# velocity = tr.RandomVelocity((2 * np.pi,) * 3, lambda k: k**4 * np.exp(-2 * (k / 3) ** 2), shells=12, seed=1)
