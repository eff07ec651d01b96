"""Steps of HDF5 files in which time is a dimension of the arrays, or arrays are stored by name and number."""

from __future__ import annotations

from dataclasses import dataclass, field

import h5py
import numpy as np

from tailrace.formats.hdf5_file import FAULTS
from tailrace.io.values import Scalar

from .axes import TIMES, Dimension, axes_of
from .guess import Guess, GuessedStep, add_arrays, short_names
from .hdf5_contents import Array, Hdf5Contents
from .parts import ArrayPart, LayoutMaker, parts_of

_MOST = 1 << 20  # times


# ---- time is a dimension ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Axis:
    """The time of a file: its values, and the dimension of each array that is the time.

    :param others: arrays along another time, with the name of its dimension.
    """

    name: str  # of the dataset with the values; "" if no dataset has them
    count: int
    of: dict[str, int]
    others: dict[str, str] = field(default_factory=dict)


def along_time(file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    """The steps along a dimension that the file calls the time, or that is as long as a list of times."""
    axis = _told(contents) or _alike(contents)
    if axis is None:
        return None
    values = np.arange(axis.count, dtype=float)
    if axis.name:
        try:
            values = np.asarray(contents.arrays[axis.name].read(file), float)
        except FAULTS:
            return None
        if not np.isfinite(values).all():
            return None
    along = {name: contents.arrays[name] for name in axis.of}
    numbers = _numbers(file, contents, axis)
    rest = {
        name: one
        for name, one in contents.arrays.items()
        if name not in along and name not in numbers and name not in axis.others and name != axis.name
    }
    steps = [_slice(at, float(values[at]), axis, along, rest) for at in range(axis.count)]
    for name, row in numbers.items():
        for step, value in zip(steps, row, strict=True):
            step.scalars[name.rsplit("/", 1)[-1]] = value
    notes = [*_units(contents, axis), *_left_out(axis)]
    return Guess(steps, _said(contents, axis), notes=notes, times=axis.name, timed=bool(axis.name))


def _left_out(axis: _Axis) -> list[str]:
    """A note for each dimension of other times."""
    names: dict[str, list[str]] = {}
    for one, dimension in axis.others.items():
        names.setdefault(dimension, []).append(one)
    return [
        f"left out: {', '.join(found[:8])}, because the dimension '{dimension}' has other times than the steps"
        for dimension, found in names.items()
    ]


def _told(contents: Hdf5Contents) -> _Axis | None:
    """The time by the labels and scales of dimensions: that of most arrays, of two alike the one with more entries."""
    groups: dict[tuple[str, int], dict[str, int]] = {}
    for name, one in contents.arrays.items():
        for d, dimension in enumerate(one.dimensions):
            if contents.is_time(dimension) and len(one.shape) > 1 and 0 < one.shape[d] <= _MOST:
                groups.setdefault((_values_of(contents, dimension, one.shape[d]), one.shape[d]), {})[name] = d
                break
    if not groups:
        return None
    (name, count), found = max(groups.items(), key=lambda group: (len(group[1]), group[0][1]))
    others = _of_other_times(contents, name, count)
    of = {one: d for one, d in found.items() if one not in others} or found
    return _Axis(name, count, of, {one: dimension for one, dimension in others.items() if one not in of})


def _of_other_times(contents: Hdf5Contents, name: str, count: int) -> dict[str, str]:
    """The arrays along a time that is not the one of the steps, and its values, with the name of that dimension."""
    found: dict[str, str] = {}
    for each, one in contents.arrays.items():
        for d, dimension in enumerate(one.dimensions):
            if not contents.is_time(dimension):
                continue
            values = _values_of(contents, dimension, one.shape[d])
            if (values, one.shape[d]) != (name, count):
                found |= dict.fromkeys([values, each] if values else [each], dimension.names[0])
    return found


def _values_of(contents: Hdf5Contents, dimension: Dimension, count: int) -> str:
    """The list with the times of a dimension: a scale, else a list along it or by its name; "" if none has them."""
    by_name = {name.rsplit("/", 1)[-1]: name for name in dimension.scales}
    first = [by_name[known] for known in TIMES if known in by_name]
    along = [name for name, one in contents.arrays.items() if one.dimensions == (dimension,)]
    beside = [name for name in along if contents.has_times(name)]
    others = [name for name in contents.arrays if name.rsplit("/", 1)[-1] in TIMES]
    for name in (*first, *dimension.scales[:1], *beside, *others):
        one = contents.arrays.get(name)
        if one is not None and one.shape == (count,):
            return name
    return ""


def _alike(contents: Hdf5Contents) -> _Axis | None:
    """Arrays whose first dimension has no name, and is as long as a list of times."""
    for name, times in contents.arrays.items():
        if name.rsplit("/", 1)[-1] not in TIMES or len(times.shape) != 1 or not 0 < times.shape[0] <= _MOST:
            continue
        along = {
            one: 0
            for one, array in contents.arrays.items()
            if one != name and len(array.shape) >= 2 and array.shape[0] == times.shape[0] and not _named(array)
        }
        if along:
            return _Axis(name, times.shape[0], along)
    return None


def _named(one: Array) -> bool:
    return bool(one.dimensions) and bool(one.dimensions[0].names)


def _numbers(file: h5py.File, contents: Hdf5Contents, axis: _Axis) -> dict[str, list[Scalar]]:
    """The lists with a number for each step: along the time by their names, or beside the times."""
    found: dict[str, list[Scalar]] = {}
    group = axis.name.rpartition("/")[0]
    for name, one in contents.arrays.items():
        told = bool(one.dimensions) and contents.is_time(one.dimensions[0])
        beside = bool(group) and name.rpartition("/")[0] == group
        if one.shape != (axis.count,) or name in (axis.name, *axis.others) or one.dtype.kind not in "fiu":
            continue
        if not (told or beside):
            continue
        try:
            values = one.read(file)
        except FAULTS:
            continue
        found[name] = [float(value) if values.dtype.kind == "f" else int(value) for value in values]
    return found


def _said(contents: Hdf5Contents, axis: _Axis) -> str:
    names = ", ".join(list(axis.of)[:8])
    dimensions = [
        contents.arrays[name].dimensions[d] for name, d in axis.of.items() if contents.arrays[name].dimensions
    ]
    named = [one for one in dimensions if one.names]
    if not named:
        return f"the first dimension of {names} is taken for the steps, because it has as many entries as '{axis.name}'"
    times = f"their times are '{axis.name}'" if axis.name else "no list has their times: their numbers stand for them"
    return f"the dimension '{named[0].names[0]}' of {names} has the steps; {times}"


def _units(contents: Hdf5Contents, axis: _Axis) -> list[str]:
    """A note on the units of the times, which are not converted."""
    about = contents.attributes.get(axis.name, {})
    if not isinstance(about.get("units"), str):
        return []
    calendar = f", in the calendar '{about['calendar']}'" if "calendar" in about else ""
    return [f"the times are in the unit '{about['units']}'{calendar}"]


def _slice(at: int, time: float, axis: _Axis, along: dict[str, Array], rest: dict[str, Array]) -> GuessedStep:
    made = LayoutMaker()
    short = short_names([*along, *rest])
    for name, one in along.items():
        made.add(short[name], _parts(name, one, axis.of[name], at))
    add_arrays(made, rest)
    return GuessedStep(at, time, "", made)


def _parts(name: str, one: Array, time: int, at: int) -> dict[str, ArrayPart] | str:
    """The parts of an array at one entry of its dimension of the time."""
    axes = axes_of(one.dimensions, one.shape, time)
    kept = [d for d in range(len(one.shape)) if d != time]
    inner = None if axes is None else tuple(kept.index(d) if d >= 0 else -1 for d in axes)
    parts = parts_of(name, one.dtype, tuple(one.shape[d] for d in kept), axes=inner, decoding=one.decoding)
    if isinstance(parts, str):
        return parts
    return {suffix: part.behind(time, at, one.shape) for suffix, part in parts.items()}


# ---- a group for each variable, with its steps by number -------------------------------------------------------------
def per_variable(_file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    """Arrays NAME/NUMBER with their times t/NUMBER, as JLD2 files of Oceananigans have them."""
    groups: dict[str, dict[int, float]] = {}
    for name, value in contents.scalars.items():
        parent, _, last = name.rpartition("/")
        if parent.rsplit("/", 1)[-1] in TIMES and _is_number(last) and isinstance(value, int | float):
            groups.setdefault(parent, {})[int(last)] = float(value)
    for parent, times in groups.items():
        base = parent.rpartition("/")[0]
        found: dict[int, dict[str, Array]] = {}
        for name, one in contents.below(base).items():
            variable, _, last = name.rpartition("/")
            if variable and "/" not in variable and _is_number(last) and int(last) in times:
                found.setdefault(int(last), {})[variable] = one
        if found:
            where = f"'{base}/NAME/NUMBER'" if base else "'NAME/NUMBER'"
            note = f"the arrays {where} with their times in '{parent}' are the steps"
            return Guess(_numbered(contents, found, times), note)
    return None


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 18


def _numbered(contents: Hdf5Contents, found: dict[int, dict[str, Array]], times: dict[int, float]) -> list[GuessedStep]:
    inside = {one.name for arrays in found.values() for one in arrays.values()}
    rest = {name: one for name, one in contents.arrays.items() if name not in inside}
    steps = []
    for number in sorted(found):
        made = LayoutMaker()
        for variable, one in found[number].items():
            made.add(variable, parts_of(f"/{one.name}", one.dtype, one.shape, decoding=one.decoding))
        if len(rest) * len(found) <= _MOST:
            add_arrays(made, rest, absolute=True)
        steps.append(GuessedStep(number, times[number], "", made))
    return steps
