"""Checkpoints of Nektar++ in XML: one file, or a directory with one file per rank."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError

from .checkpoint import EMPTY, ElementRow, NektarCheckpoint
from .definition import Definition, DefinitionError, check_planes, parse_modes, parse_shape
from .ids import Ids, parse_ids
from .slabs import PIECE, SlabFile
from .xml_structure import ElementsBlock, XmlStructure, read_structure
from .xml_values import XmlValues, most_bytes

_ORDERS = {"B64Z-LittleEndian": "<f8", "B64Z-BigEndian": ">f8"}
_KNOWN = {"FIELDS", "SHAPE", "BASIS", "NUMMODESPERDIR", "ID", "COMPRESSED", "BITSIZE"} | {
    f"HOMOGENEOUS{one}" for one in ("LENGTHS", "YIDS", "ZIDS", "SIDS")
}
_MOST_OPEN = 8  # texts whose place is remembered


@dataclass(frozen=True)
class _RowSource:
    file: int
    offset: int
    length: int
    dtype: str
    ids: Ids
    orders: NDArray[np.int32] | None


class XmlCheckpoint(NektarCheckpoint):
    """Opening reads all tags. Values are decompressed on request, always from the first one on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files: list[SlabFile] = []
        self._sources: list[_RowSource | None] = []
        self._texts: OrderedDict[int, XmlValues] = OrderedDict()
        self._partitions: list[tuple[str, int, int]] = []  # name, elements by Info.xml, elements in its file

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_texts": OrderedDict()}

    # ---- opening -----------------------------------------------------------------------------------------------------
    def add_file(self, path: Path, structure: XmlStructure) -> int:
        """Add the sets of elements of a file; returns the number of their elements."""
        self._files.append(SlabFile(path))
        self.files.append(str(path))
        elements = 0
        for at, block in enumerate(structure.blocks):
            try:
                row, source = self._row(block)
            except (DefinitionError, ValueError) as error:
                raise IoError(f"{path}: <ELEMENTS> number {at + 1}: {error}") from None
            self.rows.append(row)
            self._sources.append(source)
            elements += row.elements
        return elements

    def even(self, ends: list[int]) -> None:
        """Give every file the same number of rows, as in HDF5 checkpoints, by adding empty rows.

        :param ends: the number of rows with each file.
        """
        begins = [0, *ends[:-1]]
        most = max(end - begin for begin, end in zip(begins, ends, strict=True))
        rows, sources = self.rows, self._sources
        self.rows, self._sources = [], []
        for begin, end in zip(begins, ends, strict=True):
            missing = most - (end - begin)
            self.rows += [*rows[begin:end], *[EMPTY] * missing]
            self._sources += [*sources[begin:end], *[None] * missing]

    def _row(self, block: ElementsBlock) -> tuple[ElementRow, _RowSource]:
        attributes = block.attributes
        for name in sorted(set(attributes) - _KNOWN):
            note = f"The attribute {name[:40]} of its elements is left out."
            if note not in self.notes:
                self.notes.append(note)
        definition, orders_text = _definition(attributes)
        try:
            ids = parse_ids(attributes.get("ID", ""))
        except ValueError as error:
            raise DefinitionError(f"ID: {error}") from None
        if not len(ids):
            raise DefinitionError("ID: expected numbers of elements, found none")
        most = most_bytes(block.length)
        least = len(ids) * len(definition.fields) * 8
        if least > most:  # before anything of the size of the elements is made
            raise DefinitionError(f"ID: found {len(ids)} elements; {block.length} letters cannot have their values")
        orders = _orders(orders_text, len(ids), definition) if definition.modes is None else None
        values = definition.values(len(ids), orders)
        size = values * len(definition.fields) * 8
        if size > most:
            raise DefinitionError(f"expected {size} bytes of values, found a text of {block.length} letters, too short")
        dtype = _ORDERS.get(attributes.get("COMPRESSED", "B64Z-LittleEndian"))
        if dtype is None or attributes.get("BITSIZE", "64") != "64":
            found = f"{attributes.get('COMPRESSED', 'none')[:40]}, {attributes.get('BITSIZE', 'none')[:40]}"
            raise DefinitionError(f"COMPRESSED, BITSIZE: expected {', '.join(_ORDERS)} and 64, found {found}")
        source = _RowSource(len(self._files) - 1, block.offset, block.length, dtype, ids, orders)
        return ElementRow(self.number_of(definition), len(ids), values), source

    def remember_partition(self, name: str, expected: int, found: int) -> None:
        """Store the numbers of elements in Info.xml and in the file of a rank, for `check`."""
        self._partitions.append((name, expected, found))

    # ---- reading -----------------------------------------------------------------------------------------------------
    def _source(self, row: int) -> _RowSource:
        found = self._sources[row]
        assert found is not None, row
        return found

    def values(self, row: int, field: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        source = self._source(row)
        per_field = self.rows[row].values
        size = per_field * len(self.definitions[self.rows[row].definition].fields) * 8
        slab = self._files[source.file]
        text = self._texts.pop(row, None) or XmlValues(slab.path, source.offset, source.length, size)
        begin = (field * per_field + first) * 8
        if out.dtype == np.dtype(source.dtype):
            text.read(slab.descriptor, begin, out.view(np.uint8).data)
        else:
            piece = np.empty(min(len(out), PIECE // 8), source.dtype)
            for at in range(0, len(out), len(piece)):
                part = piece[: len(out) - at]
                text.read(slab.descriptor, begin + at * 8, part.view(np.uint8).data)
                out[at : at + len(part)] = part
        self._texts[row] = text  # the next values are likely to be wanted next
        if len(self._texts) > _MOST_OPEN:
            self._texts.popitem(last=False)

    def elements(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        ids = self._source(row).ids
        for at in range(0, len(out), PIECE // 32):
            part = out[at : at + PIECE // 32]
            part[:] = ids.part(first + at, len(part))

    def orders(self, row: int, first: int, out: NDArray[Any]) -> None:  # noqa: D102
        orders = self._source(row).orders
        assert orders is not None
        out[:] = orders[first : first + len(out)]

    def check(self) -> list[str]:  # noqa: D102
        return [
            f"{self.path}: {name}: expected {expected} elements, as Info.xml says, found {found}"
            for name, expected, found in self._partitions
            if expected != found
        ]

    def close(self) -> None:  # noqa: D102
        self._texts.clear()
        for file in self._files:
            file.close()


def _definition(attributes: dict[str, str]) -> tuple[Definition, str]:
    """The definition in the attributes of a set of elements, and the text of the numbers of modes."""
    for name in ("FIELDS", "SHAPE", "BASIS", "NUMMODESPERDIR", "ID"):
        if name not in attributes:
            raise DefinitionError(f"{name}: expected this attribute, found none")
    shape, homogeneous, strips = parse_shape(attributes["SHAPE"])
    ids: dict[str, tuple[int, ...]] = {}
    for one in "YZS":
        name = f"HOMOGENEOUS{one}IDS"
        try:
            found = parse_ids(attributes.get(name, "")) if homogeneous else parse_ids("")
        except ValueError as error:
            raise DefinitionError(f"{name}: {error}") from None
        check_planes(len(found))
        ids[one] = tuple(found.part(0, len(found)).tolist())
    needed = ("", "Z", "Y")[homogeneous]
    if needed and not ids[needed]:
        raise DefinitionError(f"HOMOGENEOUS{needed}IDS: expected numbers of planes, found none")
    modes = parse_modes(attributes["NUMMODESPERDIR"])
    fields, basis = (tuple(map(str.strip, attributes[one].split(",", 4096))) for one in ("FIELDS", "BASIS"))
    lengths = _numbers(attributes.get("HOMOGENEOUSLENGTHS", "")) if homogeneous else ()
    definition = Definition(fields, shape, basis, modes, homogeneous, strips, lengths, ids["Y"], ids["Z"], ids["S"])
    return definition, attributes["NUMMODESPERDIR"]


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in text.split(",", 4))
    except ValueError:
        raise DefinitionError(f"HOMOGENEOUSLENGTHS: expected numbers, found '{text[:40]}'") from None


def _orders(text: str, elements: int, definition: Definition) -> NDArray[np.int32]:
    numbers = text.partition(":")[2]
    if not re.fullmatch(r"\s*\d{1,9}(\s*,\s*\d{1,9})*\s*", numbers):
        raise DefinitionError(f"NUMMODESPERDIR: expected 'MIXORDER:' and numbers, found '{text[:60]}'")
    found = np.fromstring(numbers, np.int32, sep=",")
    if len(found) != elements * definition.directions:
        raise DefinitionError(
            f"NUMMODESPERDIR: expected {elements * definition.directions} numbers of modes ({definition.directions} of "
            f"each of {elements} elements), found {len(found)}"
        )
    return found.reshape(elements, definition.directions)


def xml_checkpoint(path: Path) -> XmlCheckpoint:
    """The checkpoint in an XML file, or in the directory of an Info.xml.

    :raises IoError: it is damaged, or not a checkpoint.
    """
    first = path / "Info.xml" if path.is_dir() else path
    structure = read_structure(first)
    if structure.partitions:
        return _of_ranks(path if path.is_dir() else path.parent, first, structure)
    if not structure.blocks:
        raise IoError(f"{first}: expected <ELEMENTS> or <Partition>, found neither")
    found = XmlCheckpoint(path)
    found.metadata, found.provenance = structure.metadata, structure.provenance
    found.add_file(first, structure)
    return found


def _of_ranks(directory: Path, info: Path, structure: XmlStructure) -> XmlCheckpoint:
    found = XmlCheckpoint(directory)
    found.metadata, found.provenance, found.files = dict(structure.metadata), structure.provenance, [str(info)]
    ends = []
    names = [name for name, _ in structure.partitions]
    if len(set(names)) < len(names):
        raise IoError(f"{info}: expected each file once, found one twice")
    for name, ids in structure.partitions:
        path = _inside(directory, name, info)
        inner = read_structure(path)
        if not inner.blocks:
            raise IoError(f"{path}: expected <ELEMENTS>, found none")
        try:
            expected = len(parse_ids(ids))
        except ValueError as error:
            raise IoError(f"{info}: elements of {name}: {error}") from None
        found.remember_partition(name, expected, found.add_file(path, inner))
        ends.append(len(found.rows))
        if "Time" not in structure.metadata:  # else Info.xml tells all
            _take_metadata(found, path, inner.metadata)
    found.even(ends)
    return found


def _take_metadata(found: XmlCheckpoint, path: Path, metadata: dict[str, str]) -> None:
    """Take what the file of a rank says about the whole checkpoint."""
    for key, text in metadata.items():
        if found.metadata.setdefault(key, text) != text and key == "Time":
            raise IoError(
                f"{path}: its Time is {text[:40]}; expected {found.metadata[key][:40]}, as in the files before it: it "
                "is of another checkpoint"
            )


def _inside(directory: Path, name: str, info: Path) -> Path:
    """The path of the file of a rank; its name must not lead out of the directory."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise IoError(f"{info}: expected the name of a file beside it, found '{name[:80]}'")
    path = directory / name
    if path.resolve().parent != directory.resolve():
        raise IoError(f"{info}: expected '{name[:80]}' to be a file beside it, found a link out of the directory")
    if not path.is_file():
        raise IoError(f"{info}: expected the file '{name[:80]}' beside it, found none")
    return path
