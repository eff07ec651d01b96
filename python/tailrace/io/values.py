"""Values that a series can store: types of arrays; numbers, texts and parameters in the form that the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError

Attribute = str | int | float | Sequence[int] | Sequence[float]
Scalar = float | int | str
STORED = ("float32", "float64", "int32", "int64")  # names of the types of arrays and lists


def is_stored(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type, in this byte order, can be stored."""
    return any(dtype == np.dtype(name) for name in STORED)


def stored_array(name: str, data: Any) -> NDArray[Any]:
    """The array of a variable, contiguous. Raises InputError if it has a type that cannot be stored."""
    array = np.ascontiguousarray(data)
    if not is_stored(array.dtype):
        raise InputError(f"{name}: expected an array of float32, float64, int32 or int64, found {array.dtype}")
    return array


def scalar_value(value: Any) -> Any:
    """A number or a text of Python. Raises InputError if it is neither."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        raise InputError(f"expected a number or a text, not {plain!r}")
    return int(plain) if isinstance(plain, bool) else plain


def attribute_value(value: Any) -> Any:
    """A text, a number or a list of numbers of Python. Raises InputError if it has another type."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | int | float):
        return value
    values = list(value)
    if not all(isinstance(one, int | float) for one in values):
        raise InputError(f"expected a text, a number or numbers, not {values!r}")
    return values


def parameter_text(value: object) -> str:
    """A parameter of an engine as text: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)
