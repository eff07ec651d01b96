"""Values as the attributes of netCDF say to read them: packed into small integers, or missing.

https://docs.unidata.ucar.edu/nug/current/attribute_conventions.html; xarray decodes the same, but for `valid_range`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.io.values import Attribute

DECODED = (  # the attributes that are of no more use when values are read
    "scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range", "valid_min", "valid_max", "_Unsigned",
    "unitSI",
)  # fmt: skip


@dataclass(frozen=True)
class Decoding:
    """value = scale * stored + offset, and NaN where a stored value is missing.

    :param missing: stored values that stand for none.
    :param low, high: the smallest and largest value that is one: as it is stored, or as it is read.
    :param of_values: the limits are of what is read: they have its type, not that of what is stored.
    :param unsigned: the integers are meant without a sign, which netCDF's first versions have not.
    """

    scale: float = 1.0
    offset: float = 0.0
    missing: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    unsigned: bool = False
    of_values: bool = False

    def type_of(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type of the values: floats of their own type where they only have missing ones."""
        packed = self.scale != 1.0 or self.offset != 0.0 or dtype.kind != "f"
        return np.dtype(np.float64) if packed else dtype.newbyteorder("=")

    def values(self, stored: NDArray[Any]) -> NDArray[Any]:
        """The values of stored ones."""
        if self.unsigned:
            stored = stored.view(stored.dtype.str.replace("i", "u"))
        gone = np.zeros(stored.shape, bool)
        for one in self.missing:
            gone |= stored == np.asarray(one, stored.dtype if stored.dtype.kind == "f" else None)
        found = stored.astype(self.type_of(stored.dtype))
        if self.scale != 1.0:
            found *= self.scale
        if self.offset != 0.0:
            found += self.offset
        limited = found if self.of_values else stored
        if self.low is not None:
            gone |= limited < self.low
        if self.high is not None:
            gone |= limited > self.high
        found[gone] = np.nan
        return found

    def words(self) -> str:
        """What is done, for a note."""
        said = []
        if self.scale != 1.0 or self.offset != 0.0:
            said.append(f"value = {self.scale:g} * stored + {self.offset:g}")
        if self.missing:
            said.append(f"NaN where the stored value is {' or '.join(f'{one:g}' for one in self.missing)}")
        if self.low is not None or self.high is not None:
            low, high = ("any" if one is None else f"{one:g}" for one in (self.low, self.high))
            said.append(f"NaN where it is not in the valid range from {low} to {high}")
        return ", ".join([*said, *(["integers without a sign"] if self.unsigned else [])])


def decoding_of(about: Mapping[str, Attribute], dtype: np.dtype[Any]) -> Decoding | None:
    """How the attributes of an array say to read it; None if its values are what is stored."""
    if dtype.kind not in "fiu":
        return None
    missing = [one for name in ("_FillValue", "missing_value") for one in _numbers(about.get(name))]
    low, high = [*_numbers(about.get("valid_range")), math.nan, math.nan][:2]
    low, high = [*_numbers(about.get("valid_min")), low][0], [*_numbers(about.get("valid_max")), high][0]
    unsigned = str(about.get("_Unsigned", "")).lower() == "true" and dtype.kind == "i"
    packed = dtype.kind != "f" and ("scale_factor" in about or "add_offset" in about)
    limits = [one for one in (low, high) if not math.isnan(one)]
    of_values = packed and any(isinstance(one, float) for one in limits)
    if unsigned:  # these are stored like the values
        turns = 1 << 8 * dtype.itemsize
        missing = [one + turns if one < 0 else one for one in missing]
        low, high = (one + turns if one < 0 and not of_values else one for one in (low, high))
    found = Decoding(
        [*_numbers(about.get("scale_factor")), 1.0][0],
        [*_numbers(about.get("add_offset")), 0.0][0],
        tuple(dict.fromkeys(one for one in missing if not math.isnan(one))),
        None if math.isnan(low) else low,
        None if math.isnan(high) else high,
        unsigned,
        of_values,
    )
    return None if found == Decoding() else found


def _numbers(value: Attribute | None) -> list[float]:
    """The numbers of an attribute; integers stay such, as large ones are compared exactly."""
    if value is None or isinstance(value, str):
        return []
    return [value] if isinstance(value, int | float) else [one for one in value if not isinstance(one, str)]
