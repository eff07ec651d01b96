"""The files of a case: everything that it reads and writes has a place of its own.

Paths are compared resolved, so "o", "./o" and a link to it are one place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailrace.files.marks import (
    CONTACT,
    DATABASE,
    EXECUTIONS,
    FILM,
    FOLDED,
    HDF5_SERIES,
    JOURNAL,
    LOCK,
    PICTURE,
    STREAM_RECORD,
    TIME_SERIES,
    TRACE,
    Mark,
)
from tailrace.io.engines import ENGINES, default_path
from tailrace.io.names import result_names

if TYPE_CHECKING:
    from .sections.catalyst_section import CatalystSection
    from .sections.output_section import OutputSection
    from .sections.picture_section import PictureSection

# Files that an engine, or the checkpoints, keep in their directory, whatever else may lie there.
_OWN = re.compile(r"(series|snapshot-\d+)\.(jsonl|xdmf)(\.\w+)?|step-\d{8,}.*|.*-\d+(\.\d+)?\.bin|hints\.tmp")


@dataclass(frozen=True)
class Place:
    """A file or directory of a case. It looks at the file system once: each rank of a run checks its case.

    :param key: where the case names it.
    :param named: the path as the case names it.
    :param kind: "emptied" is a directory in which the engine deletes what is not its own.
    :param mark: of the files that may be replaced there; None: `kind` alone decides.
    :param role: of a file that is kept beside the one that the case names: "lock", for example.
    """

    key: str
    named: str
    kind: Literal["input", "file", "directory", "emptied"]
    mark: Mark | None = None
    role: str = ""

    @cached_property
    def path(self) -> Path:
        """The path without links. Local."""
        return Path(os.path.realpath(self.named))

    @cached_property
    def file(self) -> tuple[int, int] | None:
        """Which file is there: device and number; None if none is, or it cannot be looked at. Local."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def beside(self, ending: str, mark: Mark | None, role: str) -> Place:
        """A file that is kept beside this one, and beside what it leads to where it is a link. Local."""
        target = f"{self.path}{ending}"
        named = f"{self.named}{ending}"
        return Place(self.key, named if os.path.realpath(named) == target else target, "file", mark, role)


def of_checkpoints(key: str, path: str) -> Iterator[Place]:
    """What the checkpoints write. Local."""
    place = Place(key, path, "directory")
    yield from (place, place.beside(".lock", LOCK, "lock"))


def of_table(key: str, path: str, mark: Mark | None = TIME_SERIES) -> Iterator[Place]:
    """What a time series writes. Local."""
    place = Place(key, path, "file", mark)
    yield from (place, place.beside(".lock", LOCK, "lock"), place.beside(".new", TIME_SERIES, "draft"))


def of_output(key: str, output: OutputSection) -> Iterator[Place]:
    """What an output writes. Local."""
    if ENGINES[output.engine].streams:
        contact = f"{output.path.removeprefix('sst:')}.sst"
        yield Place(f"{key}.path", contact, "file", CONTACT)
        yield from _replaced(f"{key}.path", f"{contact}.writer", STREAM_RECORD)
        yield from of_table(f"{key}.path", left_out(output.name))
    elif ENGINES[output.engine].stores:
        yield from _of_series(f"{key}.path", output.path, output.engine, HDF5_SERIES)
    for name, mark in (("trace", TRACE), ("folded", FOLDED)):
        if isinstance(report := output.parameters.get(name), str):
            yield from _replaced(f"{key}.parameters.{name}", report, mark)


def left_out(name: str) -> str:
    """The file with the steps that the stream of an output left out. Local."""
    return f"{name}-left-out.csv"


def of_results(key: str, out: Path, name: str, engine: str) -> Iterator[Place]:
    """What an analysis writes; it knows its own results by more than a mark. Local."""
    for each in result_names(name):
        yield from of_table(key, str(out / f"{each}.csv"), None)
        yield from _of_series(key, default_path(str(out / each), engine), engine, None)


def of_pictures(key: str, picture: PictureSection) -> Iterator[Place]:
    """What pictures and their film write. Local."""
    yield from of_table(key, str(picture.table_path))
    if picture.film:
        film = Place(key, str(picture.film_path), "file", FILM)
        yield from (film, film.beside(".new", FILM, "draft"))
    if picture.database:
        yield Place(key, str(picture.database_path), "directory")
        yield Place(key, str(picture.database_path / "data.csv"), "file", DATABASE)
    for path in picture.png_paths() if picture.png else ():
        yield Place(key, str(path), "file", PICTURE)


def of_pipeline(key: str, pipeline: CatalystSection) -> Iterator[Place]:
    """What a pipeline of ParaView writes. Local."""
    yield Place(key, str(pipeline.directory), "directory")
    yield Place(key, str(pipeline.record_path), "file", EXECUTIONS)


def _of_series(key: str, path: str, engine: str, mark: Mark | None) -> Iterator[Place]:
    kind = _kind(engine)
    place = Place(key, path, kind, mark if kind == "file" else None)
    yield from (place, place.beside(".lock", LOCK, "lock"))
    if journal := ENGINES[engine].journal:
        yield place.beside(journal, JOURNAL, "journal")
    if companion := ENGINES[engine].companion:
        yield place.beside(companion, None, "file for ParaView")


def _replaced(key: str, path: str, mark: Mark) -> Iterator[Place]:
    """A file that is written under another name first; links are replaced, not followed."""
    yield Place(key, path, "file", mark)
    yield Place(key, f"{path}.tmp", "file", mark, "draft")


def _kind(engine: str) -> Literal["file", "directory", "emptied"]:
    traits = ENGINES[engine]
    return "emptied" if traits.owns_directory else "file" if traits.one_file else "directory"


def clash(place: Place, others: Iterable[Place]) -> str:
    """Why a place is not free; "" if it is. Local."""
    found = (_between(place, other) for other in others)
    return next((reason for reason in found if reason), "")


def _between(new: Place, old: Place) -> str:
    if new.kind == old.kind == "input":
        return ""
    if new.path == old.path:
        other = f", as '{old.named}'" if old.named != new.named else ""
        return f"{_called(new)} is taken by {old.key}{other}{f', for its {old.role}' if old.role else ''}"
    if new.file is not None and new.file == old.file:
        return f"{_called(new)} and '{old.named}' of {old.key} are one file under two names, by a hard link; copy it"
    for inner, outer in ((new, old), (old, new)):
        if outer.path in inner.path.parents:
            why = _why_not_inside(inner, outer)
            if why:
                return f"{_called(new)} is {'inside' if inner is new else 'around'} '{old.named}' of {old.key}: {why}"
    return ""


def _called(place: Place) -> str:
    return f"'{place.named}'" + (f", its {place.role}," if place.role else "")


def _why_not_inside(inner: Place, outer: Place) -> str:
    if outer.kind in ("input", "file"):
        return "that is a file" if outer.kind == "file" else "that is a file, which is read"
    if outer.kind == "emptied":
        return "ADIOS2 deletes all other files in the directory of a series"
    if _OWN.fullmatch(inner.path.relative_to(outer.path).parts[0]):
        return "files of such names belong to what is stored there"
    return ""
