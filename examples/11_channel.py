"""The laminar flow between walls at y = 0 and 2, with waves that make it turbulent: the beginning of 11_channel.toml.

`tailrace run 11_channel.toml -n 2` takes an evening. Sooner, on a coarse grid first:

    tailrace run 11_channel.toml -n 2 --directory coarse --set grid.points=[64,97,48] --set time.end=110
    tailrace run 11_channel.toml -n 2 --set case.from=coarse/snapshots.h5 --set analysis[0].parameters.start=30
    tailrace plot analysis/channel-final.h5 --reference channel_vreman_2014.csv
"""

import numpy as np

WAVES = [(1, 2, 0.0), (1, 3, 1.1), (2, 1, 2.3), (2, 3, 0.7), (3, 2, 1.9), (0, 3, 0.4), (0, 4, 2.9)]  # in x, z; phase


def velocity(x, y, z):
    """The parabola 1 - (y - 1)^2, and waves of a box of 8 x 2 x 4, which differ at the two walls and vanish there.

    x, y and z are arrays that broadcast; each rank gets its own part of the grid. What the waves have of a divergence
    is removed before the first step.
    """
    parabola = 1 - (y - 1) ** 2
    u, v, w = parabola + 0 * x + 0 * z, 0.0, 0.0
    for k, m, phase in WAVES:
        wave = 2 * np.pi * (k * x / 8 + m * z / 4) + phase
        v = v + 0.04 * parabola**2 * np.cos(wave)
        w = w + 0.25 * parabola * (y - 1) * np.sin(wave + 0.3 * y)
    return u, v, w
