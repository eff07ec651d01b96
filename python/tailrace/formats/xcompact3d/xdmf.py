"""XDMF files of snapshots: the grid and the headerless files of one or several steps."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import IoError
from tailrace.formats.file_bytes import peek
from tailrace.formats.flat_array import FlatArray
from tailrace.formats.xml_text import parse_xml
from tailrace.grids import StretchedGrid, Triple, UniformGrid, triple

from .arrays import FlatDataset, known_aliases, size_of
from .run import MOST_POINTS, Xcompact3dRun

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MOST_BYTES = 16 << 20
_TIME = re.compile(rb"<Time\s+Value=\"([-+.\deE]{1,40})\"\s*/>")
_REALS = {("float", 4): "f4", ("float", 8): "f8", ("int", 4): "i4", ("int", 8): "i8"}
_ORDERS = {"little": "<", "big": ">", "native": "="}


def is_xdmf(path: Path) -> bool:
    """Whether a file is XDMF with headerless arrays."""
    return b"<Xdmf" in peek(path, 1024) and b'Format="Binary"' in peek(path, 1 << 20)


def time_in(path: Path) -> float | None:
    """The time in a snapshot's XDMF file; None if it has none."""
    match = _TIME.search(peek(path, 1 << 20))
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


class XdmfSnapshots(FlatDataset):
    """The steps that an XDMF file with headerless arrays describes.

    :param run: the run, if it is known; files of Xcompact3D have no times and no boundaries.
    """

    def __init__(self, path: Path, run: Xcompact3dRun | None) -> None:
        super().__init__(str(path))
        self._where = path
        domain = _root(path).find("Domain")
        if domain is None:
            raise IoError(f"{path}: has no <Domain>; expected the XDMF file of a snapshot")
        grids = [grid for grid in domain.iter("Grid") if grid.get("GridType", "Uniform") == "Uniform"]
        if not grids:
            raise IoError(f'{path}: has no <Grid GridType="Uniform">; expected one for each step')
        self._arrays: list[dict[str, FlatArray]] = []
        for at, grid in enumerate(grids):
            self._add(domain, grid, at, run)
        first = _referred(domain, grids[0], "Geometry")
        self.grid = _grid(path, first, self._points)
        self._add_run(run)
        self.aliases = known_aliases(self._arrays)
        self.files = [str(path), *sorted({str(array.path) for step in self._arrays for array in step.values()})]

    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays of a step."""
        for array in self._arrays[position].values():
            self._check_size(array)
        return self._arrays[position]

    def _add(self, domain: Element, grid: Element, at: int, run: Xcompact3dRun | None) -> None:
        topology = _referred(domain, grid, "Topology")
        points = _dimensions(self._where, topology)
        if at == 0:
            self._points = points
        name = grid.get("Name", "")
        number = int(name) if re.fullmatch(r"\d{1,12}", name) else at
        index, time = run.step(number) if run else (number, float(number))
        stated = grid.find("Time")
        if stated is not None:
            time = _number(self._where, stated.get("Value", ""))
        elif run is None and at == 0:
            self.notes.append(f"{self._where}: has no times, and there is no input.i3d with it: numbers are taken")
        self.steps.append((index, time))
        arrays: dict[str, FlatArray] = {}
        for attribute in grid.iter("Attribute"):
            item = attribute.find("DataItem")
            if item is not None and item.get("ItemType") == "Function":
                continue  # made of arrays that are here too, such as the vector of three components
            if item is not None and item.get("Format") == "Binary":
                arrays[attribute.get("Name", "")[:200] or f"field{len(arrays)}"] = _array(self._where, item)
            else:
                self.notes.append(
                    f"{self._where}: {attribute.get('Name', '')[:60]!r} is not in a headerless file: left out"
                )
        if not arrays:
            raise IoError(f'{self._where}: step {name[:40]!r} has no headerless arrays (Format="Binary")')
        self._arrays.append(self._there(arrays))

    def _there(self, arrays: dict[str, FlatArray]) -> dict[str, FlatArray]:
        """The arrays whose files are whole; the others are told, and cost the step nothing more.

        :raises IoError: no file is.
        """
        kept, why = {}, []
        for name, array in arrays.items():
            try:
                self._check_size(array)
                kept[name] = array
            except IoError as error:
                why.append(f"{error}: '{name}' is left out")
        if not kept:
            raise IoError(why[0])
        self.left_out += why
        return kept

    def _check_size(self, array: FlatArray) -> None:
        size = size_of(array.path)
        if size < array.end:
            raise IoError(
                f"{array.path}: has {size} bytes; expected {array.end} at least, from {self._where}: it is cut off"
            )

    def _add_run(self, run: Xcompact3dRun | None) -> None:
        assert self.grid is not None
        if run is None:
            return
        if self.grid.points in run.shapes(run.coarsening[0]):
            self.grid = run.grid(self.grid.points, run.coarsening[0])
            self.attributes = run.dataset_attributes()
            self.notes += run.notes()
        else:
            self.notes.append(f"{run.source}: is of a run with other points: boundaries are not known")


def _root(path: Path) -> Element:
    root = parse_xml(path, _MOST_BYTES)
    if root.tag != "Xdmf":
        raise IoError(f"{path}: its first element is <{root.tag[:40]}>; expected <Xdmf>")
    return root


def _referred(domain: Element, grid: Element, tag: str) -> Element:
    """The element itself, or the one at `/Xdmf/Domain/TAG[n]` that it refers to, or that of the first grid with one."""
    own = grid.find(tag)
    if own is not None and own.get("Reference") is None:
        return own
    shared = domain.findall(tag)
    if own is None and not shared:  # ours include that of the first grid (xi:include)
        shared = [one for one in domain.iter(tag) if one.get("Reference") is None][:1]
    match = re.search(r"\[(\d{1,6})\]$", own.get("Reference", "") if own is not None else "[1]")
    at = int(match[1]) - 1 if match else 0
    if not 0 <= at < len(shared):
        raise IoError(f"a <{tag}> that a <Grid> refers to is not there; found {len(shared)} of them")
    return shared[at]


def _dimensions(path: Path, element: Element) -> Triple:
    text = element.get("Dimensions", "")
    words = text.split()
    if len(words) != 3 or not all(re.fullmatch(r"\d{1,9}", word) and 0 < int(word) <= MOST_POINTS for word in words):
        raise IoError(
            f"{path}: <{element.tag}> has Dimensions={text[:60]!r}; expected three numbers from 1 to "
            f"{MOST_POINTS}, as z y x"
        )
    return triple(reversed([int(word) for word in words]))


def _number(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise IoError(f"{path}: found {text[:40]!r}, expected a number") from None


def _array(path: Path, item: Element) -> FlatArray:
    shape = _dimensions(path, item)
    kind = (item.get("DataType") or item.get("NumberType") or "Float").lower()
    width, seek = item.get("Precision", "4").strip(), item.get("Seek", "0").strip()
    order = _ORDERS.get((item.get("Endian") or "native").lower())
    real = _REALS.get((kind, int(width) if width.isdecimal() and len(width) < 3 else 0))
    if real is None or order is None or not re.fullmatch(r"\d{1,18}", seek):
        raise IoError(
            f"{path}: a <DataItem> has DataType={kind[:20]!r} Precision={width[:20]!r} "
            f"Endian={item.get('Endian', '')[:20]!r} Seek={seek[:20]!r}; expected Float or Int of 4 or 8 bytes, "
            "Little or Big, and a number of bytes"
        )
    return FlatArray(inside(path, (item.text or "").strip()), int(seek), shape, order + real)


def inside(path: Path, name: str) -> Path:
    """The file that `path` names, which must lie in the directory of `path` or below.

    :raises IoError: it lies elsewhere, perhaps through a link.
    """
    base = path.parent.resolve()
    try:
        file = (base / name).resolve()
        if name and "\0" not in name and file.is_relative_to(base) and file != base:
            return file
    except (OSError, ValueError, RuntimeError):
        pass
    raise IoError(f"{path}: names the file {name[:200]!r}; expected a file in {base} or below")


def triple_of(values: list[float]) -> tuple[float, float, float]:
    """Three numbers as a tuple."""
    x, y, z = values
    return x, y, z


def _grid(path: Path, geometry: Element, points: Triple) -> UniformGrid:
    kind = geometry.get("Type") or geometry.get("GeometryType") or ""
    lists = [(item.text or "").split() for item in geometry.findall("DataItem")]
    number: Callable[[str], float] = lambda text: _number(path, text)  # noqa: E731 # bound to the file
    if kind.upper() == "ORIGIN_DXDYDZ" and [len(one) for one in lists] == [3, 3]:
        origin, spacing = ([number(word) for word in reversed(one)] for one in lists)
        if all(np.isfinite([*origin, *spacing])) and min(spacing) > 0:
            return UniformGrid(points, triple_of(origin), triple_of(spacing))
    if kind.upper() == "VXVYVZ" and [len(one) for one in lists] == list(points):
        places = [[number(word) for word in one] for one in lists]
        if all(np.all(np.diff(one) > 0) and np.isfinite(one).all() for one in places):
            origin = [one[0] for one in places]
            spacing = [(one[-1] - one[0]) / max(1, len(one) - 1) or 1.0 for one in places]
            coordinates: Any = tuple(map(tuple, places))
            return StretchedGrid(points, triple_of(origin), triple_of(spacing), coordinates=coordinates)
    raise IoError(
        f"{path}: <Geometry Type={kind[:40]!r}> has lists of {[len(one) for one in lists][:6]} numbers; expected "
        f"ORIGIN_DXDYDZ with an origin and positive spacings of 3 numbers, or VXVYVZ with {list(points)} growing places"
    )
