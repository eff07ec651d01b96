"""Values that a series can store: types of arrays; numbers, texts and parameters in the form that the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.masks import refuse_masked
from tailrace.text import visible

Attribute = str | int | float | Sequence[int] | Sequence[float]
Scalar = float | int | str
STORED = ("float32", "float64", "int32", "int64")  # names of the types of arrays and lists


def is_stored(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type, in this byte order, can be stored."""
    return any(dtype == np.dtype(name) for name in STORED)


def stored_array(name: str, data: Any) -> NDArray[Any]:
    """The array of a variable, contiguous.

    :raises InputError: it has a type that cannot be stored, or values that are masked.
    """
    refuse_masked(name, data)
    array = np.asarray(data, order="C")
    if not is_stored(array.dtype):
        raise InputError(
            f"{visible(name)}: expected an array of float32, float64, int32 or int64, found {array.dtype}. To fix "
            f"this, write {_way_of(array.dtype)}"
        )
    return array


def _way_of(dtype: np.dtype[Any]) -> str:
    """How the values of a type can be stored, in words."""
    if dtype.kind == "c":
        return "its real and imaginary parts, .real and .imag, as two arrays"
    if dtype.newbyteorder("=").name in STORED:
        return f"it in the byte order of this machine: .astype('{dtype.newbyteorder('=').name}')"
    among = STORED[:2] if dtype.kind == "f" else STORED[2:] if dtype.kind in "biu" else ()
    holds = next((one for one in among if np.can_cast(dtype, one, "safe")), None)
    if holds is not None:
        return f".astype('{holds}'), which holds its values"
    if dtype.kind == "u":
        return ".astype('int64') if its values are below 2^63, or .astype('float64') to round them"
    return "numbers of one of these types"


def scalar_value(name: str, value: Any) -> Any:
    """A number or a text of Python. Raises InputError if it is neither, or cannot be stored."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        raise InputError(f"{visible(name)}: expected a number or a text, found {_shown(plain)}")
    return _stored(name, plain)


def attribute_value(name: str, value: Any) -> Any:
    """A text, a number or a list of numbers of Python. Raises InputError if it is another type, or cannot be stored."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | int | float):
        return _stored(name, value)
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, bytes) else []
    if not values or not all(isinstance(one, int | float) for one in values):
        raise InputError(f"{visible(name)}: expected a text, a number or a list of numbers, found {_shown(value)}")
    return [_stored(name, one) for one in values]


def _stored(name: str, value: str | int | float) -> str | int | float:
    """A text in UTF-8, or a number that 64 bits hold; a truth value becomes 0 or 1."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{visible(name)}: the text {value[:40]!r} is not in UTF-8") from None
        return value
    if isinstance(value, float):
        return value
    if not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"{visible(name)}: {value} does not fit into 64 bits; write it as a text or a float")
    return int(value)


def _shown(value: object) -> str:
    words = repr(value)
    return f"{words[:60]} ({type(value).__name__})"


def parameter_text(value: object) -> str:
    """A parameter of an engine as text: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)
