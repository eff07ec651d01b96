"""How fields continue beyond free-slip boundaries, and how arithmetic changes that. All functions are local.

Per direction x, y, z: +1 even (mirrored), -1 odd (mirrored with the opposite sign, as a velocity through the wall), 0
not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Signs = tuple[int, int, int]
EVEN: Signs = (1, 1, 1)

# Functions by how parities combine: those that multiply them, and functions of one argument that are odd or even.
_PRODUCTS = {np.multiply, np.divide}
_ODD_FUNCTIONS = {
    np.negative, np.positive, np.sign, np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh, np.arcsinh, np.arctanh,
    np.cbrt, np.reciprocal, np.conjugate, np.deg2rad, np.rad2deg, np.radians, np.degrees,
}  # fmt: skip
_EVEN_FUNCTIONS = {np.absolute, np.fabs, np.square, np.cos, np.cosh, np.isfinite, np.isnan, np.isinf}


def mirrors(boundary: str) -> bool:
    """Whether fields continue by their parity beyond an end of a direction: one with "free-slip" at one end or both."""
    return "free-slip" in boundary.split("|")


def polar(component: int) -> Signs:
    """Parity of a component of a velocity: odd in its own direction, even in the others."""
    return tuple(-1 if d == component else 1 for d in range(3))  # type: ignore[return-value] # three of them


def axial(component: int) -> Signs:
    """Parity of a component of a vorticity: even in its own direction, odd in the others."""
    return tuple(1 if d == component else -1 for d in range(3))  # type: ignore[return-value] # three of them


def product_parity(a: Signs, b: Signs) -> Signs:
    """Parity of a product."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


def sum_parity(all_signs: list[Signs]) -> Signs:
    """Parity of a sum: known where all are equal."""
    return tuple(signs[0] if len(set(signs)) == 1 else 0 for signs in zip(*all_signs, strict=True))  # type: ignore[return-value]


def parity_of(ufunc: np.ufunc, signs: Sequence[Signs], exponent: Any = None) -> Signs:
    """Parity of the result of a NumPy function of arguments with these parities; numbers are even.

    :param exponent: the exponent of np.power, where it is one number.
    """
    if ufunc is np.power and exponent is not None:
        return _power(signs[0], exponent)
    if ufunc in _PRODUCTS:
        return product_parity(signs[0], signs[1])
    if ufunc in (np.add, np.subtract):
        return sum_parity(list(signs))
    if ufunc in _ODD_FUNCTIONS:
        return signs[0]
    if ufunc in _EVEN_FUNCTIONS:
        return tuple(abs(sign) for sign in signs[0])  # type: ignore[return-value]
    return tuple(1 if all(sign == 1 for sign in column) else 0 for column in zip(*signs, strict=True))  # type: ignore[return-value]


def _power(signs: Signs, exponent: Any) -> Signs:
    if exponent == int(exponent):
        return tuple(sign ** (int(exponent) % 2) if sign else 0 for sign in signs)  # type: ignore[return-value]
    return tuple(1 if sign == 1 else 0 for sign in signs)  # type: ignore[return-value]
