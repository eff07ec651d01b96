"""A step in one file of VTK: a text that describes the arrays, and behind it their values as they are in memory.

All is known before the first value, so each rank writes its boxes into their places. No library that we found does
that: VTK's own writers and those of meshio and pyevtk need all of a piece in memory, and then a file for each rank.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from tailrace.core import InputError
from tailrace.formats.flat_array import FlatArray
from tailrace.grids import Triple, UniformGrid, triple
from tailrace.io.placement import Stored

TYPES = {
    "float64": "Float64", "float32": "Float32", "int64": "Int64", "int32": "Int32", "int16": "Int16", "int8": "Int8",
    "uint64": "UInt64", "uint32": "UInt32", "uint16": "UInt16", "uint8": "UInt8",
}  # fmt: skip
ORDER = "<" if sys.byteorder == "little" else ">"
INDEX, TIME = "TimeIndex", "TimeValue"  # of a step; VTK knows the second one
_COUNT = np.dtype(f"{ORDER}u8")  # the number of bytes before each array
_ALIGNED = 64  # arrays begin at multiples of so many bytes
_ENDINGS = (("_x", "_y", "_z"), ("_1", "_2", "_3"), ("x", "y", "z"))


def vectors_of(variables: Mapping[str, Stored]) -> dict[str, tuple[str, str, str]]:
    """The vectors that three arrays form, under the names that hdf5 series give them (io/data/vectors.hpp)."""
    found: dict[str, tuple[str, str, str]] = {}
    for first in variables:
        ending = next((one for one in _ENDINGS if first.endswith(one[0]) and first != one[0]), None)
        if ending is None:
            continue
        base = first.removesuffix(ending[0])
        parts = base + ending[0], base + ending[1], base + ending[2]
        alike = {variables.get(part) for part in parts}
        longer = ending[0] == "_1" and f"{base}_4" in variables
        name = "velocity" if base == "u" else f"{base}_vector"
        if len(alike) == 1 and not variables[first].is_list and not longer and name not in variables:
            found[name] = parts
    return found


@dataclass(frozen=True)
class Layout:
    """Where the arrays of a step lie in its file.

    :param arrays: of each variable; a list is an array (columns, rows, 1).
    :param vectors: of each vector an array whose first direction has three components for each point.
    """

    text: bytes
    arrays: dict[str, FlatArray]
    vectors: dict[str, FlatArray]
    parts: dict[str, tuple[str, str, str]]
    end: int


class _Appended:
    """The arrays behind the text, one after another."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[int, Triple, str]] = {}
        self._end = 0

    def element(self, name: str, dtype: str, shape: Triple, components: int = 1, rows: int | None = None) -> str:
        """The element that describes a new array; its values begin at its offset, behind their number of bytes."""
        offset = -(-(self._end + _COUNT.itemsize) // _ALIGNED) * _ALIGNED - _COUNT.itemsize
        stored = triple((shape[0] * components, *shape[1:]))
        self.places[name] = (offset + _COUNT.itemsize, stored, ORDER + np.dtype(dtype).str[1:])
        self._end = offset + _COUNT.itemsize + int(np.prod(stored, dtype=object)) * np.dtype(dtype).itemsize
        columns = f' NumberOfComponents="{shape[0] if rows is not None else components}"'
        tuples = f' NumberOfTuples="{rows}"' if rows is not None else ""
        return (
            f'<DataArray type="{TYPES[dtype]}" Name={quoteattr(name)}{columns}{tuples} format="appended" '
            f'offset="{offset}"/>'
        )


def layout_of(path: Path, grid: UniformGrid, variables: Mapping[str, Stored], *, index: int, time: float) -> Layout:
    """The layout of a step.

    :raises InputError: a variable is neither on the points of the grid nor on its cells, and is no list.
    """
    appended = _Appended()
    cells = triple(max(1, n - 1) for n in grid.points)
    sections: dict[str, list[str]] = {"FieldData": _numbers(index, time), "PointData": [], "CellData": []}
    parts = vectors_of({name: one for name, one in variables.items() if one.shape == grid.points})
    for name, (dtype, shape, is_list) in variables.items():
        if is_list:
            sections["FieldData"].append(appended.element(name, dtype, shape, rows=shape[1]))
        elif shape in (grid.points, cells):
            section = "PointData" if shape == grid.points else "CellData"
            sections[section].append(appended.element(name, dtype, shape))
        else:
            raise InputError(
                f"variable {name!r}: has {shape} values; a file of VTK has arrays on the {grid.points} points of the "
                f"grid, and on its {cells} cells. To fix this, leave it out (--variables)"
            )
    for name, (first, *_) in parts.items():
        sections["PointData"].append(appended.element(name, variables[first].dtype, grid.points, components=3))
    text = _text(grid, sections)
    base = len(text)
    arrays = {name: FlatArray(path, base + at, shape, dtype) for name, (at, shape, dtype) in appended.places.items()}
    vectors = {name: arrays.pop(name) for name in parts}
    return Layout(text, arrays, vectors, parts, max([base, *(one.end for one in (arrays | vectors).values())]))


def _numbers(index: int, time: float) -> list[str]:
    one = '<DataArray type="{}" Name="{}" NumberOfTuples="1" format="ascii">{!r}</DataArray>'
    return [one.format("Float64", TIME, time), one.format("Int64", INDEX, index)]


def _text(grid: UniformGrid, sections: Mapping[str, Sequence[str]]) -> bytes:
    """The text before the values, of a multiple of `_ALIGNED` bytes."""
    extent = " ".join(f"0 {n - 1}" for n in grid.points)
    stretched = any(map(len, grid.uneven))
    kind = "RectilinearGrid" if stretched else "ImageData"
    origin, spacing = (" ".join(map(repr, map(float, three))) for three in (grid.origin, grid.spacing))
    place = "" if stretched else f' Origin="{origin}" Spacing="{spacing}"'
    order = "LittleEndian" if ORDER == "<" else "BigEndian"
    rows = ['<?xml version="1.0"?>']
    rows += [f'<VTKFile type="{kind}" version="1.0" byte_order="{order}" header_type="UInt64">']
    rows += [f'<{kind} WholeExtent="{extent}"{place}>', "<FieldData>", *sections["FieldData"], "</FieldData>"]
    rows += [f'<Piece Extent="{extent}">']
    for section in ("PointData", "CellData"):
        rows += [f"<{section}>", *sections[section], f"</{section}>"]
    if stretched:
        rows.append("<Coordinates>")
        for name, n, start, step, uneven in zip(
            "xyz", grid.points, grid.origin, grid.spacing, grid.uneven, strict=True
        ):
            places = uneven or [start + step * i for i in range(n)]
            words = " ".join(map(repr, map(float, places)))
            rows.append(f'<DataArray type="Float64" Name="{name}" format="ascii">{words}</DataArray>')
        rows.append("</Coordinates>")
    rows += ["</Piece>", f"</{kind}>"]
    text, last = "\n".join(rows).encode() + b"\n", b'<AppendedData encoding="raw">_'
    return text + b" " * (-(len(text) + len(last)) % _ALIGNED) + last


def counts(layout: Layout) -> list[tuple[int, bytes]]:
    """(offset, bytes) of what lies between the arrays, and behind them."""
    every = [*layout.arrays.values(), *layout.vectors.values()]
    before = [(one.offset - _COUNT.itemsize, np.array(one.end - one.offset, _COUNT).tobytes()) for one in every]
    return [(0, layout.text), *before, (layout.end, b"\n</AppendedData>\n</VTKFile>\n")]
