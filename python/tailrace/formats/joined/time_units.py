"""Times of files that count from different dates, as those of one month each: all in the unit of the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.io.dataset import Dataset

_UNITS, _CALENDAR = "time/units", "time/calendar"


def in_one_unit(files: Sequence[Dataset], named: str) -> list[str]:
    """Let the times of all files count in the unit of the first one; a note if any was converted.

    :raises InputError: a unit cannot be converted.
    """
    first = files[0]
    ours = first.attributes.get(_UNITS)
    others = [one for one in files if one.attributes.get(_UNITS) != ours]
    if not others:
        return []
    for one in others:
        try:
            times = _times_in(first, one)
        except Exception as error:  # xarray and cftime raise many kinds for units and calendars that they do not know
            here = [f"{_said(held)} in {Path(held.path).name}" for held in (first, one)]
            raise InputError(
                f"{named}: the times are {here[0]} and {here[1]}, which cannot be converted ({error}); give lists of "
                "files with one unit"
            ) from None
        one.steps = [(index, time) for (index, _), time in zip(one.steps, times, strict=True)]
        one.attributes = {**one.attributes, _UNITS: str(ours)}
    return [f"the times of {len(others)} of {len(files)} files are converted to '{ours}', the unit of the first"]


def _said(one: Dataset) -> str:
    unit = one.attributes.get(_UNITS)
    return "in no unit" if unit is None else f"in '{unit}'"


def _times_in(first: Dataset, one: Dataset) -> list[float]:
    calendars = [held.attributes.get(_CALENDAR, "standard") for held in (first, one)]
    if calendars[0] != calendars[1]:
        raise ValueError(f"the calendars are {calendars[0]} and {calendars[1]}")
    begin, end = _dates(first, [0.0, 1.0])
    dates = _dates(one, [time for _, time in one.steps])
    return [float((date - begin) / (end - begin)) for date in dates]


def _dates(one: Dataset, times: list[float]) -> NDArray[Any]:
    """The dates of times, as xarray knows them: of NumPy, or of cftime for other calendars."""
    import xarray

    keys = (("units", _UNITS), ("calendar", _CALENDAR))
    about = {name: str(one.attributes[key]) for name, key in keys if key in one.attributes}
    values = xarray.Dataset({"time": ("step", np.array(times, float), about)})
    dates: NDArray[Any] = xarray.decode_cf(values)["time"].values
    if dates.dtype.kind == "f":
        raise ValueError("it counts from no date")
    return dates
