"""Guess the steps of an HDF5 file by the usual conventions, and note the guesses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.formats.hdf5_file import FAULTS
from tailrace.text import counted

from .axes import axes_of, grid_of
from .guess import Guess, GuessedStep, add_arrays, time_in
from .hdf5_contents import Array, Hdf5Contents
from .hdf5_time_axis import along_time, per_variable
from .openpmd import openpmd_steps
from .parts import ArrayPart, LayoutMaker, parts_of
from .pflotran import pflotran_steps
from .vtkhdf import vtkhdf_steps
from .xdmf import steps_in

_STEP = re.compile(r"(?:.*?[A-Za-z_#.\- ])?(\d+)")  # "Step0", "step_0010", "Timestep 3", "0005"
# "t_0.25", "time=1.5", "0.5", "t_1.0e-01": a time; after "_", "=" or a space, a "-" is its sign: "t_-0.5".
_TIME = re.compile(r"(?:.*?[A-Za-z_#.=\- ])??((?:(?<![A-Za-z\d.#])[-+])?\d+\.\d+(?:[eE][-+]?\d+)?)")
_WORDS = re.compile(r"(step|iter|time|cycle|frame|snap|output|dump|^t|^it|^data|^plt|^$)", re.IGNORECASE)
_MOST_REPEATED = 100_000  # arrays outside of the steps times steps
_MOST_POINTS = 1 << 20  # of a direction whose places are read


def guess_steps(file: h5py.File, contents: Hdf5Contents) -> Guess:
    """The steps by the first convention that fits the file."""
    conventions: tuple[Callable[[h5py.File, Hdf5Contents], Guess | None], ...] = (
        vtkhdf_steps,
        openpmd_steps,
        pflotran_steps,
        _companion,
        per_variable,
        _grouped,
        along_time,
    )
    for convention in conventions:
        found = convention(file, contents)
        if found is not None:
            break
    else:
        found = _single_step(contents)
    if found.grid is None and found.steps:
        along = _along(file, contents, found.steps[0])
        found.grid = None if along is None else grid_of(along)
        found.places = None if found.grid is None or along is None else tuple(along)
    return found


# ---- groups, one for each step ---------------------------------------------------------------------------------------
Family = tuple[str, list[tuple[float, str]]]  # a group; number and name of the numbered groups in it, increasing


def _grouped(_file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    families = _families(contents)
    if not families:
        return None
    parent, groups = families[0]
    notes = []
    are_times = any(isinstance(number, float) for number, _ in groups)
    if are_times:
        notes.append("the numbers in the names of the groups are taken for times, because they have decimals")
    steps = []
    timeless = 0
    for place, (number, name) in enumerate(groups):
        whole = f"{parent}/{name}".lstrip("/")
        scalars = contents.scalars_below(whole)
        time = time_in(contents.attributes.get(whole, {}), scalars)
        timeless += time is None and not are_times
        made = add_arrays(LayoutMaker(), contents.below(whole))
        index = place if are_times else int(number)
        steps.append(GuessedStep(index, float(number) if time is None else time, whole, made, scalars))
    inside = {step.group for step in steps}
    for other in families[1:]:
        inside |= _add_family(contents, steps, groups, other, notes)
    rest = {name: one for name, one in contents.arrays.items() if not _is_below(name, inside)}
    names = ", ".join(sorted(rest)[:8])
    if len(rest) * len(steps) > _MOST_REPEATED:
        notes.append(f"{names}, in all {len(rest)}: outside of the steps, and too many for each of them: left out")
    elif rest:
        notes.append(f"{names}: outside of the steps, so the same in all of them")
        for step in steps:
            add_arrays(step.made, rest, absolute=True)
    if timeless:
        notes.append(f"{counted(timeless, 'step')} tell no time: the number of the step stands for it")
    first, last = groups[0][1], groups[-1][1]
    said = f"the groups '{parent}/{first}' to '{parent}/{last}' are taken for steps"
    return Guess(steps, said, notes=notes, timed=not timeless)


def _add_family(
    contents: Hdf5Contents, steps: list[GuessedStep], groups: list[tuple[float, str]], family: Family, notes: list[str]
) -> set[str]:
    """Add another family of numbered groups to the steps of the same numbers; returns the groups that were handled."""
    parent, members = family
    step_of = {number: step for step, (number, _) in zip(steps, groups, strict=True)}
    here = {f"{parent}/{name}".lstrip("/"): step_of.get(number) for number, name in members}
    if any(_is_below(f"{one}/", {step.group for step in steps}) for one in here):
        return set()
    known = sum(step is not None for step in here.values())
    if 2 * known <= len(here):
        return set()
    for group, step in here.items():
        if step is not None:
            arrays = {f"{parent}/{name}": one for name, one in contents.below(group).items()}
            add_arrays(step.made, arrays, absolute=True)
            step.scalars = contents.scalars_below(group) | step.scalars
    notes.append(f"the groups '{parent}/{members[0][1]}' and so on are parts of the steps of the same numbers")
    if known < len(here):
        notes.append(f"'{parent}' has {counted(len(here) - known, 'group')} without a step of its number: left out")
    return set(here)


def _is_below(name: str, groups: set[str]) -> bool:
    parts = name.split("/")
    return any("/".join(parts[:n]) in groups for n in range(1, len(parts)))


def _families(contents: Hdf5Contents) -> list[Family]:
    """Numbered groups with arrays, by their parent group: first those with most members, near the root."""
    parents: dict[tuple[str, str], list[tuple[float, str]]] = {}
    groups = {"/".join(name.split("/")[:n]) for name in contents.arrays for n in range(1, name.count("/") + 1)}
    for group in groups:
        parent, _, name = group.rpartition("/")
        decimal = _TIME.fullmatch(name)
        matched = decimal or _STEP.fullmatch(name)
        if matched and parent.count("/") < 2 and len(matched[1]) < 18:
            prefix = name[: matched.start(1)]
            if _WORDS.search(prefix):
                number = float(matched[1]) if decimal else int(matched[1])
                parents.setdefault((parent, prefix), []).append((number, name))
    found = []
    for parent, prefix in sorted(parents, key=lambda one: (one[0].count("/") + bool(one[0]), one)):
        members = sorted(parents[parent, prefix])
        if all(a[0] < b[0] for a, b in pairwise(members)):
            found.append((parent, members))
    return sorted(found, key=lambda one: -len(one[1]))


# ---- an XDMF file beside it ------------------------------------------------------------------------------------------
def _companion(file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    path = Path(file.filename)
    for suffix in (".xmf", ".xdmf", ".xdmf3", ".xdmf2"):
        beside = path.with_suffix(suffix)
        if not beside.is_file():
            continue
        steps = []
        for number, (time, names) in enumerate(steps_in(beside, path.name)):
            arrays = {name: contents.arrays[place] for name, place in names.items() if place in contents.arrays}
            if arrays:
                made = LayoutMaker()
                for name, one in arrays.items():
                    made.add(name, parts_of(f"/{one.name}", one.dtype, one.shape, decoding=one.decoding))
                steps.append(GuessedStep(number, float(number) if time is None else time, "", made))
        if steps and all(a.time < b.time for a, b in pairwise(steps)):
            return Guess(steps, f"steps and names are those of '{beside.name}' beside it")
    return None


# ---- one step --------------------------------------------------------------------------------------------------------
def _single_step(contents: Hdf5Contents) -> Guess:
    root = contents.attributes.get("", {})
    time = time_in(root, contents.scalars)
    made = add_arrays(LayoutMaker(), contents.arrays)
    step = GuessedStep(0, 0.0 if time is None else time, "", made, contents.scalars)
    said = "its time is 0" if time is None else f"its time is {time:g}, as the file says"
    return Guess([step], f"no convention for steps is known to it: all is one step, {said}", timed=time is not None)


# ---- the places of the points ----------------------------------------------------------------------------------------
def _along(file: h5py.File, contents: Hdf5Contents, step: GuessedStep) -> list[NDArray[Any]] | None:
    """The places of the points: scales of dimensions, else lists named x, y and z that are as long as the arrays."""
    for part in step.made.parts.values():
        scales = _by_scales(file, contents, step, part)
        if scales is not None and grid_of(scales) is not None:
            return scales
    shapes = {part.stored.shape for part in step.made.parts.values() if not part.stored.is_list}
    for shape in sorted((one for one in shapes if math.prod(one) > 1), key=math.prod, reverse=True):
        along = [_places(file, contents, axis, count) for axis, count in zip("xyz", shape, strict=True)]
        known = [one for one in along if one is not None]
        if len(known) == 3 and grid_of(known) is not None:
            return known
    return None


def _by_scales(
    file: h5py.File, contents: Hdf5Contents, step: GuessedStep, part: ArrayPart
) -> list[NDArray[Any]] | None:
    """The places along x, y and z by the scales of the dimensions of an array; None if one has none."""
    source = part.source if part.source.startswith("/") else f"{step.group}/{part.source}"
    one = contents.arrays.get(source.strip("/"))
    if one is None or part.stored.is_list or axes_of(one.dimensions, one.shape, _time_of(contents, one)) is None:
        return None
    along = []
    for d, count in zip(part.axes, part.stored.shape, strict=True):
        names = one.dimensions[d].scales if d >= 0 else ()
        fitting = [name for name in names if name in contents.arrays and contents.arrays[name].shape == (count,)]
        name = fitting[0] if fitting else None
        if name is None and d >= 0:
            return None
        try:
            along.append(np.zeros(1) if name is None else contents.arrays[name].read(file))
        except FAULTS:
            return None
    return along


def _time_of(contents: Hdf5Contents, one: Array) -> int:
    """The dimension of the time of an array; -1 if it has no time."""
    return next((d for d, dimension in enumerate(one.dimensions) if contents.is_time(dimension)), -1)


def _places(file: h5py.File, contents: Hdf5Contents, axis: str, count: int) -> NDArray[Any] | None:
    names = [axis, axis.upper(), f"{axis}c", f"{axis}_coord", f"{axis}coords", f"coord_{axis}"]
    for name, one in contents.arrays.items():
        if name.rsplit("/", 1)[-1] in names and one.shape == (count,) and count <= _MOST_POINTS:
            try:
                return one.read(file)
            except FAULTS:
                return None
    return np.zeros(1) if count == 1 else None
