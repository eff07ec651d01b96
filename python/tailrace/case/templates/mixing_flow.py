"""Two streams in opposite directions, and dye in the lower one."""

import numpy as np

LENGTH, WIDTH = 14.0, 7.0  # of the box of mixing.toml, in x and z
MIDDLE = 10.0  # in y


def velocity(x, y, z):
    """A hyperbolic tangent between -0.5 and 0.5 of vorticity thickness 1, with waves in its middle that grow.

    x, y and z are arrays that broadcast; each rank gets its own part of the grid. Return three arrays, or numbers. What
    they have of a divergence is removed before the first step.
    """
    k, m = 2 * np.pi / LENGTH, 2 * np.pi / WIDTH
    middle = np.exp(-((y - MIDDLE) ** 2))
    wave = np.cos(2 * k * x) + 0.5 * np.sin(k * x) + 0.5 * np.cos(2 * k * x) * np.cos(m * z)
    return 0.5 * np.tanh(2 * (y - MIDDLE)), 0.04 * middle * wave, 0


def dye(x, y, z):
    """From 1 below to 0 above, as smoothly as the velocity. Return an array or a number."""
    return 0.5 * (1 - np.tanh(2 * (y - MIDDLE)))
