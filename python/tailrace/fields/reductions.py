"""Reductions of whole fields to numbers. All collective, with the same result on every rank."""

from __future__ import annotations

import builtins
from typing import Any

from .field import Field, check_real
from .vector import Vector


def mean(f: Field, axis: str | int | tuple[int, ...] | None = None) -> Any:
    """Average over the box, or over the directions `axis`, as "xz"; see `Field.mean`.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: 1.0 + y)
    >>> round(tr.mean(f), 6)  # y is 0, 1/6, ... 11/6 on the 12 nodes
    1.916667
    >>> tr.mean(f, "xz").shape  # a profile over y
    (12,)
    """
    return f.mean(axis)


def mean_square(f: Field | Vector) -> float:
    """<f f> of a field, <v . v> of a vector: as mean(v @ v), but without storing the product.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: np.sin(x))
    >>> round(tr.mean_square(f), 6)
    0.5
    """
    fields = [f] if isinstance(f, Field) else list(f)
    check_real(*fields)
    first = fields[0]
    if any(field.dtype != first.operators.dtype for field in fields):
        return float(builtins.sum(mean(field * field) for field in fields))
    pairs = [(field.data, field.data) for field in fields]
    return first.operators.integral_of_products(pairs, first.centred) / first.operators.volume


def integral(f: Field) -> float:
    """Integral over the box by the trapezoidal rule.

    >>> ops = tr.Operators((16, 13, 8), (4.0, 2.0, 1.0), ("periodic", "dirichlet", "periodic"))
    >>> f = tr.Field.from_function(ops, lambda x, y, z: y)
    >>> round(tr.integral(f), 6)  # 4 * 1 * (2^2 / 2)
    8.0
    """
    check_real(f)
    return f.integral()


def sum(f: Field) -> Any:
    """Sum of all values, each counted once.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, 1.0)
    >>> print(tr.sum(f))  # 16 * 12 * 8 points
    1536.0
    """
    return f.sum()


def min(f: Field) -> Any:
    """Smallest value; NaN if any value is NaN.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: 2.0 - np.cos(x))
    >>> print(tr.min(f))
    1.0
    """
    return f.min()


def max(f: Field) -> Any:
    """Largest value; NaN if any value is NaN.

    >>> ops = tr.Operators((16, 12, 8), (2 * np.pi, 2.0, 1.0), ("periodic",) * 3)
    >>> f = tr.Field.from_function(ops, lambda x, y, z: 2.0 - np.cos(x))
    >>> print(tr.max(f))
    3.0
    """
    return f.max()
