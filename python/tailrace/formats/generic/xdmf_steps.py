"""Steps that an XDMF file describes, with their values in HDF5 files beside it: of FEniCS, meshio and others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.file_bytes import peek
from tailrace.formats.xml_text import parse_xml
from tailrace.grids import UniformGrid

from .axes import grid_of
from .hdf5_contents import Array, Hdf5Contents, contents_of
from .hdf5_values import Hdf5Values, opened
from .parts import ArrayPart, LayoutMaker, PartsDataset, parts_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MOST = 64 << 20  # bytes of XML
_MOST_PLACES = 1 << 20  # of a direction
_OPEN = 8  # HDF5 files at a time
_STRUCTURED = ("3dcorectmesh", "3drectmesh", "2dcorectmesh", "2drectmesh", "3dsmesh", "2dsmesh")


def is_xdmf_of_hdf5(path: Path) -> bool:
    """Whether a file is XDMF with arrays in HDF5."""
    return b"<Xdmf" in peek(path, 1024) and re.search(rb"Format\s*=\s*[\"']HDF", peek(path, 1 << 20)) is not None


@dataclass(frozen=True)
class _Target:
    """Where the values of an array are: a file, a dataset, and one entry of its first dimensions."""

    file: str
    name: str
    at: tuple[int, ...] = ()


class XdmfDataset(PartsDataset):
    """The steps of an XDMF file. `path`: where it is; HDF5 files must lie in its directory or below."""

    format = "xdmf-hdf5"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._base = path.parent
        self._known: dict[str, Hdf5Contents | None] = {}  # of each HDF5 file; None: it cannot be read
        self._values: dict[str, Hdf5Values] = {}
        self._recent: list[Hdf5Values] = []
        grids = self._grids(path, parse_xml(path, _MOST))
        made: dict[float, LayoutMaker] = {}
        for number, (grid, time) in enumerate(grids):
            self._add(made.setdefault(float(number) if time is None else time, LayoutMaker()), grid)
        if not any(one.parts for one in made.values()):
            raise IoError(f"{path}: names no array that can be read{': ' + self.left_out[0] if self.left_out else ''}")
        self.steps = [(number, time) for number, time in enumerate(sorted(made))]
        self._set_layouts([made[time].layout() for _, time in self.steps])
        self.timed = all(time is not None for _, time in grids)
        if not self.timed:
            self.notes.append("grids without a time: their positions stand for the times")
        self._set_grid(grids[0][0])
        self.files = [str(path), *sorted(name for name, one in self._known.items() if one is not None)]
        self.notes += list(dict.fromkeys(note for one in made.values() for note in one.notes))
        self._known = {}

    # ---- what it describes -------------------------------------------------------------------------------------------
    def _grids(self, path: Path, root: Element) -> list[tuple[Element, float | None]]:
        """The grids that have arrays, in the order of the file, each with its time or that of a grid around it."""
        found: list[tuple[Element, float | None]] = []
        waiting: list[tuple[Element, float | None]] = [(root, None)]
        while waiting:
            element, around = waiting.pop()
            inner = [one for one in element if one.tag in ("Domain", "Grid")]
            timed = inner and all(one.find("Time") is not None for one in inner)
            told = [] if timed else self._times(path, element, len(inner) or 1)
            if inner:
                times: list[float | None] = [*told] or [around] * len(inner)
                waiting += reversed(list(zip(inner, times, strict=True)))
            elif element.tag == "Grid":
                found.append((element, told[0] if told else around))
        return found

    def _times(self, path: Path, grid: Element, count: int) -> list[float]:
        """What a grid tells of the times of the `count` grids in it; nothing where it does not."""
        told = grid.find("Time")
        if told is None or (kind := told.get("TimeType", "Single").casefold()) == "range":
            return []
        item = told.find("DataItem")
        if item is None:
            try:
                return [float(told.get("Value", ""))] * count
            except ValueError:
                found = told.get("Value", "")[:40]
                raise IoError(f"{path}: a <Time> has Value={found!r}; expected a number") from None
        numbers = self._numbers(item)
        if numbers is None or numbers.ndim != 1 or numbers.dtype.kind not in "fiu":
            self.notes.append("a <Time> cannot be read as a list of numbers")
            return []
        if kind == "single" and numbers.size == 1:
            return [float(numbers[0])] * count
        if kind == "hyperslab" and numbers.size == 3 and numbers[2] == count:
            return [float(numbers[0] + numbers[1] * at) for at in range(count)]
        if kind == "hyperslab" or numbers.size != count:
            wanted = f"start, stride and the count {count}" if kind == "hyperslab" else f"{count}, one for each grid"
            raise IoError(f"{path}: a <Time> of a collection has the numbers {numbers.tolist()[:8]}; expected {wanted}")
        return [float(one) for one in numbers]

    def _add(self, made: LayoutMaker, grid: Element) -> None:
        topology = grid.find("Topology")
        kind = "" if topology is None else (topology.get("TopologyType") or topology.get("Type") or "").lower()
        as_list = bool(kind) and kind not in _STRUCTURED
        read: list[_Target] = []
        refused: list[tuple[str, Element, str]] = []
        for attribute in grid.findall("Attribute"):
            name, item = attribute.get("Name", "")[:200] or "unnamed", attribute.find("DataItem")
            if name in made.parts:
                self.left_out.append(f"'{name}' is there more than once at a time: only the first grid with it is read")
                continue
            if item is None:
                continue
            if attribute.get("Center", "Node") == "Cell" and not as_list:
                made.notes.append(f"'{name}' is on cells, whose middles are half a cell from the points")
            found = self._found(item)
            if isinstance(found, str):
                refused.append((name, item, found))
                continue
            place, array = found
            read.append(place)
            made.add(name, _parts(place, array, as_list))
        for name, item, why in refused:
            if not self._is_joined_of(item, read):
                self.left_out.append(f"'{name}' is left out: {why}")

    def _is_joined_of(self, item: Element, read: list[_Target]) -> bool:
        """Whether an item is a vector of arrays that are read by themselves."""
        if item.get("ItemType") != "Function" or not item.get("Function", "").strip().upper().startswith("JOIN"):
            return False
        parts = [self._found(part) for part in item.findall("DataItem")]
        return bool(parts) and all(not isinstance(part, str) and part[0] in read for part in parts)

    def _found(self, item: Element) -> tuple[_Target, Array] | str:
        """The dataset of an item; else the reason why it cannot be read."""
        place = _place(item)
        if isinstance(place, str):
            return place
        path = (self._base / place.file).resolve()
        if not path.is_relative_to(self._base.resolve()):
            return f"the file '{place.file}' is not in {self._base} or below"
        contents = self._contents(str(path))
        if contents is None:
            return f"the file '{place.file}' cannot be read"
        array = contents.arrays.get(place.name.strip("/"))
        if array is None:
            return f"'{place.file}' has no array '{place.name}'"
        if any(not 0 <= at < count for at, count in zip(place.at, array.shape, strict=False)):
            return f"'{place.name}' of '{place.file}' has the shape {array.shape}, and entry {place.at} is named"
        return replace(place, file=str(path)), array

    def _contents(self, path: str) -> Hdf5Contents | None:
        if path not in self._known:
            self._known[path] = None
            try:
                with opened(path) as file:
                    self._known[path] = found = contents_of(file, Path(path))
                self._values[path] = Hdf5Values(path, found.sources)
            except OSError as error:
                self.left_out.append(str(error))
        return self._known[path]

    def _set_grid(self, grid: Element) -> None:
        """The places of the points of the first grid, where they are on lines."""
        geometry = grid.find("Geometry")
        if geometry is None:
            return
        kind = (geometry.get("GeometryType") or geometry.get("Type") or "").upper()
        lists = [self._numbers(item) for item in geometry.findall("DataItem")]
        shapes = [part.stored.shape for part in self._layout(0).parts.values() if not part.stored.is_list]
        if any(one is None for one in lists) or not shapes:
            return
        if kind == "ORIGIN_DXDYDZ" and [one.size for one in lists if one is not None] == [3, 3]:
            (z, y, x), (dz, dy, dx) = (one.tolist() for one in lists if one is not None)
            if min(dx, dy, dz) > 0:
                self.grid = UniformGrid(shapes[0], (x, y, z), (dx, dy, dz))
        elif kind == "VXVYVZ" and len(lists) == 3:
            along = [one.reshape(-1) for one in lists if one is not None]
            self.grid = grid_of(along) if tuple(map(len, along)) in shapes else None
            self.places = tuple(along) if self.grid is not None else None

    def _numbers(self, item: Element) -> NDArray[Any] | None:
        """The values of a short item, in the text or in a file."""
        if item.get("Format", "XML").upper() == "XML":
            try:
                return np.array([float(word) for word in (item.text or "").split()])
            except ValueError:
                return None
        found = self._found(item)
        if isinstance(found, str) or found[0].at or len(found[1].shape) != 1 or found[1].shape[0] > _MOST_PLACES:
            return None
        values = np.empty(found[1].shape, found[1].dtype)
        self._values[found[0].file].fetch(found[0].name, [0], values)
        return values

    # ---- its values --------------------------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        """Without the list of open files."""
        return self.__dict__ | {"_recent": []}

    def _fetch(self, position: int, part: ArrayPart, start: list[int], values: NDArray[Any]) -> None:
        file, _, name = part.source.rpartition(":")
        one = self._values[file]
        if one in self._recent:
            self._recent.remove(one)
        self._recent.append(one)
        if len(self._recent) > _OPEN:
            self._recent.pop(0).close()
        one.fetch(name, start, values)

    def close(self) -> None:
        """See `Dataset`."""
        for one in self._recent:
            one.close()
        self._recent = []


def _place(item: Element) -> _Target | str:
    """Where the values of an item are; else why it is not read."""
    if item.get("ItemType", "Uniform") == "HyperSlab":
        return _slab(item)
    if item.get("ItemType", "Uniform") != "Uniform" or item.get("Format", "").upper() != "HDF":
        return f"its values are of ItemType={item.get('ItemType', '')[:20]!r}, Format={item.get('Format', '')[:20]!r}"
    file, colon, name = (item.text or "").strip().rpartition(":")
    return (
        _Target(file, name) if file and colon and "\0" not in file else f"it names '{(item.text or '')[:80].strip()}'"
    )


def _slab(item: Element) -> _Target | str:
    """One entry of the first dimensions of a dataset, all of the others: what writers of time steps select."""
    items = item.findall("DataItem")
    place = _place(items[1]) if len(items) == 2 else "a HyperSlab without a selection and a source"
    if isinstance(place, str):
        return place
    words = list(_whole_numbers(items[0].text or ""))
    rank = len(words) // 3
    shape = list(_whole_numbers(items[1].get("Dimensions", "")))
    start, stride, count = words[:rank], words[rank : 2 * rank], words[2 * rank :]
    if not rank or len(words) != 3 * rank or len(shape) != rank:
        return "the selection of its HyperSlab does not fit its source"
    single = next((d for d in range(rank) if count[d] != 1 or shape[d] == 1), rank)
    whole = all(start[d] == 0 and stride[d] == 1 and count[d] == shape[d] for d in range(single, rank))
    return replace(place, at=tuple(start[:single])) if whole else "its HyperSlab takes a part of an array"


def _whole_numbers(text: str) -> Iterator[int]:
    return (int(word) for word in text.split() if word.isdecimal() and len(word) < 19)


def _parts(place: _Target, array: Array, as_list: bool) -> dict[str, ArrayPart] | str:
    inner = array.shape[len(place.at) :]
    parts = parts_of(f"{place.file}:{place.name}", array.dtype, inner, as_list=as_list, decoding=array.decoding)
    if isinstance(parts, str):
        return parts
    for d, at in enumerate(place.at):
        parts = {key: part.behind(d, at, (*array.shape[: d + 1], *inner)) for key, part in parts.items()}
    return parts


def dataset_at(path: Path) -> XdmfDataset | None:
    """The dataset of an XDMF file with values in HDF5; None for other files."""
    return XdmfDataset(path) if path.is_file() and is_xdmf_of_hdf5(path) else None
