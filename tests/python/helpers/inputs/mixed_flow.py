"""A flow without symmetry: every mode has its own phase where periodic. The projection makes it free of divergence."""

import numpy as np

LENGTHS = (2.0, 3.0, 1.5)
PERIODIC = (True, True, True)  # a case writes its own


def _mode(d, s, n, phase, wall):
    """A wave along direction d; odd about free-slip walls where `wall`, else even."""
    k = (2 if PERIODIC[d] else 1) * n * np.pi / LENGTHS[d]
    if PERIODIC[d]:
        return np.cos(k * s + phase)
    return np.sin(k * s) if wall else np.cos(k * s)


def velocity(x, y, z):
    X = (x, y, z)
    parts = []
    for i in range(3):
        u = 0.0
        for m in range(3):
            term = 0.3 + 0.2 * i + 0.1 * m
            for d in range(3):
                term = term * _mode(d, X[d], 1 + (i + d + m) % 2, 0.7 * i + 1.1 * d + 0.4 * m, i == d)
            u = u + term
        parts.append(u)
    return parts
