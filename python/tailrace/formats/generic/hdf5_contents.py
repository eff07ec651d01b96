"""The contents of an HDF5 file of any program: its arrays, single values and attributes.

Links to other files are not followed, and only small values are read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5g, h5l, h5o, h5p, h5s
from numpy.typing import NDArray

from tailrace.formats.hdf5_file import FAULTS, open_hdf5
from tailrace.io.values import Attribute, Scalar

from .axes import TIMES, Dimension, dimensions_of
from .decoding import Decoding, decoding_of
from .hdf5_attributes import MOST_TEXT, attributes_of, plain

_SINCE = re.compile(r"\s*[A-Za-z]+\s+since\s", re.IGNORECASE)
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"  # so its values mean nothing
_MOST_OBJECTS = 100_000
_MOST_CHUNK = 1 << 30  # bytes; one value needs the memory of its chunk
_MOST_RATIO = 10_000  # values in memory to bytes of the file; the best compressor of HDF5 itself has 1032


@dataclass(frozen=True)
class Array:
    """An array of numbers in the file."""

    name: str  # its path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    dimensions: tuple[Dimension, ...] = ()  # (): the file does not tell
    decoding: Decoding | None = None

    def read(self, file: h5py.File) -> NDArray[Any]:
        """All values, as the attributes say to read them."""
        values = np.asarray(file[self.name][:])
        return values if self.decoding is None else self.decoding.values(values)


@dataclass
class Hdf5Contents:
    """The contents of a file. Names are paths without the first slash."""

    arrays: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    attributes: dict[str, dict[str, Attribute]] = field(default_factory=dict)  # of each group and dataset; "" the root
    notes: list[str] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)  # of virtual datasets: the files of their values

    def below(self, group: str) -> dict[str, Array]:
        """The arrays below a group, by their names relative to it."""
        begin = f"{group}/" if group else ""
        return {name[len(begin) :]: one for name, one in self.arrays.items() if name.startswith(begin)}

    def is_time(self, dimension: Dimension) -> bool:
        """Whether a dimension is the time: by its name, or by what its scales say as the CF conventions have it."""
        return any(name in TIMES for name in dimension.names) or any(map(self.has_times, dimension.scales))

    def has_times(self, name: str) -> bool:
        """Whether the attributes of a list say that it has times: "hours since 2000-01-01"."""
        about = self.attributes.get(name, {})
        return (
            about.get("standard_name") == "time"
            or about.get("axis") == "T"
            or _SINCE.match(str(about.get("units", ""))) is not None
        )

    def scalars_below(self, group: str) -> dict[str, Scalar]:
        """The single values below a group, by their names relative to it."""
        return {name[len(group) + 1 :]: one for name, one in self.scalars.items() if name.startswith(f"{group}/")}


def contents_of(file: h5py.File, path: Path) -> Hdf5Contents:
    """Read the metadata of the file, by h5py's low-level functions: its objects would take most of the time."""
    found = Hdf5Contents()
    root = h5g.open(file.id, b"/")
    found.attributes[""] = attributes_of(root)
    seen = {h5o.get_info(root).addr}
    waiting: list[tuple[str, h5g.GroupID]] = [("", root)]
    count = 0
    while waiting:
        name, group = waiting.pop()
        for whole, member in _members(found, name, group):
            count += 1
            if count > _MOST_OBJECTS:
                found.notes.append(f"it has more than {_MOST_OBJECTS} objects; the others are left out")
                return found
            address = h5o.get_info(member).addr
            if address in seen:  # another name of the same object
                continue
            seen.add(address)
            if isinstance(member, h5g.GroupID):
                found.attributes[whole] = attributes_of(member)
                waiting.append((whole, member))
            elif isinstance(member, h5d.DatasetID):
                _add_dataset(found, whole, member, path)
    found.arrays = dict(sorted(found.arrays.items()))
    return found


def _members(found: Hdf5Contents, name: str, group: h5g.GroupID) -> Iterator[tuple[str, Any]]:
    """The members of a group that lie in this file, with their paths."""
    for raw in group:
        inner = raw.decode(errors="surrogateescape")
        try:
            link = group.links.get_info(raw).type
            member = h5o.open(group, raw) if link == h5l.TYPE_HARD else None
            elsewhere = group.links.get_val(raw)[0] if link == h5l.TYPE_EXTERNAL else b""
        except FAULTS as error:
            found.notes.append(f"'{name}/{inner}' cannot be read ({error}): it is left out")
            continue
        if link == h5l.TYPE_EXTERNAL:
            there = elsewhere.decode(errors="surrogateescape")
            found.notes.append(f"'{name}/{inner}' is a link to the file '{there}', which is not followed")
        elif member is not None:
            yield f"{name}/{inner}".lstrip("/"), member


