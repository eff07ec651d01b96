"""Low-pass filtering of distributed fields. Collective."""

from __future__ import annotations

from typing import overload

import numpy as np

from tailrace.core import InputError
from tailrace.core import filter as core_filter

from .field import Field, check_real, known_parity
from .points import axis_names
from .vector import Vector


@overload
def filter(f: Field, axes: str = "xyz", alpha: float = 0.45) -> Field: ...
@overload
def filter(f: Vector, axes: str = "xyz", alpha: float = 0.45) -> Vector: ...
def filter(f: Field | Vector, axes: str = "xyz", alpha: float = 0.45) -> Field | Vector:
    """The sixth-order compact filter of Gaitonde and Visbal (2000) along each of `axes`, one after the other.

    alpha (g[i-1] + g[i+1]) + g[i] = sum over n = 0 .. 3 of a_n / 2 (f[i+n] + f[i-n]), with a_0 = 11/16 + 5 alpha / 8,
    a_1 = 15/32 + 17 alpha / 16, a_2 = -3/16 + 3 alpha / 8, a_3 = 1/32 - alpha / 16. A constant does not change. A wave
    of two points per wavelength is removed. At a Dirichlet wall the value on the wall does not change; the next two
    points are filtered to second and fourth order with the same alpha. If y is stretched, the filter works in the
    uniform coordinate: it removes waves of few points, which are shorter where the nodes are close together.

    :param alpha: between -0.5 and 0.5; the nearer to 0.5, the less is filtered.
    :raises InputError: alpha is out of this range, or the field is on the cell centres in one of `axes`.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> zigzag = np.array([1.0, -1.0] * 8)  # a wave of two points per wavelength
    >>> f = tr.Field.from_function(ops, lambda x, y, z: 3.0 + zigzag)
    >>> np.allclose(tr.filter(f, "x"), 3.0)
    True
    """
    if not abs(alpha) < 0.5:
        raise InputError(f"alpha is {alpha}; expected a number between -0.5 and 0.5")
    if isinstance(f, Vector):
        return Vector(*(filter(one, axes, alpha) for one in f))
    check_real(f)
    data = np.ascontiguousarray(f.data, f.operators.dtype)
    for d in ("xyz".index(axis) for axis in axis_names(axes)):
        data = core_filter(f.operators.core, d, known_parity(f, d), f.centred, alpha, data)
    return f.like(data, name=f.name)
