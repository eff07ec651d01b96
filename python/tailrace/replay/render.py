"""`tailrace render`: the pictures of a case, drawn from the steps of a series, on disk or from a stream."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from tailrace.case.captions import caption
from tailrace.case.document import ConfigError, explain, read_toml
from tailrace.case.flow_sections import Section
from tailrace.case.picture_section import PictureSection
from tailrace.case.schedule import Schedule
from tailrace.case.scripts import load_function
from tailrace.consumers.picture import Picture
from tailrace.core import InputError
from tailrace.parallel import agree, on_root

from .source import SeriesSource

if TYPE_CHECKING:
    from mpi4py import MPI


class _Pictures(Section):
    """A file with [[picture]] blocks."""

    picture: list[PictureSection] = Field(min_length=1)


@dataclass(frozen=True)
class RenderRequest:
    """The options of the command.

    :param pictures: a case, or a file with [[picture]] blocks only.
    :param overwrite: earlier films and tables of the same names may be replaced.
    """

    pictures: Path
    source: str
    overwrite: bool = False


def render(request: RenderRequest, comm: MPI.Comm) -> int:
    """Draw the steps that are due. Collective.

    :returns: the exit code: 1 if a picture could not be drawn.
    :raises ConfigError, InputError, IoError: a block is wrong, the source cannot be read, or a result is there already.
    """

    def say(text: str) -> None:
        if comm.rank == 0:
            print(text, flush=True)

    source = SeriesSource(request.source, comm)
    try:
        sections = agree(comm, lambda: _read(request.pictures, source.names))
        known = agree(comm, lambda: _functions(request.pictures, sections))
        on_root(comm, lambda: _check_free(sections, overwrite=request.overwrite))
        case = str(source.attributes.get("case", ""))
        titles = agree(comm, lambda: _titles(request.pictures, sections, case))
        drawn = [
            Picture(section, comm, say, _schedule(section), functions=known, resumed=None, title=title)
            for section, title in zip(sections, titles, strict=True)
        ]
        try:
            steps = source.stream(slice(None)) if source.streaming else map(source.read, source.positions(slice(None)))
            for step in steps:
                for one in drawn:
                    if one.wants(step.index, step.time):
                        one.take(step)
        finally:
            for one in drawn:
                one.close()
    finally:
        source.close()
    if comm.rank == 0:
        for one in drawn:
            one.report()
    return 1 if any(one.left_out for one in drawn) else 0


def _read(path: Path, names: Sequence[str]) -> list[PictureSection]:
    document: dict[str, Any] = {"picture": read_toml(path).get("picture", [])}
    if not document["picture"]:
        raise InputError(f"{path}: has no [[picture]]; docs/howto/film.md shows one")
    try:
        return _Pictures.model_validate(document, context={"scalars": names, "directory": path.parent}).picture
    except ValidationError as error:
        raise ConfigError(str(path), explain(error, _Pictures, document, ())) from None


def _functions(path: Path, sections: Sequence[PictureSection]) -> dict[str, Any]:
    words = [word for section in sections for word in section.functions()]
    return {word: load_function(word, path.parent, "picture") for word in words}


def _titles(path: Path, sections: Sequence[PictureSection], case: str) -> list[str]:
    """With the values of the case that the steps were computed with, which a foreign series does not tell."""
    values = tomllib.loads(case) if case else read_toml(path)
    found = []
    for at, section in enumerate(sections):
        try:
            found.append(caption(section.title, values))
        except ValueError as error:
            raise ConfigError.single(path, f"picture[{at}].title", str(error)) from None
    return found


def _schedule(section: PictureSection) -> Schedule:
    return Schedule(every=section.every, interval=section.interval, times=section.times, dt=None)


def _check_free(sections: Sequence[PictureSection], *, overwrite: bool) -> None:
    for section in () if overwrite else sections:
        for path in (section.film_path, section.table_path):
            if path.exists():
                raise InputError(f"{path} is there already; give --overwrite to replace it, or another name or out")
