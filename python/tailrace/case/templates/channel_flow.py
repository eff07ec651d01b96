"""The laminar flow of a channel between y = 0 and 2, with vortices along it that lift up slow fluid from the walls."""

import numpy as np

LENGTH, WIDTH = np.pi, np.pi / 3  # of the box of channel.toml, in x and z


def velocity(x, y, z):
    """The parabola 1 - (y - 1)^2, a pair of vortices along x and a wave across them, all zero at the walls.

    x, y and z are arrays that broadcast; each rank gets its own part of the grid. Return three arrays, or numbers. What
    they have of a divergence is removed before the first step.
    """
    parabola = 1 - (y - 1) ** 2
    k, m = 2 * np.pi / LENGTH, 2 * np.pi / WIDTH
    u = parabola + 0.1 * parabola * np.cos(k * x) * np.sin(m * z)
    v = 0.15 * parabola**2 * np.cos(m * z)
    w = 0.6 * parabola * (y - 1) * np.sin(m * z) + 0.15 * parabola * np.sin(k * x + y)
    return u, v, w
