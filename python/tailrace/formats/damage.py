"""Look for damage in files of other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tailrace.core import IoError
from tailrace.io.dataset import Dataset
from tailrace.io.placement import boxes_of

if TYPE_CHECKING:
    from .flat_array import FlatArray

_PIECE = 1 << 20  # values in memory at a time


def not_finite(dataset: Dataset, position: int, name: str) -> str:
    """How many values of a variable are not finite, and where the first one is, as text; "" if all are finite.

    :raises IoError: the values cannot be read.
    """
    stored = dataset.variables(position)[name]
    if not stored.dtype.startswith("float") or 0 in stored.shape:
        return ""
    count, first = 0, ""
    for box in boxes_of(stored.shape, _PIECE):
        values = np.empty(box.count[::-1], stored.dtype)
        dataset.read(position, name, box, values)
        bad = ~np.isfinite(values)
        if bad.any():
            k, j, i = np.unravel_index(int(bad.argmax()), bad.shape)
            x, y, z = box.start
            first = first or (f"row {y + j}" if stored.is_list else f"point {x + i}, {y + j}, {z + k}")
            count += int(bad.sum())
    return f"{name} has {count} values that are not finite, the first at {first}" if count else ""


def not_finite_in(dataset: Dataset, position: int, arrays: Mapping[str, FlatArray]) -> list[str]:
    """A line for each array with values that are not finite, or that cannot be read, with its file.

    :param arrays: of the step at `position`, by the names of its variables.
    """
    lines = []
    for name, array in arrays.items():
        try:
            line = not_finite(dataset, position, name)
            lines += [f"{array.path}: {line}"] if line else []
        except IoError as error:
            lines.append(str(error))
    return lines


def errors_of(*looks: Callable[[], object]) -> list[str]:
    """The messages of the functions that raise an error: each reads a part that may be damaged."""
    errors = []
    for look in looks:
        try:
            look()
        except IoError as error:
            errors.append(str(error))
    return errors
