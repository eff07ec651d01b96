"""What a convention for steps says about a file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from tailrace.io.placement import UniformGrid
from tailrace.io.values import Attribute, Scalar

from .hdf5_contents import Array
from .parts import LayoutMaker, parts_of

TIMES = ("time", "Time", "TIME", "t", "TimeValue", "physical_time", "simulation_time")


@dataclass
class GuessedStep:
    """A step: its arrays have names in `group` of the file, or with a first slash in the whole file."""

    index: int
    time: float
    group: str
    made: LayoutMaker
    scalars: dict[str, Scalar] = field(default_factory=dict)


@dataclass
class Guess:
    """What the conventions say."""

    steps: list[GuessedStep]
    note: str
    grid: UniformGrid | None = None
    notes: list[str] = field(default_factory=list)


def add_arrays(
    made: LayoutMaker, arrays: dict[str, Array], absolute: bool = False, as_list: bool = False
) -> LayoutMaker:
    """Variables of all arrays, by the names they are given with."""
    short = short_names(list(arrays))
    for name, one in arrays.items():
        source = f"/{one.name}" if absolute else name
        made.add(short[name], parts_of(source, one.dtype, one.shape, as_list=as_list))
    return made


def short_names(names: list[str]) -> dict[str, str]:
    """The last part of each path where it is the only one of its name, else the whole path."""
    count = Counter(name.rsplit("/", 1)[-1] for name in names)
    return {name: last if count[last := name.rsplit("/", 1)[-1]] == 1 else name for name in names}


def time_in(attributes: dict[str, Attribute], scalars: dict[str, Scalar]) -> float | None:
    """The time that the attributes or single values of a step tell."""
    for known in (attributes, scalars):
        for name in TIMES:
            value = known.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                return float(value)
    return None
