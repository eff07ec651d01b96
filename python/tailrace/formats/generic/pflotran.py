"""Steps of PFLOTRAN's HDF5 files: a group "Time:  1.00000E+00 y" for each, and arrays whose first dimension is x.

https://documentation.pflotran.org (Output).
"""

from __future__ import annotations

import re
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.formats.hdf5_file import FAULTS

from .axes import grid_of
from .guess import Guess, GuessedStep
from .hdf5_contents import Array, Hdf5Contents
from .parts import ArrayPart, LayoutMaker, parts_of

_GROUP = re.compile(r"Time:?\s+([-+]?[\d.]+(?:[EeDd][-+]?\d+)?)\s*(\w*)")
_UNIT = re.compile(r"(.*?)\s*\[(.*)\]")  # "Liquid_Pressure [Pa]"
_MOST = 1 << 20  # faces of a direction


def pflotran_steps(file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    """The groups of times at the root, if there are coordinates in the root or beside them."""
    groups = {name: match for name in contents.attributes if "/" not in name and (match := _GROUP.fullmatch(name))}
    along = _centres(file, contents)
    if not groups or along is None:
        return None
    order = sorted(groups, key=lambda name: float(groups[name][1].lower().replace("d", "e")))
    units = {groups[name][2] for name in order}
    steps = []
    for number, group in enumerate(order):
        made = LayoutMaker()
        for name, one in contents.below(group).items():
            made.add(_named(contents, one, name), _parts(name, one, tuple(map(len, along))))
        time = float(groups[group][1].lower().replace("d", "e"))
        steps.append(GuessedStep(number, time, group, made, contents.scalars_below(group)))
    unit = f" in the unit '{units.pop()}'" if len(units) == 1 and units != {""} else ""
    found = Guess(steps, f"PFLOTRAN: the groups of times are the steps{unit}; values are at the centres of cells")
    found.grid = grid_of(along)
    found.places = tuple(along) if found.grid is not None else None
    return found


def _named(contents: Hdf5Contents, one: Array, name: str) -> str:
    """The name without its unit, which becomes an attribute."""
    match = _UNIT.fullmatch(name)
    if match is None:
        return name
    contents.attributes.setdefault(one.name, {}).setdefault("units", match[2])
    return match[1]


def _parts(name: str, one: Array, points: tuple[int, ...]) -> dict[str, ArrayPart] | str:
    axes = (0, 1, 2) if one.shape == points else None
    return parts_of(name, one.dtype, one.shape, axes=axes, decoding=one.decoding)


def _centres(file: h5py.File, contents: Hdf5Contents) -> list[NDArray[Any]] | None:
    along = []
    for axis in "XYZ":
        names = [name for name in contents.arrays if re.fullmatch(rf"Coordinates/{axis}(?: \[.*\])?", name)]
        shape = contents.arrays[names[0]].shape if names else ()
        if len(shape) != 1 or not 2 <= shape[0] <= _MOST:
            return None
        try:
            faces = np.asarray(file[names[0]][:], float)
        except FAULTS:
            return None
        along.append(0.5 * (faces[1:] + faces[:-1]))
    return along
