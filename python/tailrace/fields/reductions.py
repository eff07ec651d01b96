"""Reductions of whole fields to numbers. All collective, with the same result on every rank."""

from __future__ import annotations

import builtins
from typing import Any

from .field import Field
from .vector import Vector


def mean(f: Field, axis: str | int | tuple[int, ...] | None = None) -> Any:
    """Average over the box, or over the directions `axis`, as "xz"; see `Field.mean`."""
    return f.mean(axis)


def mean_square(f: Field | Vector) -> float:
    """<f f> of a field, <v . v> of a vector: as mean(v @ v), but without storing the product."""
    fields = [f] if isinstance(f, Field) else list(f)
    first = fields[0]
    if any(field.dtype != first.operators.dtype for field in fields):
        return float(builtins.sum(mean(field * field) for field in fields))
    pairs = [(field.data, field.data) for field in fields]
    return first.operators.integral_of_products(pairs, first.centred) / first.operators.volume


def integral(f: Field) -> float:
    """Integral over the box by the trapezoidal rule."""
    return f.integral()


def sum(f: Field) -> Any:
    """Sum of all values, each counted once."""
    return f.sum()


def min(f: Field) -> Any:
    """Smallest value; NaN if there is one."""
    return f.min()


def max(f: Field) -> Any:
    """Largest value; NaN if there is one."""
    return f.max()
