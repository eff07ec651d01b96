"""The structure of an HDF5 checkpoint of Nektar++: the places of its datasets, and its groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import Error, IoError

from .definition import BASES_BEFORE_5, Definition, DefinitionError, bases_of, parse_modes, parse_shape

_TYPES = {
    "DECOMPOSITION": "u8",
    "ELEMENTIDS": "u4",
    "DATA": "f8",
    "POLYORDERS": "u4",
    "HOMOGENEOUSYIDS": "u4",
    "HOMOGENEOUSZIDS": "u4",
    "HOMOGENEOUSSIDS": "u4",
}
NEEDED = ("DECOMPOSITION", "ELEMENTIDS", "DATA")
# The columns of DECOMPOSITION count entries of these datasets; the last column names the group.
COLUMNS = ("ELEMENTIDS", "DATA", "POLYORDERS", "HOMOGENEOUSYIDS", "HOMOGENEOUSZIDS", "HOMOGENEOUSSIDS")
WIDTH = len(COLUMNS) + 1

_MOST_BYTES = 1 << 20  # of an attribute
_MOST_ATTRIBUTES = 4096
_MOST_GROUPS = 1 << 16


@dataclass(frozen=True)
class Slab:
    """A contiguous dataset: its first byte, number of entries, and NumPy type."""

    offset: int
    count: int
    dtype: str

    def at(self, entry: int) -> int:
        """The first byte of an entry."""
        return self.offset + entry * np.dtype(self.dtype).itemsize


ABSENT = Slab(0, 0, "<u4")


@dataclass
class Hdf5Structure:
    """The structure of a file, which rank 0 reads.

    :param groups: definitions by the names of their groups, without the homogeneous planes, which belong to the rows.
    """

    places: dict[str, Slab] = field(default_factory=dict)
    groups: dict[int, Definition] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def place(self, name: str) -> Slab:
        """The place of a dataset; a missing dataset has no entries."""
        return self.places.get(name, ABSENT)


def read_structure(file: IO[bytes], path: Path, size: int) -> Hdf5Structure | None:
    """The structure of an open file of `size` bytes.

    :returns: None if the file has other content.
    :raises IoError: it is damaged; the text names the dataset, group or attribute.
    """
    try:
        with h5py.File(file, "r") as contents:
            root = _group(contents, "NEKTAR")
            if root is None:
                return None
            return _Hdf5Reader(path, size).read(root)
    except Error:
        raise
    except DefinitionError as error:
        raise IoError(f"{path}: {error}") from None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise IoError(f"{path}: is a damaged HDF5 file: {str(error)[:300]}") from None


def _group(parent: h5py.Group, name: str) -> h5py.Group | None:
    """A group in the same file; links to other files are not followed."""
    link = parent.get(name, getlink=True)
    found = parent.get(name) if isinstance(link, h5py.HardLink) else None
    return found if isinstance(found, h5py.Group) else None


class _Hdf5Reader:
    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size

    def _wrong(self, place: str, expected: str, found: object) -> IoError:
        return IoError(f"{self.path}: {place}: expected {expected}, found {str(found)[:200]}")

    def read(self, root: h5py.Group) -> Hdf5Structure:
        version = self._attribute(root, "FORMAT_VERSION")
        if version is None or np.ravel(version).tolist() != [1]:
            raise self._wrong("/NEKTAR: FORMAT_VERSION", "1", "none" if version is None else version)
        found = Hdf5Structure()
        described = _group(root, "Metadata")
        if described is not None:
            found.metadata = self._texts(described)
            origin = _group(described, "Provenance")
            found.provenance = self._texts(origin) if origin is not None else {}
        for name in _TYPES:
            if root.get(name, getlink=True) is not None:
                found.places[name] = self._place(root, name)
            elif name in NEEDED:
                raise self._wrong(f"/NEKTAR/{name}", "a dataset", "none")
        self._groups(root, found)
        return found

    def _groups(self, root: h5py.Group, found: Hdf5Structure) -> None:
        version = found.provenance.get("NektarVersion", "")
        names = [name for name in root if re.fullmatch(r"[0-9]{1,20}", name)]
        if len(names) > _MOST_GROUPS:
            raise self._wrong("/NEKTAR", f"at most {_MOST_GROUPS} groups of definitions", len(names))
        earlier = not version and any(self._is_before_5(root, name) for name in names)
        bases = BASES_BEFORE_5 if earlier else bases_of(version)
        numbers = False
        for name in names:
            group = _group(root, name)
            if group is None:
                raise self._wrong(f"/NEKTAR/{name}", "a group in this file", "something else")
            try:
                found.groups[int(name)], high = self._definition(group, name, bases)
            except DefinitionError as error:
                raise IoError(f"{self.path}: /NEKTAR/{name}: {error}") from None
            numbers = numbers or high
        if numbers and not version:
            found.notes.append(
                "It does not say its NektarVersion; the numbers of its bases are taken as those "
                + ("before 5: homogeneous directions have one that since 5 is of pyramids." if earlier else "since 5.")
            )

    def _is_before_5(self, root: h5py.Group, name: str) -> bool:
        """Whether a homogeneous direction has the number of Fourier before version 5; since 5 it is one of pyramids."""
        group = _group(root, name)
        if group is None:
            return False
        try:
            _, homogeneous, _ = parse_shape(self._text(group, "SHAPE", f"/NEKTAR/{name}"))
        except DefinitionError:
            return False  # `_definition` says what is wrong
        numbers = np.ravel(self._needed(group, "BASIS", f"/NEKTAR/{name}")).tolist()
        return BASES_BEFORE_5.index("Fourier") in numbers[len(numbers) - homogeneous :]

    def _definition(self, group: h5py.Group, name: str, bases: tuple[str, ...]) -> tuple[Definition, bool]:
        place = f"/NEKTAR/{name}"
        shape, homogeneous, strips = parse_shape(self._text(group, "SHAPE", place))
        modes = parse_modes(self._text(group, "NUMMODESPERDIR", place))
        numbers = np.ravel(self._needed(group, "BASIS", place))
        if numbers.dtype.kind not in "iu" or any(not 0 <= one < len(bases) for one in numbers.tolist()):
            raise self._wrong(f"{place}: BASIS", f"numbers below {len(bases)}", numbers)
        lengths = np.ravel(self._needed(group, "HOMOGENEOUSLENGTHS", place)) if homogeneous else np.empty(0)
        if lengths.dtype.kind != "f":
            raise self._wrong(f"{place}: HOMOGENEOUSLENGTHS", "numbers", lengths)
        fields = tuple(_decoded(one) for one in np.ravel(self._needed(group, "FIELDS", place)).tolist())
        basis = tuple(bases[one] for one in numbers.tolist())
        # Planes are not known yet; they are put in by `with_planes`.
        definition = Definition(fields, shape, basis, modes, homogeneous, strips, tuple(map(float, lengths.tolist())))
        return definition, bool((numbers >= 7).any())

    def _place(self, root: h5py.Group, name: str) -> Slab:
        place = f"/NEKTAR/{name}"
        link = root.get(name, getlink=True)
        found = root.get(name) if isinstance(link, h5py.HardLink) else None
        if not isinstance(found, h5py.Dataset):
            raise self._wrong(place, "a dataset in this file", "something else")
        if found.dtype.str[1:] != _TYPES[name] or found.ndim != 1:
            raise self._wrong(place, f"one dimension of {np.dtype(_TYPES[name]).name}", f"{found.dtype} {found.shape}")
        if found.chunks is not None or found.is_virtual or found.external:
            raise IoError(
                f"{self.path}: {place}: expected values in one piece, as Nektar++ writes them; "
                "'h5repack -l CONTI -f NONE' makes a copy of the file that has them so"
            )
        offset, count = found.id.get_offset(), int(found.shape[0])
        if count and (offset is None or offset + count * found.dtype.itemsize > self.size):
            raise self._wrong(place, f"{count} values in the {self.size} bytes of the file", f"them at byte {offset}")
        return Slab(int(offset or 0), count, found.dtype.str)

    # ---- attributes --------------------------------------------------------------------------------------------------
    def _attribute(self, group: h5py.Group, name: str) -> Any:
        if name not in group.attrs:
            return None
        stored = group.attrs.get_id(name)
        count = stored.get_space().get_simple_extent_npoints()
        if count * max(1, stored.get_type().get_size()) > _MOST_BYTES:
            raise self._wrong(f"{group.name}: {name}", f"at most {_MOST_BYTES} bytes", f"{count} entries")
        return group.attrs[name]

    def _needed(self, group: h5py.Group, name: str, place: str) -> NDArray[Any]:
        found = self._attribute(group, name)
        if found is None:
            raise self._wrong(f"{place}: {name}", "an attribute", "none")
        return np.asarray(found)

    def _text(self, group: h5py.Group, name: str, place: str) -> str:
        found = self._attribute(group, name)
        if not isinstance(found, str | bytes):
            raise self._wrong(f"{place}: {name}", "a text", found)
        return _decoded(found)

    def _texts(self, group: h5py.Group) -> dict[str, str]:
        if len(group.attrs) > _MOST_ATTRIBUTES:
            raise self._wrong(group.name, f"at most {_MOST_ATTRIBUTES} attributes", len(group.attrs))
        found = {}
        for name in group.attrs:
            value = self._attribute(group, name)
            found[str(name)] = _decoded(value) if isinstance(value, str | bytes) else str(value)
        return found


def _decoded(text: Any) -> str:
    found = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if not isinstance(found, str):
        raise DefinitionError(f"expected a text, found {str(found)[:40]}")
    return found.split("\0", 1)[0]


def with_planes(group: Definition, y_ids: NDArray[Any], z_ids: NDArray[Any], s_ids: NDArray[Any]) -> Definition:
    """The definition of a group with the planes, lines and strips of a row."""
    if not group.homogeneous:
        return group
    y, z, s = (tuple(int(one) for one in ids.tolist()) for ids in (y_ids, z_ids, s_ids))
    return replace(group, y_ids=y, z_ids=z, s_ids=s)