def _add_dataset(found: Hdf5Contents, name: str, data: h5d.DatasetID, path: Path) -> None:
    try:
        shape, dtype, plan = _shape(data), data.dtype, data.get_create_plist()
        why = _why_not(data, shape, dtype, plan, path)
        if why is None and shape == ():
            value = plain(h5py.Dataset(data)[()]) if dtype.itemsize <= MOST_TEXT else None
            if value is None:
                why = f"has the type {dtype}"
            else:
                packed = decoding_of(attributes_of(data), np.dtype(dtype.str)) if dtype.kind in "fiu" else None
                found.scalars[name] = value if packed is None else float(packed.values(np.array([value], dtype))[0])
        elif why is None and shape is not None:
            if h5py.check_enum_dtype(dtype) is not None and dtype.kind != "b":
                found.notes.append(f"'{name}' has names for its values (an enumeration); the numbers are read")
            about, bare = attributes_of(data), np.dtype(dtype.str)
            if str(about.get("NAME", "")).startswith(_NO_VARIABLE):
                return
            found.arrays[name] = Array(name, bare, shape, dimensions_of(data), decoding_of(about, bare))
        if why is None:
            found.attributes[name] = about if name in found.arrays else attributes_of(data)
            if plan.get_layout() == h5d.VIRTUAL:
                sources = h5py.Dataset(data).virtual_sources()
                found.sources[name] = sorted({str(_place(one.file_name, path)) for one in sources})
    except FAULTS as error:
        why = f"cannot be read ({error})"
    if why is not None:
        found.notes.append(f"'{name}' {why}: it is left out")


def _shape(data: h5d.DatasetID) -> tuple[int, ...] | None:
    """The shape; None of a dataset without a place for values."""
    space = data.get_space()
    return None if space.get_simple_extent_type() == h5s.NULL else tuple(space.shape)


def _why_not(
    data: h5d.DatasetID, shape: tuple[int, ...] | None, dtype: np.dtype[Any], plan: h5p.PropDCID, path: Path
) -> str | None:
    """Why a dataset is not read; None if it is read."""
    if shape is None:
        return "has no values"
    if shape and (dtype.names is not None or dtype.kind not in "fiubc"):
        kind = "a compound of " + ", ".join(dtype.names) if dtype.names else str(dtype)
        return f"has the type {kind}, which is not read"
    if plan.get_external_count():
        return (
            f"has its values in another file, '{plan.get_external(0)[0].decode(errors='replace')}', which is not read"
        )
    if plan.get_layout() == h5d.VIRTUAL:
        return _why_not_virtual(h5py.Dataset(data), path)
    chunk = math.prod(plan.get_chunk()) * dtype.itemsize if plan.get_layout() == h5d.CHUNKED else 0
    if chunk > _MOST_CHUNK:
        return f"has chunks of {chunk} bytes (at most {_MOST_CHUNK} are read)"
    size = math.prod(shape) * dtype.itemsize
    if size > _MOST_RATIO * path.stat().st_size:
        return f"has the shape {shape}, {size} bytes, in a file of {path.stat().st_size}"
    return None


def _place(source: str, path: Path) -> Path:
    return path if source == "." else path.parent / source


def _why_not_virtual(data: h5py.Dataset, path: Path) -> str | None:
    """Why a virtual dataset is not read; None if its parts are plain datasets in this file or in files beside it."""
    for source in data.virtual_sources():
        place = _place(source.file_name, path)
        if "%" in source.file_name or not place.resolve().is_relative_to(path.parent.resolve()):
            return f"is made of parts in '{source.file_name}', which is not in its directory"
        if not place.is_file():
            return f"is made of parts in '{source.file_name}', which is not there"
        with open_hdf5(place) as file:
            if not _is_plain(file, source.dset_name):
                return f"is made of '{source.dset_name}' in '{source.file_name}', which is no dataset of plain values"
    return None


def _is_plain(file: h5py.File, name: str) -> bool:
    group: Any = file
    for inner in name.strip("/").split("/"):
        if not isinstance(group, h5py.Group) or not isinstance(group.get(inner, getlink=True), h5py.HardLink):
            return False
        group = group[inner]
    if not isinstance(group, h5py.Dataset) or group.is_virtual:
        return False
    return not group.id.get_create_plist().get_external_count()
