"""What a script returned for a step, sorted by how it is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.fields.field import Field
from tailrace.fields.points import NODES
from tailrace.fields.vector import Tensor, Vector
from tailrace.io.values import EVERYWHERE, is_everywhere

from .pictures import is_figure

_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass
class ScriptResults:
    """The results of one step of one script, sorted by how they are stored."""

    numbers: dict[str, float] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    fields: dict[str, Field] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)

    def signature(self) -> list[str]:
        """The names and kinds, which must be the same on all ranks; figures are left out, because rank 0 draws them."""
        kinds = (("number", list(self.numbers)), ("array", list(self.arrays)), ("field", list(self.fields)))
        return [f"{name} ({kind})" for kind, names in kinds for name in names]

    def values_of_rank(self) -> dict[str, list[float]]:
        """What must be the same on all ranks, by name: the numbers, and sums over each array."""
        found = {name: [value] for name, value in self.numbers.items()}
        for name, array in self.arrays.items():
            values = np.asarray(array, np.float64).reshape(-1)
            size, weighted = float(np.abs(values).sum()), float(values @ np.cos(np.arange(values.size)))
            # Sums that cancel are compared with what they are sums of.
            found[name] = [float(values.size), size, float(values.sum()) + 2 * size, weighted + 2 * size]
        return found


def sort(returned: Any, name: str) -> ScriptResults:
    """Sort what a script returned: None, a number, an array, a Field, a Vector, a Figure, or a dict of them.

    :param name: the name of a result that is returned without one.
    :raises TypeError: a result has another type; the message has its key.
    """
    results = ScriptResults()
    plain = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII)
    entries = returned if isinstance(returned, Mapping) else {getattr(returned, "name", None) or plain: returned}
    if is_figure(returned):
        entries = {"figure": returned}
    for key, value in entries.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise TypeError(f"the names of results are words of letters, digits and _, not {key!r}")
        if key in ("step", "time"):
            raise TypeError(f"'{key}' is a column of every row already; give this result another name")
        _place(results, key, value)
    return results


def _place(results: ScriptResults, key: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, Vector):
        for axis, component in zip("xyz", value, strict=True):
            _place(results, f"{key}{axis}" if len(key) == 1 else f"{key}_{axis}", component)
    elif isinstance(value, Field):
        if value.centred != NODES:
            raise TypeError(f"'{key}' is a field on cell centres; tr.interpolate(f, axis, 'node') brings it to nodes")
        if value.dtype != np.bool_ and not is_everywhere(value.dtype):
            raise TypeError(f"'{key}' is a field of {value.dtype}; expected one of {', '.join(EVERYWHERE)} or bool")
        results.fields[key] = value
    elif is_figure(value):
        results.figures[key] = value
    elif _is_number(value):
        results.numbers[key] = float(value)
    elif isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.dtype.kind in "biuf":
        results.arrays[key] = value if is_everywhere(value.dtype) else value.astype(np.float64)
    else:
        raise TypeError(f"'{key}' is {_described(value)}; expected a number, a Field, a Vector, a one- or "
                        "two-dimensional array of real numbers, a matplotlib Figure, or None")  # fmt: skip


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    return isinstance(value, bool | int | float)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, Tensor):
        return "a Tensor, of which components are stored, as t[0, 1]"
    return f"of type {type(value).__name__}"
