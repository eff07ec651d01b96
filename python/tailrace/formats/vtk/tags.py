"""The tags of an XML file of VTK, and where its texts and values lie: they may be larger than memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from tailrace.core import IoError
from tailrace.files.regular import open_regular

_PIECE = 1 << 20
_MOST_TAGS, _MOST_DEPTH = 1 << 20, 32
_APPENDED = re.compile(rb"<AppendedData[^>]*>\s*_")


@dataclass
class Tag:
    """A tag, the ones in it, and the place of its text."""

    name: str
    attributes: dict[str, str]
    inner: list[Tag] = field(default_factory=list)
    begin: int = -1  # the first byte of its text; -1: it has none
    end: int = -1

    def get(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, default)

    def all(self, *path: str) -> Iterator[Tag]:
        """The tags at a path, as "PointData", "DataArray"."""
        for one in self.inner:
            if one.name == path[0]:
                yield from one.all(*path[1:]) if path[1:] else [one]


@dataclass
class Tags:
    """The first tag of a file, and what is behind the texts.

    :param appended: the first byte of the values that are appended; -1: there are none.
    :param is_base64: whether they are encoded.
    """

    root: Tag
    appended: int = -1
    is_base64: bool = False


class _TagsEnd(Exception):  # noqa: N818 # not an error: the tags end here
    pass


def read_tags(path: Path) -> Tags:
    """The tags of a file.

    :raises IoError: it is no XML, or has entities.
    """
    return _Parser(path).read()


class _Parser:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = [Tag("", {})]
        self._found: Tags | None = None
        self._count = 0
        self._appended = -1
        self._parser = parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse

    def read(self) -> Tags:
        try:
            with open_regular(self.path, "rb") as file:
                while piece := file.read(_PIECE):
                    self._parser.Parse(piece, False)
                self._parser.Parse(b"", True)
        except _TagsEnd:
            return self._behind()
        except expat.ExpatError as error:
            self._wrong(expat.errors.messages.get(error.code, str(error)))
        except (LookupError, ValueError) as error:  # an unknown encoding
            self._wrong(str(error))
        return Tags(self._open[0].inner[0])

    def _behind(self) -> Tags:
        """Where the appended values begin: behind an underscore."""
        tag, at = self._open[-1], self._appended
        with open_regular(self.path, "rb") as file:
            file.seek(at)
            found = _APPENDED.match(file.read(4096))
        if found is None:
            self._wrong("no '_' at the beginning of <AppendedData>")
        return Tags(self._open[0].inner[0], at + found.end(), tag.get("encoding") == "base64")

    def _wrong(self, why: str) -> NoReturn:
        raise IoError(
            f"{self.path}: expected XML without entities, found {why} in line {self._parser.CurrentLineNumber}. To fix "
            "this, repair it, or move it away"
        )

    def _refuse(self, *_: object) -> None:
        self._wrong("DOCTYPE or an entity")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) > _MOST_DEPTH or self._count > _MOST_TAGS:
            self._wrong("too many tags")
        tag, around = Tag(name, attributes), self._open[-1]
        if around.begin >= 0 > around.end:
            around.end = self._parser.CurrentByteIndex  # VTK writes what it knows of an array behind its values
        around.inner.append(tag)
        self._open.append(tag)
        if name == "AppendedData":
            self._appended = self._parser.CurrentByteIndex
            raise _TagsEnd

    def _text(self, _: str) -> None:
        if self._open[-1].begin < 0:
            self._open[-1].begin = self._parser.CurrentByteIndex

    def _end(self, _: str) -> None:
        tag = self._open.pop()
        if tag.end < 0:
            tag.end = self._parser.CurrentByteIndex
