"""Steps by VTKHDF, the format of VTK and ParaView (versions 1 and 2).

https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.hdf5_file import FAULTS
from tailrace.grids import UniformGrid, triple
from tailrace.io.placement import Stored
from tailrace.text import counted

from .guess import Guess, GuessedStep, add_arrays
from .hdf5_contents import Array, Hdf5Contents
from .parts import ArrayPart, LayoutMaker, parts_of

_ROOT = "VTKHDF"
_STRAIGHT = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]  # Direction of a grid whose axes are x, y and z
_MOST = 1 << 24  # entries of the lists that describe steps and pieces
_CELLS = ("Vertices", "Lines", "Polygons", "Strips")  # of PolyData


def vtkhdf_steps(file: h5py.File, contents: Hdf5Contents) -> Guess | None:
    """The steps of a VTKHDF file."""
    about = contents.attributes.get(_ROOT)
    if about is None or "Type" not in about:
        return None
    kind, group = str(about["Type"]), file[_ROOT]
    times = _times(contents, group)
    note = f"VTKHDF, {kind}: " + (
        "it has no steps of time" if times is None else f"{counted(len(times), 'step')} of time"
    )
    if kind == "ImageData":
        steps = [_image(contents, group, s, time) for s, time in enumerate(times or [0.0])]
        turned = about.get("Direction", _STRAIGHT) != _STRAIGHT
        notes = ["its Direction turns the grid, which is not read: the places of the points are not known"] * turned
        return Guess(steps, note, None if turned else _image_grid(about), notes=[*notes, *_field_data(contents)])
    if kind in ("UnstructuredGrid", "PolyData"):
        if times is None:
            return Guess([GuessedStep(0, 0.0, "", _lists(contents))], note, notes=_field_data(contents))
        rows = [_Rows(contents, group, kind, s).step(time) for s, time in enumerate(times)]
        return Guess(rows, note, notes=_field_data(contents))
    made = add_arrays(LayoutMaker(), contents.below(_ROOT), absolute=True)
    return Guess([GuessedStep(0, 0.0, "", made)], f"{note}; its parts are read as they are stored, all as one step")


def _field_data(contents: Hdf5Contents) -> list[str]:
    """A note on what belongs to the whole, and is not read."""
    names = sorted(contents.below(f"{_ROOT}/FieldData"))
    return [f"FieldData is left out: {', '.join(names[:8])}"] if names else []


def _times(contents: Hdf5Contents, group: h5py.Group) -> list[float] | None:
    values = contents.arrays.get(f"{_ROOT}/Steps/Values")
    if values is None or len(values.shape) != 1 or values.shape[0] == 0:
        return None
    return [float(one) for one in _numbers(group, "Steps/Values")]


def _numbers(group: h5py.Group, name: str) -> NDArray[Any]:
    """A list of numbers that describes other lists; empty if it is missing.

    :raises IoError: it is too long, or cannot be read.
    """
    if name not in group:
        return np.empty(0, np.int64)
    found = group[name]
    if not isinstance(found, h5py.Dataset) or found.size is None or found.size > _MOST or found.dtype.kind not in "iuf":
        raise IoError(f"{group.file.filename}: '{_ROOT}/{name}': expected at most {_MOST} numbers")
    try:
        values: NDArray[Any] = found[()]
    except FAULTS as error:
        raise IoError(f"{group.file.filename}: '{_ROOT}/{name}' cannot be read: {error}") from None
    return values


def _data(contents: Hdf5Contents) -> dict[str, Array]:
    points = contents.below(f"{_ROOT}/PointData")
    cells = contents.below(f"{_ROOT}/CellData")
    return points | {(f"{name}_cells" if name in points else name): one for name, one in cells.items()}


# ---- ImageData -------------------------------------------------------------------------------------------------------
def _image(contents: Hdf5Contents, group: h5py.Group, step: int, time: float) -> GuessedStep:
    made = LayoutMaker()
    temporal = f"{_ROOT}/Steps" in contents.attributes
    for name, one in _data(contents).items():
        parts: dict[str, ArrayPart] | str = _image_parts(one)
        offsets = _numbers(group, f"Steps/{one.name.split('/')[1]}Offsets/{one.name.rsplit('/', 1)[-1]}")
        if temporal and len(one.shape) >= 4 and not isinstance(inner := _image_parts(one, 1), str):
            at = int(offsets[step]) if step < len(offsets) else step
            if not 0 <= at < one.shape[0]:
                parts = f"'{one.name}' has {one.shape[0]} entries, and some steps are said to be others: left out there"
            else:
                parts = {key: part.behind(0, at, one.shape) for key, part in inner.items()}
        made.add(name, parts)
    return GuessedStep(step, time, "", made)


def _image_parts(one: Array, before: int = 0) -> dict[str, ArrayPart] | str:
    """The parts of an array of an image: three dimensions z, y, x, then perhaps one of components."""
    shape = one.shape[before:]
    if len(shape) != 4:
        return parts_of(f"/{one.name}", one.dtype, shape)
    single = parts_of(f"/{one.name}", one.dtype, shape[:3])
    if isinstance(single, str) or shape[3] > 64:
        return single if isinstance(single, str) else parts_of(f"/{one.name}", one.dtype, shape)
    names = ["_x", "_y", "_z"] if shape[3] == 3 else [f"_{c}" for c in range(shape[3])]
    return {name: replace(single[""], shape=shape, fixed=((3, c),)) for c, name in enumerate(names)}


def _image_grid(about: dict[str, Any]) -> UniformGrid | None:
    extent, origin, spacing = (about.get(name) for name in ("WholeExtent", "Origin", "Spacing"))
    if not (isinstance(extent, list) and len(extent) == 6):
        return None
    low, points = extent[0::2], triple(b - a + 1 for a, b in zip(extent[0::2], extent[1::2], strict=True))
    ours = [list(map(float, one)) if isinstance(one, list) and len(one) == 3 else None for one in (origin, spacing)]
    at, step = ours[0] or [0.0] * 3, ours[1] or [1.0] * 3
    if min(points) < 1 or min(step) <= 0:
        return None
    x, y, z = (a + n * h for a, n, h in zip(at, low, step, strict=True))
    return UniformGrid(points, (x, y, z), (step[0], step[1], step[2]))


# ---- UnstructuredGrid and PolyData -----------------------------------------------------------------------------------
def _lists(contents: Hdf5Contents) -> LayoutMaker:
    made = LayoutMaker()
    for name, one in (_data(contents) | _geometry(contents)).items():
        made.add(name, parts_of(f"/{one.name}", one.dtype, one.shape, as_list=True))
    return made


def _geometry(contents: Hdf5Contents) -> dict[str, Array]:
    return {
        name: one
        for name, one in contents.below(_ROOT).items()
        if name.split("/")[0] not in ("PointData", "CellData", "Steps")
    }


class _Rows:
    def __init__(self, contents: Hdf5Contents, group: h5py.Group, kind: str, step: int) -> None:
        self.contents, self.group, self.kind, self.number = contents, group, kind, step

    def step(self, time: float) -> GuessedStep:
        """The step."""
        made = LayoutMaker()
        for name, one in (_data(self.contents) | _geometry(self.contents)).items():
            rows = self._rows(one.name.removeprefix(f"{_ROOT}/"))
            if rows is None:
                made.add(name, parts_of(f"/{one.name}", one.dtype, one.shape, as_list=True))
                continue
            first, count = rows
            if first < 0 or count < 0 or first + count > one.shape[0]:
                made.notes.append(
                    f"'{one.name}' has {one.shape[0]} rows, fewer than some steps should have: it is left out there"
                )
                continue
            if not self._is_placed(one) and one.shape[0] != count:
                made.notes.append(
                    f"'{one.name}' has {one.shape[0]} rows, and no offsets in Steps say which step has which: it is "
                    "left out"
                )
                continue
            parts = parts_of(f"/{one.name}", one.dtype, one.shape, as_list=True)
            if not isinstance(parts, str) and len(one.shape) <= 2:
                old = parts[""]
                stored = Stored(old.stored.dtype, (old.stored.shape[0], count, 1), True)
                parts = {"": replace(old, stored=stored, first=first)}
            made.add(name, parts)
        return GuessedStep(self.number, time, "", made)

    def _is_placed(self, one: Array) -> bool:
        """Whether offsets say where the values of a step are, if it is an array on points or cells."""
        section, _, inner = one.name.removeprefix(f"{_ROOT}/").partition("/")
        return section not in ("PointData", "CellData") or f"Steps/{section}Offsets/{inner}" in self.group

    def _rows(self, name: str) -> tuple[int, int] | None:
        """First row and number of rows of a list in this step; None: it is the same in all steps."""
        section, _, inner = name.partition("/")
        if name == "Points":
            return self._at("Steps/PointOffsets"), self._sum("NumberOfPoints")
        if section == "PointData":
            return self._at(f"Steps/PointDataOffsets/{inner}"), self._sum("NumberOfPoints")
        if section == "CellData":
            groups = [""] if self.kind == "UnstructuredGrid" else [f"{one}/" for one in _CELLS]
            return self._at(f"Steps/CellDataOffsets/{inner}"), sum(self._sum(f"{g}NumberOfCells") for g in groups)
        column = _CELLS.index(section) if section in _CELLS else 0
        prefix, last = (f"{section}/", inner) if section in _CELLS else ("", name)
        if last == "Types":
            return self._at("Steps/CellOffsets"), self._sum("NumberOfCells")
        if last == "Offsets":  # one more for each piece
            first = self._at("Steps/CellOffsets", column) + int(self._at("Steps/PartOffsets"))
            return first, self._sum(f"{prefix}NumberOfCells") + self._pieces()[1]
        if last == "Connectivity":
            return self._at("Steps/ConnectivityIdOffsets", column), self._sum(f"{prefix}NumberOfConnectivityIds")
        if last.startswith("NumberOf"):
            return self._pieces()
        return None

    def _at(self, name: str, column: int = 0) -> int:
        values = _numbers(self.group, name)
        if values.ndim == 2 and column < values.shape[1]:
            values = values[:, column]
        return int(values[self.number]) if values.ndim == 1 and self.number < len(values) else 0

    def _pieces(self) -> tuple[int, int]:
        counts = _numbers(self.group, "Steps/NumberOfParts")
        known = counts.ndim == 1 and self.number < len(counts)
        return self._at("Steps/PartOffsets"), int(counts[self.number]) if known else 1

    def _sum(self, name: str) -> int:
        first, count = self._pieces()
        return int(sum(int(one) for one in _numbers(self.group, name).reshape(-1)[first : first + count]))
