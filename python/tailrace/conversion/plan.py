"""The plan of a conversion: the steps and variables that it writes, found from the metadata of the source."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from tailrace.core import InputError
from tailrace.grids import Triple, UniformGrid
from tailrace.io.placement import Stored
from tailrace.io.values import Attribute, Scalar

from . import storable
from .selection import Cut, Selection, converted


class Planned(NamedTuple):
    """A variable: as the source has it, as the target will have it, and which points are kept (None: all)."""

    source: Stored
    target: Stored
    cut: Cut | None


class PlannedStep(NamedTuple):
    """A step: its position in the source, its index and time, its variables and its numbers and texts."""

    position: int
    index: int  # type: ignore[assignment] # hides tuple.index, which is not called on a step
    time: float
    variables: dict[str, Planned]
    scalars: dict[str, Scalar]

    @property
    def size(self) -> int:
        """The bytes of its values in the target."""
        return sum(math.prod(one.target.shape) * np.dtype(one.target.dtype).itemsize for one in self.variables.values())


class Plan(NamedTuple):
    """All steps, the grid and the attributes of the target, and remarks for the user."""

    steps: list[PlannedStep]
    grid: UniformGrid | None
    attributes: dict[str, Attribute]
    notes: list[str]

    @property
    def size(self) -> int:
        """The bytes of all values in the target."""
        return sum(step.size for step in self.steps)


def make_plan(source: Any, selection: Selection, engine: str | None) -> Plan:
    """Look at the chosen steps of a source.

    :param source: a series that is open to read.
    :param engine: the engine of the target, if it is a series: that cannot store everything, and needs rising indices.
    :raises InputError: the source does not have what is chosen, or it cannot be stored.
    """
    steps: list[PlannedStep] = []
    notes: dict[str, None] = {}
    there: set[str] = set()
    met: set[str] = set()
    told = source.attributes
    names = storable.names_of(told)
    grid: UniformGrid | None = source.grid
    base: Triple | None = grid.points if grid is not None else None
    for position in selection.positions(len(source)):
        step = source[position]
        stored = dict(step.variables)
        there |= {*stored, *step.derived, *step.vectors}
        met |= {name for name in selection.variables or () if name in there or step.components(name)}
        base = base or _largest(stored)
        chosen = {
            name: _planned(name, one, selection, base, engine, notes) for name, one in selection.chosen(step).items()
        }
        values: dict[str, Scalar] = dict(step.scalars)
        if engine is None:
            kept = {names.get(name, name): value for name, value in values.items()}
        else:
            kept = storable.scalars(values, engine, names, notes)
        steps.append(PlannedStep(position, step.index, step.time, chosen, kept))
    selection.check_names(there, met)
    if engine is not None:
        _check_rising(source.path, steps)
    left_out = there - {name for step in steps for name in step.variables}
    attributes = selection.attributes(told, left_out, base)
    attributes.pop(storable.RENAMED, None)
    if engine is not None:
        if names:
            attributes[storable.RENAMED] = "\n".join(f"{own} {first}" for own, first in names.items())
        attributes = storable.attributes(attributes, engine, notes)
    return Plan(steps, None if grid is None else selection.grid(grid), attributes, list(notes))


def _largest(stored: dict[str, Stored]) -> Triple | None:
    """The shape of the largest array: that of the points, if the source has no grid."""
    return max((one.shape for one in stored.values() if not one.is_list), key=math.prod, default=None)


def _planned(
    name: str, stored: Stored, selection: Selection, base: Triple | None, engine: str | None, notes: dict[str, None]
) -> Planned:
    cut = selection.cut(stored.shape) if selection.cuts and stored.shape == base and not stored.is_list else None
    if selection.cuts and cut is None:
        notes[f"{name} is kept whole: it is {'a list' if stored.is_list else 'not on the points of the grid'}"] = None
    dtype = selection.dtype(stored.dtype)
    if engine is not None and not storable.is_name(name):
        raise InputError(
            f"{name!r} cannot name a variable of a series: expected letters, digits, '_', '-' and '.'; choose others "
            "by variables (--variables)"
        )
    if engine is not None:
        dtype = storable.dtype(name, dtype, engine, notes)
    return Planned(stored, converted(stored, dtype, cut), cut)


def _check_rising(path: str, steps: list[PlannedStep]) -> None:
    for earlier, later in itertools.pairwise(steps):
        if later.index <= earlier.index:
            raise InputError(
                f"{path}: the indices of its steps do not rise: {later.index} comes after {earlier.index}, and a "
                "series needs that; choose other steps"
            )
