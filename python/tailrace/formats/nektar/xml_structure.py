"""The structure of an XML file of Nektar++: its metadata, and the places of its texts of values.

The texts of values are not read: they are skipped up to their end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.parsers import expat

from tailrace.core import IoError
from tailrace.files.regular import open_regular

_PIECE = 64 << 10
_MOST_TAG = 64 << 20  # bytes of one tag; the numbers of the elements are in it
_MOST_TEXT = 1 << 20  # letters of metadata, all together
_MOST_IDS = 64 << 20  # letters in one list of the elements of a partition
_MOST_DEPTH = 8
_FOREIGN = ("GEOMETRY", "EXPANSIONS", "CONDITIONS")  # of meshes and sessions


@dataclass
class ElementsBlock:
    """The attributes of a set of elements, and the place of the text of its values: first byte and number of bytes."""

    attributes: dict[str, str]
    offset: int
    length: int = 0


@dataclass
class XmlStructure:
    """The content of a file. `partitions` has the names of the files of the ranks, with their element numbers."""

    metadata: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, str] = field(default_factory=dict)
    partitions: list[tuple[str, str]] = field(default_factory=list)
    blocks: list[ElementsBlock] = field(default_factory=list)


def read_structure(path: Path) -> XmlStructure:
    """The structure of a file.

    :raises IoError: it is not XML, has entities, or is not a checkpoint; the text names line and column.
    """
    reader = _XmlReader(path)
    with open_regular(path, "rb", buffering=0) as file:
        reader.read(file)
    return reader.found


class _XmlReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.found = XmlStructure()
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._skipped = 0  # bytes of values that the parser has not seen
        self._open: list[str] = []
        self._block: ElementsBlock | None = None
        self._words: list[str] = []
        self._leaf = False  # the open tag has had no tags in it
        self._size = self._all = 0
        self._name = ""

    def read(self, file: IO[bytes]) -> None:
        fed, in_tag = 0, False
        try:
            while piece := file.read(_PIECE):
                if self._block is not None and not in_tag:
                    if self._block.offset < 0:
                        self._block.offset = fed + self._skipped
                    end = piece.find(b"<")
                    self._skipped += len(piece) if end < 0 else end
                    if end < 0:
                        continue
                    piece = piece[end:]
                self._parser.Parse(piece, False)
                fed += len(piece)
                if b"<" in piece or b">" in piece:
                    in_tag = piece.rfind(b"<") > piece.rfind(b">")
                if fed - self._parser.CurrentByteIndex > _MOST_TAG:
                    raise self._wrong(f"expected tags of at most {_MOST_TAG} bytes, found a longer one")
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self._wrong(f"expected XML, found: {expat.errors.messages.get(error.code, error)}") from None
        except (LookupError, ValueError) as error:  # an unknown encoding, or one that the parser cannot read
            raise self._wrong(f"expected XML, found: {error}") from None

    def _wrong(self, why: str) -> IoError:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber
        byte = self._parser.CurrentByteIndex + self._skipped
        return IoError(f"{self.path}: line {line}, column {column + 1} (byte {byte}): {why}")

    def _refuse(self, *_: object) -> None:
        raise self._wrong("expected XML without DOCTYPE and entities")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= _MOST_DEPTH:
            raise self._wrong(f"expected at most {_MOST_DEPTH} tags in each other")
        if not self._open and name != "NEKTAR":
            raise self._wrong(f"expected <NEKTAR>, found <{name[:40]}>")
        if self._open == ["NEKTAR"] and name in _FOREIGN:
            raise self._wrong(f"expected a checkpoint, found a mesh or session of Nektar++ (<{name}>)")
        if self._block is not None:
            raise self._wrong(f"expected values in <ELEMENTS>, found <{name[:40]}>")
        self._open.append(name)
        self._words, self._size, self._leaf = [], 0, True
        self._name = attributes.get("PARAM", "") if name == "P" else name
        if self._open == ["NEKTAR", "ELEMENTS"]:
            self._block = ElementsBlock(attributes, -1)
            self.found.blocks.append(self._block)
        elif self._is_partition():
            self.found.partitions.append((attributes.get("FileName", ""), ""))

    def _is_partition(self) -> bool:
        return len(self._open) == 2 and self._open[1] in ("Partition", "MultipleFldFiles")

    def _text(self, text: str) -> None:
        if self._block is not None:
            if self._block.offset < 0:
                self._block.offset = self._parser.CurrentByteIndex + self._skipped
            return
        self._size += len(text)
        if self._size > (_MOST_IDS if self._is_partition() else _MOST_TEXT):
            raise self._wrong(f"expected a shorter text in <{self._open[-1][:40]}>")
        self._words.append(text)

    def _end(self, name: str) -> None:
        path, text = self._open, "".join(self._words)
        if self._block is not None:
            end = self._parser.CurrentByteIndex + self._skipped
            self._block.offset = end if self._block.offset < 0 else self._block.offset
            self._block.length = end - self._block.offset
            self._block = None
        elif self._is_partition():
            self.found.partitions[-1] = (self.found.partitions[-1][0], text)
        elif path[1:2] in (["Metadata"], ["FIELDMETADATA"]) and len(path) > 2 and self._leaf:
            self._remember(path, text)
        self._open.pop()
        self._leaf = False

    def _remember(self, path: list[str], text: str) -> None:
        self._all += len(text) + len(self._name)
        if self._all > _MOST_TEXT:
            raise self._wrong(f"expected at most {_MOST_TEXT} letters of metadata")
        if len(path) == 3 and path[2] != "Provenance":
            self.found.metadata[self._name] = text
        elif len(path) == 4 and path[2] == "Provenance":
            self.found.provenance[self._name] = text
