"""Read VTK's XML files whose values follow the text as they are: those that we write, and what VTK writes so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.file_bytes import head
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.xml_text import parse_xml, xml_of
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from .layout import INDEX, TIME, TYPES

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FEW, _MOST = 1 << 16, 64 << 20  # bytes of a text
_MOST_VALUES = 1 << 40
_DTYPES = {theirs: ours for ours, theirs in TYPES.items()}
_APPENDED = re.compile(rb"<AppendedData[^>]*>\s*_")
_KINDS = ("ImageData", "RectilinearGrid")


class VtkSteps(Dataset):
    """The steps of a collection, or one file as one step."""

    format = "vtk"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        root = parse_xml(path, _MOST) if path.suffix == ".pvd" else None
        files: list[tuple[float | None, Path]] = [(None, path)]
        if root is not None:
            files = [(_real(path, one, "timestep"), _beside(path, one)) for one in root.iter("DataSet")]
        self.files = [str(path)]
        self._arrays: list[dict[str, FlatArray]] = []
        self._lists: list[frozenset[str]] = []
        for number, (time, file) in enumerate(files):
            step = _File(file)
            index = int(step.numbers.get(INDEX, number))
            self.steps.append((index, step.numbers.get(TIME, float(number)) if time is None else time))
            self._arrays.append(step.arrays)
            self._lists.append(step.lists)
            self.notes += [note for note in step.notes if note not in self.notes]
            self.grid = self.grid or step.grid
            if file != path:
                self.files.append(str(file))

    def variables(self, position: int) -> dict[str, Stored]:
        """Types and shapes."""
        lists = self._lists[position]
        return {
            name: Stored(np.dtype(one.dtype).name, one.shape, name in lists)
            for name, one in self._arrays[position].items()
        }

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable."""
        try:
            self._arrays[position][name].read(box, out)
        except OSError as error:
            raise IoError(f"{self.path}: {name} cannot be read: {error}") from None


