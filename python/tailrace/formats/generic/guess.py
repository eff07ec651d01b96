"""The steps of a file by a convention."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tailrace.grids import UniformGrid
from tailrace.io.values import Attribute, Scalar

from .axes import TIMES, axes_of
from .decoding import DECODED
from .hdf5_contents import Array
from .parts import LayoutMaker, Names, parts_of, plain_name

_OF_HDF5 = (  # what it and netCDF store of dimensions
    "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "CLASS", "NAME", "_Netcdf4Dimid", "_Netcdf4Coordinates",
)  # fmt: skip


@dataclass
class GuessedStep:
    """A step. Its arrays are named relative to `group`, or with a leading slash, in the whole file."""

    index: int
    time: float
    group: str
    made: LayoutMaker
    scalars: dict[str, Scalar] = field(default_factory=dict)


@dataclass
class Guess:
    """The steps that a convention gives."""

    steps: list[GuessedStep]
    note: str
    grid: UniformGrid | None = None
    places: tuple[NDArray[Any], ...] | None = None  # of its points, as the file has them
    notes: list[str] = field(default_factory=list)
    timed: bool = True  # whether the times of the steps are in the file
    times: str = ""  # the list with the times of the steps, if there is one


def attributes_of_guess(known: dict[str, dict[str, Attribute]], guess: Guess) -> dict[str, Attribute]:
    """The attributes of the file under their names; those of arrays of the first step as variable/attribute."""
    names = Names()
    result = {names.once(plain_name(name)): value for name, value in known.get("", {}).items()}
    for step in guess.steps[:1]:
        for name, part in step.made.parts.items():
            whole = part.source if part.source.startswith("/") else f"{step.group}/{part.source}"
            for attribute, value in known.get(whole.strip("/"), {}).items():
                if attribute not in _OF_HDF5 and not (part.decoding and attribute in DECODED):
                    result[names.once(f"{name}/{plain_name(attribute)}")] = value
    for attribute, value in known.get(guess.times, {}).items() if guess.times else ():
        if attribute not in _OF_HDF5:
            result[names.once(f"time/{plain_name(attribute)}")] = value
    return result


def add_arrays(
    made: LayoutMaker, arrays: dict[str, Array], absolute: bool = False, as_list: bool = False
) -> LayoutMaker:
    """Add variables for all arrays, under the given names."""
    short = short_names(list(arrays))
    for name, one in arrays.items():
        source = f"/{one.name}" if absolute else name
        axes = axes_of(one.dimensions, one.shape)
        made.add(short[name], parts_of(source, one.dtype, one.shape, as_list=as_list, axes=axes, decoding=one.decoding))
    return made


def short_names(names: list[str]) -> dict[str, str]:
    """The last part of each path if it is unique, else the whole path."""
    count = Counter(name.rsplit("/", 1)[-1] for name in names)
    return {name: last if count[last := name.rsplit("/", 1)[-1]] == 1 else name for name in names}


def time_in(attributes: dict[str, Attribute], scalars: dict[str, Scalar]) -> float | None:
    """The time from the attributes or single values of a step; None if they have none."""
    for known in (attributes, scalars):
        for name in TIMES:
            value = known.get(name)
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            with suppress(ValueError):
                if isinstance(value, int | float | str) and math.isfinite(float(value)):
                    return float(value)
    return None
