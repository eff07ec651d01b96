"""Numbers of whole fields. All collective, and the same on every rank."""

from __future__ import annotations

from typing import Any

from .field import Field


def mean(f: Field, axis: str | int | tuple[int, ...] | None = None) -> Any:
    """Average over the box, or over the directions `axis`, as "xz"; see `Field.mean`."""
    return f.mean(axis)


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
