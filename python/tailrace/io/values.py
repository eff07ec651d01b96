"""Values that a series can store: types of arrays; numbers, texts and parameters in the form that the core takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.masks import refuse_masked
from tailrace.text import visible

Attribute = str | int | float | Sequence[int] | Sequence[float] | Sequence[str]
Scalar = float | int | str
STORED = (  # names of the types of arrays and lists
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "complex64", "complex128",
)  # fmt: skip
EVERYWHERE = ("float32", "float64", "int32", "int64")  # those of all engines, and of all programs that draw


def is_everywhere(dtype: np.dtype[Any]) -> bool:
    """Whether all engines store arrays of this type, in this byte order."""
    return any(dtype == np.dtype(name) for name in EVERYWHERE)


def stored_array(name: str, data: Any) -> NDArray[Any]:
    """The array of a variable, contiguous and in the byte order of this machine.

    :raises InputError: it has a type that no engine stores, or values that are masked.
    """
    refuse_masked(name, data)
    array = np.asarray(data, order="C")
    dtype = array.dtype.newbyteorder("=")
    if dtype.name not in STORED:
        raise InputError(
            f"{visible(name)}: expected an array of numbers or of truth values, found {array.dtype}. To fix this, "
            f"write {_way_of(dtype)}"
        )
    return array.astype(dtype, copy=False)


def _way_of(dtype: np.dtype[Any]) -> str:
    """How the values of a type can be stored, in words."""
    if dtype.kind in "fc":
        return f".astype('{'float64' if dtype.kind == 'f' else 'complex128'}'), which rounds them"
    return f"numbers of one of these types: {', '.join(STORED)}"


def scalar_value(name: str, value: Any) -> Any:
    """A number or a text of Python. Raises InputError if it is neither, or cannot be stored."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        raise InputError(f"{visible(name)}: expected a number or a text, found {_shown(plain)}")
    return _stored(name, plain)


def attribute_value(name: str, value: Any) -> Any:
    """A text, a number or a list of one of them. Raises InputError if it is another type, or cannot be stored."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str | int | float):
        return _stored(name, value)
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, bytes) else []
    of_numbers, of_texts = (all(isinstance(one, kind) for one in values) for kind in (int | float, str))
    if not values or not (of_numbers or of_texts):
        raise InputError(
            f"{visible(name)}: expected a text, a number, a list of numbers or a list of texts, found {_shown(value)}"
        )
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
