"""Checkpoints of Nektar++ in XML: one file, or a directory to which each rank adds a file."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, ClassVar
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.files.whole import publish, remove
from tailrace.parallel import agree, on_root

from .definition import Definition
from .hdf5 import Hdf5Checkpoint, hdf5_checkpoint
from .ids import ids_text
from .layout import DECOMPOSITION, NektarLayout
from .names import numbers_text
from .slabs import PIECE
from .writing import NektarWriter

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_HEAD = '<?xml version="1.0" encoding="utf-8" ?>\n<NEKTAR>\n'


class NektarXmlWriter(NektarWriter):
    """XML. The option `layout` is "file", or "directory": Info.xml and a file for each rank with elements.

    The default is a file on one rank and a directory on several. The values are collected in an HDF5 file beside the
    target, which is removed in the end.
    """

    format = "nektar-xml"
    known: ClassVar[Mapping[str, tuple[str, ...]]] = {"decomposition": DECOMPOSITION, "layout": ("file", "directory")}

    def check(self, layout: NektarLayout) -> None:  # noqa: D102
        for name in (*self.metadata, *self.provenance):
            if not _NAME.fullmatch(name):
                raise InputError(f"{self.path}: metadata '{name}': expected a name that a tag of XML can have")
        for text in (*self.metadata.values(), *self.provenance.values()):
            if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", text):
                raise InputError(f"{self.path}: metadata: expected letters that XML has, found {text[:40]!r}")

    def finish(self, target: Path) -> None:  # noqa: D102
        how = self.options.get("layout", "file" if self.comm.size == 1 else "directory")
        new = target.with_name(f".{target.name}.unfinished")
        source = on_root(self.comm, lambda: self._source(new, how))
        try:
            if how == "file":
                on_root(self.comm, lambda: self._write_file(new, source, range(len(source.rows))))
            else:
                mine = agree(self.comm, lambda: self._write_mine(new, source))
                parts = self.comm.gather(mine)
                on_root(self.comm, lambda: self._write_info(new, parts or []))
            on_root(self.comm, lambda: publish(new, target))
        except BaseException:
            if self.comm.rank == 0:
                remove(new)
            raise
        finally:
            source.close()
        on_root(self.comm, self._draft.unlink)

    def _source(self, new: Path, how: str) -> Hdf5Checkpoint:
        remove(new)  # left by a killed program
        if how == "directory":
            new.mkdir()
        found = hdf5_checkpoint(self._draft)
        assert found is not None
        try:
            self._check_apart(found)
        except InputError:
            found.close()
            raise
        return found

    def _check_apart(self, source: Hdf5Checkpoint) -> None:
        """Check that readers, who know a definition by its tag, do not take two for one."""
        assert self.layout is not None
        known: dict[object, int] = {}
        for row, ours in zip(source.rows, self.layout.rows, strict=True):
            if not row.elements:
                continue
            own = self.layout.definitions[ours.definition]
            if known.setdefault((source.definitions[row.definition], own.modes), ours.definition) != ours.definition:
                raise InputError(
                    f"{self.path}: two definitions of {own.shape_text} whose elements have their own modes would be "
                    "one in XML; take the format nektar-hdf5, which keeps them apart, or convert the variables of one"
                )

    def _write_mine(self, directory: Path, source: Hdf5Checkpoint) -> tuple[str, str] | None:
        """Write this rank's file with its share of the rows; None if they have no elements."""
        rank, size = self.comm.rank, self.comm.size
        rows = range(len(source.rows) * rank // size, len(source.rows) * (rank + 1) // size)
        if not any(source.rows[at].elements for at in rows):
            return None
        name = f"P{rank:07d}.fld"
        self._write_file(directory / name, source, rows)
        ids = [_elements(source, at) for at in rows if source.rows[at].elements]
        return name, ids_text(np.concatenate(ids))

    def _write_file(self, path: Path, source: Hdf5Checkpoint, rows: range) -> None:
        assert self.layout is not None
        with path.open("x", encoding="utf-8") as file:
            file.write(_HEAD + self._metadata())
            for at in rows:
                if source.rows[at].elements:
                    definition = source.definitions[source.rows[at].definition]
                    own = self.layout.definitions[self.layout.rows[at].definition]
                    _write_elements(file, source, at, definition, own)
            file.write("</NEKTAR>\n")
            file.flush()
            os.fsync(file.fileno())

    def _write_info(self, directory: Path, parts: list[tuple[str, str] | None]) -> None:
        with (directory / "Info.xml").open("x", encoding="utf-8") as file:
            file.write(_HEAD + self._metadata())
            for name, ids in (one for one in parts if one is not None):
                file.write(f'    <Partition FileName="{name}">{ids}</Partition>\n')
            file.write("</NEKTAR>\n")
            file.flush()
            os.fsync(file.fileno())

    def _metadata(self) -> str:
        lines = ["    <Metadata>"]
        if self.provenance:
            inner = [f"            <{name}>{escape(text)}</{name}>" for name, text in self.provenance.items()]
            lines += ["        <Provenance>", *inner, "        </Provenance>"]
        lines += [f"        <{name}>{escape(text)}</{name}>" for name, text in self.metadata.items()]
        return "\n".join([*lines, "    </Metadata>\n"])


def _elements(source: Hdf5Checkpoint, row: int) -> NDArray[np.int64]:
    ids = np.empty(source.rows[row].elements, np.int64)
    source.elements(row, 0, ids)
    return ids


def _write_elements(file: IO[str], source: Hdf5Checkpoint, row: int, definition: Definition, own: Definition) -> None:
    """Write a row as a tag; `own` has the modes, which the HDF5 file may store per element."""
    said = {"FIELDS": ",".join(definition.fields), "SHAPE": definition.shape_text, "BASIS": ",".join(definition.basis)}
    if definition.homogeneous:
        said["HOMOGENEOUSLENGTHS"] = numbers_text(definition.lengths)
        for letter, ids in (("Y", definition.y_ids), ("Z", definition.z_ids), ("S", definition.s_ids)):
            if ids:
                said[f"HOMOGENEOUS{letter}IDS"] = ",".join(map(str, ids))
    if own.modes is not None:
        said["NUMMODESPERDIR"] = f"UNIORDER:{','.join(map(str, own.modes))}"
    else:
        orders = np.empty((source.rows[row].elements, definition.directions), np.int64)
        source.orders(row, 0, orders)
        said["NUMMODESPERDIR"] = f"MIXORDER:{','.join(map(str, orders.reshape(-1).tolist()))}"
    said["ID"] = ids_text(_elements(source, row))
    said |= {"COMPRESSED": "B64Z-LittleEndian", "BITSIZE": "64"}
    file.write(f"    <ELEMENTS {' '.join(f'{name}={quoteattr(text)}' for name, text in said.items())}>")
    for piece in _text(source, row, len(definition.fields)):
        file.write(piece)
    file.write("</ELEMENTS>\n")


def _text(source: Hdf5Checkpoint, row: int, fields: int) -> Iterator[str]:
    """The values of a row as Nektar++ writes them: base64 of a zlib stream, padded so that no '=' is needed."""
    packed, left = zlib.compressobj(), b""
    count = source.rows[row].values
    for field in range(fields):
        for at in range(0, count, PIECE // 8):
            values = np.empty(min(PIECE // 8, count - at), "<f8")
            source.values(row, field, at, values)
            left += packed.compress(values.view(np.uint8).data)
            whole = len(left) // 3 * 3
            yield base64.b64encode(left[:whole]).decode()
            left = left[whole:]
    left += packed.flush()
    yield base64.b64encode(left + b"\0" * (-len(left) % 3)).decode()
