"""Steps by the openPMD standard, https://github.com/openPMD/openPMD-standard (versions 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import h5py

from tailrace.grids import UniformGrid, triple
from tailrace.io.values import Attribute, Scalar

from .decoding import Decoding
from .guess import Guess, GuessedStep
from .hdf5_contents import Array, Hdf5Contents
from .parts import ArrayPart, LayoutMaker, parts_of

SAID = "values, places and times are in units of the SI: times unitSI, gridUnitSI and timeUnitSI"


def openpmd_steps(_file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    """The iterations of an openPMD file."""
    root = contents.attributes[""]
    version = root.get("openPMD")
    if not isinstance(version, str):
        return None
    base = base_of(root)
    numbers = {
        int(name): group
        for group in contents.attributes
        if group.rpartition("/")[0] == base and (name := group.rpartition("/")[2]).isdecimal() and len(name) < 18
    }
    if not numbers:
        return None
    steps = [iteration(contents, numbers[number], number) for number in sorted(numbers)]
    note = f"openPMD {version}: the iterations in '/{base}' are the steps; {SAID}"
    return Guess(steps, note, grid_of(contents, steps))


def base_of(root: Mapping[str, Attribute]) -> str:
    """The group of the iterations."""
    return str(root.get("basePath", "/data/%T/")).split("%T")[0].strip("/")


def _meshes_of(contents: Hdf5Contents) -> str:
    return str(contents.attributes[""].get("meshesPath", "meshes/")).strip("/")


def iteration(contents: Hdf5Contents, group: str, number: int) -> GuessedStep:
    """The step that a group is. Its time is its number if it tells none."""
    about, meshes = contents.attributes.get(group, {}), _meshes_of(contents)
    time, unit = about.get("time"), about.get("timeUnitSI", 1.0)
    known = isinstance(time, int | float) and isinstance(unit, int | float)
    made = LayoutMaker()
    for name, one in contents.below(group).items():
        _add(made, contents, name, one, meshes)
    vectors = {}
    for name in made.parts:
        x, y, z = (f"{name[:-1]}{axis}" for axis in "xyz")
        if name == x and len(name) > 2 and name[-2] == "_" and y in made.parts and z in made.parts:
            vectors[name[:-2]] = (x, y, z)
    made.vectors |= vectors
    scalars = _constants(contents, group, meshes)
    return GuessedStep(number, float(time) * float(unit) if known else float(number), group, made, scalars)  # type: ignore[arg-type]


def _add(made: LayoutMaker, contents: Hdf5Contents, name: str, one: Array, meshes: str) -> None:
    inner = name.removeprefix(f"{meshes}/") if name.startswith(f"{meshes}/") else None
    ours = (inner if inner is not None else name.removeprefix("particles/")).replace("/", "_")
    unit = contents.attributes.get(one.name, {}).get("unitSI", 1.0)
    scaled = isinstance(unit, int | float) and math.isfinite(unit) and unit not in (0, 1) and one.dtype.kind in "fiu"
    decoding = Decoding(scale=float(unit)) if scaled else one.decoding  # type: ignore[arg-type] # a number
    labels, axes = _labels(contents, one.name) if inner is not None else None, None
    if labels is not None and len(labels) == len(one.shape) <= 3:
        found = triple(labels.index(axis) if axis in labels else -1 for axis in "xyz")
        axes = found if sorted(d for d in found if d >= 0) == list(range(len(one.shape))) else None
    made.add(ours, parts_of(name, one.dtype, one.shape, axes=axes, decoding=decoding))


def _labels(contents: Hdf5Contents, name: str) -> list[str] | None:
    """The axes of a mesh, the slowest first. The attributes are those of its record, a group or a dataset."""
    for place in (name, name.rpartition("/")[0]):
        about = contents.attributes.get(place, {})
        labels = about.get("axisLabels")
        if isinstance(labels, str | list):
            found = [str(one).strip() for one in ([labels] if isinstance(labels, str) else labels)]
            return found[::-1] if about.get("dataOrder") == "F" else found
    return None


def _constants(contents: Hdf5Contents, group: str, meshes: str) -> dict[str, Scalar]:
    """Records with one value everywhere, which openPMD stores as an attribute."""
    found: dict[str, Scalar] = {}
    for name, about in contents.attributes.items():
        value: Attribute | None = about.get("value")
        if name.startswith(f"{group}/") and "shape" in about and isinstance(value, int | float | str):
            short = name[len(group) + 1 :].removeprefix(f"{meshes}/").removeprefix("particles/")
            unit = about.get("unitSI", 1.0)
            scaled = isinstance(value, int | float) and isinstance(unit, int | float) and math.isfinite(unit)
            found[short] = value * unit if scaled and unit not in (0, 1) else value  # type: ignore[operator]
    return found


def grid_of(contents: Hdf5Contents, steps: list[GuessedStep]) -> UniformGrid | None:
    """The grid of the first three-dimensional mesh with known spacing."""
    meshes = _meshes_of(contents)
    for name, part in steps[0].made.parts.items():
        whole = f"{steps[0].group}/{part.source}"
        if part.stored.is_list or not part.source.startswith(f"{meshes}/") or name.count("/"):
            continue
        for place in (whole, whole.rpartition("/")[0]):
            about = contents.attributes.get(place, {})
            labels = _labels(contents, place)
            spacing = _along(about.get("gridSpacing"), part, about, labels)
            origin = _along(about.get("gridGlobalOffset"), part, about, labels)
            if spacing and origin and min(spacing) > 0:
                unit = about.get("gridUnitSI", 1.0)
                scale = float(unit) if isinstance(unit, int | float) and unit > 0 else 1.0
                at, step = [scale * one for one in origin], [scale * one for one in spacing]
                return UniformGrid(part.stored.shape, (at[0], at[1], at[2]), (step[0], step[1], step[2]))
    return None


def _along(values: Any, part: ArrayPart, about: dict[str, Attribute], labels: list[str] | None) -> list[float] | None:
    """Numbers in the order of the labels of the mesh along x, y, z."""
    numbers = [values] if isinstance(values, int | float) else values
    if not isinstance(numbers, list) or len(numbers) != len(part.shape):
        return None
    if about.get("dataOrder") == "F" and labels is not None:
        numbers = numbers[::-1]
    return [float(numbers[d]) if d >= 0 else 1.0 for d in part.axes]
