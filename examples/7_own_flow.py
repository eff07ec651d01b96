"""A flow of your own: two shear layers that roll up. No C++ is needed, only a function of the coordinates.

tailrace run 7_own_flow.toml -n 2
tailrace plot layers.h5 --field vorticity_z --step 4 -o 7_own_flow.png
"""

import numpy as np

THICKNESS = 0.2


def velocity(x, y, z):
    """The initial velocity. x, y, z are arrays of this rank's points that broadcast; returns ux, uy, uz.

    The solver removes the small divergence that the discrete operators see.
    """
    lower = np.tanh((y - np.pi / 2) / THICKNESS)
    upper = np.tanh((3 * np.pi / 2 - y) / THICKNESS)
    disturbance = 0.05 * np.sin(x) * (1 + 0.2 * np.cos(8 * z))
    return np.where(y < np.pi, lower, upper), disturbance, 0 * x
