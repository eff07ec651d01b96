"""Invariants of the gradient of a velocity, which mark vortices. All collective.

With A_ij = d v_i / d x_j, S = (A + A^T) / 2 and W = (A - A^T) / 2.
"""

from __future__ import annotations

import numpy as np

from tailrace.core import Invariant, invariant32, invariant64

from .calculus import grad
from .field import Field
from .parity import Signs, polar
from .vector import Vector


def q_criterion(v: Vector) -> Field:
    """Q = (W:W - S:S) / 2: positive where rotation outweighs strain (Hunt, Wray and Moin 1988).

    >>> ops = tr.Operators((16, 24, 8), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
    >>> vortices = tr.Vector.from_function(ops, lambda x, y, z: (-np.sin(y), np.sin(x), 0.0))
    >>> print(tr.q_criterion(vortices)[0, 0, 0].round(4))  # in the middle of a vortex: cos(0) cos(0)
    1.0
    """
    return _invariant(Invariant.q, v, 2)


def lambda2(v: Vector) -> Field:
    """The middle eigenvalue of S^2 + W^2: negative inside vortices (Jeong and Hussain 1995).

    >>> ops = tr.Operators((16, 24, 8), (2 * np.pi, 2 * np.pi, 1.0), ("periodic",) * 3)
    >>> vortices = tr.Vector.from_function(ops, lambda x, y, z: (-np.sin(y), np.sin(x), 0.0))
    >>> print(tr.lambda2(vortices)[0, 0, 0].round(4))  # in the middle of a vortex: -cos(0) cos(0)
    -1.0
    """
    return _invariant(Invariant.lambda2, v, 2)


def third_invariant(v: Vector) -> Field:
    """R = -det(A), which with Q classifies a flow of no divergence (Chong, Perry and Cantwell 1990)."""
    return _invariant(Invariant.third, v, 3)


def _invariant(which: Invariant, v: Vector, degree: int) -> Field:
    gradient = grad(v)
    dtype = v.operators.dtype
    arrays = [np.ascontiguousarray(gradient[i, j].data, dtype) for i in range(3) for j in range(3)]
    of_arrays = invariant64 if dtype == np.float64 else invariant32
    return Field(of_arrays(which, arrays), v.operators, parity=_parity(v, degree))


def _parity(v: Vector, degree: int) -> Signs:
    """Even for a field with the parities of a velocity; with the opposite ones, -1 to the power of the degree."""
    signs = []
    for d in range(3):
        found = {component.parity[d] * polar(i)[d] for i, component in enumerate(v)}
        signs.append(found.pop() ** degree if len(found) == 1 else 0)
    return tuple(signs)  # type: ignore[return-value] # three of them
