"""One XML file of VTK: its pieces, each with a part of the grid."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.grids import Triple, triple
from tailrace.io.placement import Box

from .layout import INDEX, TIME
from .tags import Tag, read_tags
from .values import COMPRESSORS, EncodedArray

_KINDS = ("ImageData", "RectilinearGrid")
_MOST_VALUES, _MOST_POINTS = 1 << 40, 1 << 24  # of a grid, and along a direction
_TYPES = {  # theirs -> NumPy's, without byte order
    "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4", "Int64": "i8",
    "Float32": "f4", "Float64": "f8",
}  # fmt: skip

Three = tuple[float, float, float]


class VtkPiece(NamedTuple):
    """A part of a grid.

    :param start: its first point in the whole, in x, y, z, from where the extents of VTK count.
    :param origin, spacing: of an image: the place of point 0, and the distance of points.
    :param places: of a rectilinear grid, those of its points.
    :param points, cells: the arrays on them, by name.
    """

    start: Triple
    shape: Triple
    origin: Three | None
    spacing: Three | None
    places: tuple[NDArray[Any], ...] | None
    points: dict[str, EncodedArray]
    cells: dict[str, EncodedArray]


class VtkFile:
    """What a .vti or .vtr file has.

    :raises IoError: it is damaged, or has another kind of grid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = path.stat().st_size
        self._tags = read_tags(path)
        root = self._tags.root
        kind = root.get("type")
        grids = list(root.all(kind)) if kind in _KINDS else []
        if root.name != "VTKFile" or len(grids) != 1:
            raise self._wrong(f"type {kind[:40]!r}")
        self._order = {"LittleEndian": "<", "BigEndian": ">"}.get(root.get("byte_order"), "<")
        self._header = self._order + ("u8" if root.get("header_type", "UInt32") == "UInt64" else "u4")
        compressor = root.get("compressor")
        if compressor not in COMPRESSORS:
            raise self._wrong(f"values packed by {compressor[:40]!r}; write them with ZLib, LZMA or not packed")
        self._compressor = COMPRESSORS[compressor]
        self.notes: list[str] = []
        self.pieces = [self._piece(grids[0], one) for one in grids[0].all("Piece")]
        if not self.pieces:
            raise self._wrong("no <Piece>")
        self.numbers: dict[str, float] = {}
        self.lists: dict[str, EncodedArray] = {}
        for one in grids[0].all("FieldData", "DataArray"):
            self._add_field(one)

    def _wrong(self, found: str) -> IoError:
        return IoError(f"{self._path}: expected a file of VTK with ImageData or a RectilinearGrid, found {found}")

    # ---- the grid ----------------------------------------------------------------------------------------------------
    def _piece(self, grid: Tag, piece: Tag) -> VtkPiece:
        start, shape = self._extent(piece.get("Extent"))
        places = origin = spacing = None
        if grid.name == "ImageData":
            origin, spacing = (self._three(grid.get(name)) for name in ("Origin", "Spacing"))
            if grid.get("Direction") and self._reals(grid.get("Direction")) != [1, 0, 0, 0, 1, 0, 0, 0, 1]:
                raise self._wrong(f"axes turned by Direction {grid.get('Direction')[:60]!r}")
        else:
            tags = list(piece.all("Coordinates", "DataArray"))
            if len(tags) != 3:
                raise self._wrong(f"{len(tags)} arrays of coordinates instead of 3")
            places = tuple(self._coordinates(one, count) for one, count in zip(tags, shape, strict=True))
        cells = triple(max(1, n - 1) for n in shape)
        arrays = (
            {one.name: one for tag in piece.all(section, "DataArray") if (one := self._array(tag, size)) is not None}
            for section, size in (("PointData", shape), ("CellData", cells))
        )
        return VtkPiece(start, shape, origin, spacing, places, *arrays)

    def _extent(self, text: str) -> tuple[Triple, Triple]:
        words = text.split()
        if len(words) != 6 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
            raise self._wrong(f"Extent {text[:60]!r}")
        ends = [int(word) for word in words]
        shape = triple(last - first + 1 for first, last in zip(ends[::2], ends[1::2], strict=True))
        if min(shape) < 1 or max(shape) > _MOST_POINTS or int(np.prod(shape, dtype=object)) > _MOST_VALUES:
            raise self._wrong(f"{shape} points")
        return triple(ends[::2]), shape

    def _coordinates(self, tag: Tag, count: int) -> NDArray[Any]:
        array = self._array(tag, (count, 1, 1))
        if array is None or array.columns != 1:
            raise self._wrong("coordinates that are no numbers")
        out = np.empty((1, 1, count))
        array.read(Box((0, 0, 0), (count, 1, 1)), 0, out)
        return out[0, 0]

    def _three(self, text: str) -> Three:
        values = self._reals(text)
        if len(values) != 3:
            raise self._wrong(f"{text[:60]!r} instead of three numbers")
        return values[0], values[1], values[2]

    def _reals(self, text: str) -> list[float]:
        try:
            return [float(word) for word in text.split()]
        except ValueError:
            raise self._wrong(f"{text[:60]!r} instead of numbers") from None

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def _add_field(self, tag: Tag) -> None:
        tuples, name = tag.get("NumberOfTuples", "1"), tag.get("Name")
        if not re.fullmatch(r"\d{1,12}", tuples):
            self.notes.append(f"the field data {name[:60]!r} are left out")
            return
        array = self._array(tag, (1, int(tuples), 1))
        if array is None or not array.size:
            return
        if name in (INDEX, TIME) and array.columns == 1:
            out = np.empty((1, 1, 1))
            array.read(Box((0, 0, 0), (1, 1, 1)), 0, out)
            self.numbers[name] = float(out[0, 0, 0])
        else:  # a row of it is a line of x
            shape = (array.columns, *array.shape[1:])
            self.lists[name] = replace(array, shape=shape, columns=1)

    def _array(self, tag: Tag, shape: Triple) -> EncodedArray | None:
        name, kind, form = tag.get("Name")[:200], tag.get("type"), tag.get("format", "ascii")
        width, offset = tag.get("NumberOfComponents", "1"), tag.get("offset")
        why = ""
        if kind not in _TYPES:
            why = f"is of type {kind[:20]!r}"
        elif not re.fullmatch(r"[1-9]\d{0,5}", width):
            why = f"has {width[:20]!r} components"
        elif form == "appended" and (self._tags.appended < 0 or not re.fullmatch(r"\d{1,18}", offset)):
            why = "is appended, and there are no appended values, or no place in them"
        elif form not in ("appended", "binary", "ascii"):
            why = f"is of format {form[:20]!r}"
        if why:
            self.notes.append(f"{name[:60]!r} {why}: it is left out")
            return None
        inline = form != "appended"
        begin = max(tag.begin, 0) if inline else self._tags.appended + int(offset)
        encoded = "base64" if form == "binary" or self._tags.is_base64 else "plain"
        found = EncodedArray(
            self._path,
            name,
            begin,
            (tag.end if tag.begin >= 0 else 0) if inline else -1,
            "ascii" if form == "ascii" else encoded,
            shape,
            int(width),
            self._order + _TYPES[kind],
            self._header,
            "" if form == "ascii" else self._compressor,
        )
        if not found.fits(self._bytes):
            x, y, z = shape
            raise self._wrong(f"{name!r} of {x} x {y} x {z} x {width} values in {self._bytes} bytes: it is damaged")
        return found
