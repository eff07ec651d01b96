"""The files of a case: everything that it reads and writes has a place of its own.

Paths are compared resolved, so "o", "./o" and a link to it are one place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tailrace.io.paths import default_path

if TYPE_CHECKING:
    from .sections import OutputSection

# Files that an engine, or the checkpoints, keep in their directory, whatever else may lie there.
_OWN = re.compile(r"series\.(jsonl|xdmf)(\.\w+)?|step-\d{8,}.*|.*-\d+(\.\d+)?\.bin")


class Place(NamedTuple):
    """A file or directory of a case.

    :param key: where the case names it.
    :param named: the path as the case names it.
    :param kind: "emptied" is a directory in which the engine deletes what is not its own.
    """

    key: str
    named: str
    kind: Literal["input", "file", "directory", "emptied"]

    @property
    def path(self) -> Path:
        """The path without links. Local."""
        return Path(os.path.realpath(self.named))


def of_output(key: str, output: OutputSection) -> Iterator[Place]:
    """What an output writes. Local."""
    if output.engine == "sst":
        contact = f"{output.path.removeprefix('sst:')}.sst"
        for path in (contact, f"{contact}.writer", left_out(output.name)):
            yield Place(f"{key}.path", path, "file")
    elif output.engine != "null":
        yield Place(f"{key}.path", output.path, _kind(output.engine))
    for name in ("trace", "folded"):
        if isinstance(report := output.parameters.get(name), str):
            yield Place(f"{key}.parameters.{name}", report, "file")


def left_out(name: str) -> str:
    """The file with the steps that the stream of an output left out. Local."""
    return f"{name}-left-out.csv"


def of_results(key: str, out: Path, name: str, engine: str) -> Iterator[Place]:
    """What an analysis writes. Local."""
    for each in (name, f"{name}-final"):
        yield Place(key, str(out / f"{each}.csv"), "file")
        yield Place(key, default_path(str(out / each), engine), _kind(engine))


def _kind(engine: str) -> Literal["file", "directory", "emptied"]:
    if engine in ("bp4", "bp5"):
        return "emptied"
    return "file" if engine == "hdf5" else "directory"


def clash(place: Place, others: Iterable[Place]) -> str:
    """Why a place is not free; "" if it is. Local."""
    found = (_between(place, other) for other in others)
    return next((reason for reason in found if reason), "")


def _between(new: Place, old: Place) -> str:
    if new.kind == old.kind == "input":
        return ""
    if new.path == old.path:
        return f"'{new.named}' is taken by {old.key}" + (f", as '{old.named}'" if old.named != new.named else "")
    for inner, outer in ((new, old), (old, new)):
        if outer.path in inner.path.parents:
            why = _why_not_inside(inner, outer)
            if why:
                return f"'{new.named}' is {'inside' if inner is new else 'around'} '{old.named}' of {old.key}: {why}"
    return ""


def _why_not_inside(inner: Place, outer: Place) -> str:
    if outer.kind in ("input", "file"):
        return "that is a file" if outer.kind == "file" else "that is a file, which is read"
    if outer.kind == "emptied":
        return "ADIOS2 deletes all other files in the directory of a series"
    if _OWN.fullmatch(inner.path.relative_to(outer.path).parts[0]):
        return "files of such names belong to what is stored there"
    return ""