class _File:
    """What one file has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        for most in (_FEW, _MOST):  # most texts are short, and all behind them are values
            found = _APPENDED.search(text := head(path, most))
            if found is not None:
                break
        if found is None:
            raise self._unknown("no <AppendedData>")
        root = xml_of(path, text[: found.end() - 1] + b"</AppendedData></VTKFile>")
        kind = root.get("type", "")
        grid = root.find(kind) if kind in _KINDS else None
        pieces = [] if grid is None else grid.findall("Piece")
        if grid is None or len(pieces) != 1 or b'"raw"' not in found[0] or root.get("header_type") != "UInt64":
            raise self._unknown(f"type {kind[:40]!r} with {len(pieces)} pieces, {found[0][:60].decode('latin-1')!r}")
        if root.get("compressor"):
            raise self._unknown("compressed values")
        self._begin = found.end()
        self._order = "<" if root.get("byte_order") == "LittleEndian" else ">"
        self.arrays: dict[str, FlatArray] = {}
        self.numbers: dict[str, float] = {}
        self.notes: list[str] = []
        self.points = self._points(pieces[0])
        self.grid = self._grid(grid, pieces[0])
        cells = triple(max(1, n - 1) for n in self.points)
        for section, shape in (("PointData", self.points), ("CellData", cells)):
            for one in pieces[0].iterfind(f"{section}/DataArray"):
                self._add(one, shape)
        before = set(self.arrays)
        for one in grid.iterfind("FieldData/DataArray"):
            self._add_field(one)
        self.lists = frozenset(set(self.arrays) - before)

    def _unknown(self, found: str) -> IoError:
        return IoError(
            f"{self._path}: expected a file of VTK of one piece, ImageData or RectilinearGrid, whose values are "
            f'appended as they are (encoding="raw", header_type="UInt64", no compressor); found {found}'
        )

    def _points(self, piece: Element) -> Triple:
        words = piece.get("Extent", "").split()
        if len(words) != 6 or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
            raise self._unknown(f"Extent {piece.get('Extent', '')[:60]!r}")
        ends = [int(word) for word in words]
        points = triple(last - first + 1 for first, last in zip(ends[::2], ends[1::2], strict=True))
        if min(points) < 1 or int(np.prod(points, dtype=object)) > _MOST_VALUES:
            raise self._unknown(f"{points} points")
        return points

    def _grid(self, grid: Element, piece: Element) -> UniformGrid:
        if grid.tag == "ImageData":
            origin, spacing = (self._three(grid.get(name, "")) for name in ("Origin", "Spacing"))
            return UniformGrid(self.points, origin, spacing)
        places = [self._reals(one.text or "") for one in piece.iterfind("Coordinates/DataArray[@format='ascii']")]
        if [len(one) for one in places] != list(self.points):
            raise self._unknown("coordinates that are not a text with a number for each point")
        starts, steps = triple_of([p[0] for p in places]), [(p[-1] - p[0]) / max(1, len(p) - 1) or 1.0 for p in places]
        x, y, z = map(tuple, places)
        return StretchedGrid(self.points, starts, triple_of(steps), coordinates=(x, y, z))

    def _three(self, text: str) -> tuple[float, float, float]:
        values = self._reals(text)
        if len(values) != 3:
            raise self._unknown(f"{text[:60]!r} instead of three numbers")
        return triple_of(values)

    def _reals(self, text: str) -> list[float]:
        try:
            return [float(word) for word in text.split()]
        except ValueError:
            raise self._unknown(f"{text[:60]!r} instead of numbers") from None

    def _add_field(self, one: Element) -> None:
        name, tuples = one.get("Name", ""), one.get("NumberOfTuples", "")
        if one.get("format") == "ascii" and name in (INDEX, TIME):
            self.numbers[name] = (self._reals(one.text or "") or [0.0])[0]
        elif re.fullmatch(r"\d{1,12}", tuples):
            self._add(one, (1, int(tuples), 1))
        else:
            self.notes.append(f"the field data {name[:60]!r} are left out")

    def _add(self, one: Element, shape: Triple) -> None:
        """Add an array; that of a vector whose components are there too says nothing new."""
        name, kind, offset = one.get("Name", "")[:200], one.get("type", ""), one.get("offset", "")
        width = one.get("NumberOfComponents", "1")
        if one.get("format") != "appended" or kind not in _DTYPES or not re.fullmatch(r"\d{1,18}", offset):
            self.notes.append(f"{name[:60]!r} is of type {kind[:20]!r}, or not appended: left out")
        elif not re.fullmatch(r"[1-9]\d{0,5}", width):
            self.notes.append(f"{name[:60]!r} has {width[:20]!r} components: left out")
        else:
            stored = triple((shape[0] * int(width), *shape[1:]))
            dtype = self._order + np.dtype(_DTYPES[kind]).str[1:]
            if shape != self.points or width == "1":
                self.arrays[name] = FlatArray(self._path, self._begin + int(offset) + 8, stored, dtype)
            elif name != "velocity" and not name.endswith("_vector"):
                self.notes.append(f"{name[:60]!r} has {width} components: left out")


def triple_of(values: list[float]) -> tuple[float, float, float]:
    """Three numbers as a tuple."""
    x, y, z = values
    return x, y, z


def _real(path: Path, one: Element, name: str) -> float:
    try:
        return float(one.get(name, ""))
    except ValueError:
        raise IoError(f"{path}: a <DataSet> has {name}={one.get(name, '')[:40]!r}; expected a number") from None


def _beside(path: Path, one: Element) -> Path:
    """A file that a collection names: it must lie in its directory or below."""
    name = one.get("file", "")
    base = path.parent.resolve()
    file = (base / name).resolve()
    if not name or "\0" in name or not file.is_relative_to(base) or file.suffix not in (".vti", ".vtr"):
        raise IoError(f"{path}: names the file {name[:200]!r}; expected a .vti or .vtr in {base} or below")
    return path.parent / name
