"""Real values to write: the arrays of a step of any file that Tailrace reads."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import Triple
from tailrace.io.placement import Box
from tailrace.steps.opening import open as open_series

from .setting import IoSetting


def shape_of(path: str) -> tuple[Triple, list[str], str]:
    """The points of the arrays of the last step in x, y, z, their names, and the type in which they are stored.

    :raises InputError: there is no array, or no step.
    """
    with open_series(path) as series:
        if not len(series):
            raise InputError(f"{path}: has no step; --from needs the values of one")
        stored = series[-1].variables
    found = {name: one for name, one in stored.items() if not one.is_list and one.dtype in ("float32", "float64")}
    if not found:
        raise InputError(f"{path}: has no array of float32 or float64; --from needs one")
    first = next(iter(found.values()))
    names = [name for name, one in found.items() if (one.shape, one.dtype) == (first.shape, first.dtype)]
    return first.shape, names, first.dtype


def stored_values(setting: IoSetting, box: Box) -> list[NDArray[Any]]:
    """A box of the first arrays that `shape_of` finds in the setting's source, as many as the setting has variables."""
    path = setting.source
    _, names, dtype = shape_of(path)
    with open_series(path) as series:
        return [series[-1].read(name, box, dtype=dtype) for name in names[: setting.variables]]
