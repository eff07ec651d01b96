"""`tailrace render`: the pictures and pipelines of a case for the steps of a series, on disk or from a stream."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from tailrace.case.captions import caption
from tailrace.case.document import ConfigError, explain, read_toml
from tailrace.case.schedule import Schedule
from tailrace.case.scripts import load_function
from tailrace.case.sections.catalyst_section import CatalystSection
from tailrace.case.sections.picture_section import PictureSection
from tailrace.case.sections.rhythm import Rhythm
from tailrace.case.sections.section import Section
from tailrace.catalyst.executions import made_by
from tailrace.consumers.catalyst import Catalyst
from tailrace.consumers.picture import Picture
from tailrace.core import InputError
from tailrace.parallel import agree, on_root
from tailrace.pictures.database import files_of

from .source import SeriesSource

if TYPE_CHECKING:
    from mpi4py import MPI


class _Blocks(Section):
    """A file with [[picture]] and [[catalyst]] blocks."""

    picture: list[PictureSection] = Field(default_factory=list)
    catalyst: list[CatalystSection] = Field(default_factory=list)


@dataclass(frozen=True)
class RenderRequest:
    """The options of the command.

    :param pictures: a case, or a file with [[picture]] and [[catalyst]] blocks only.
    :param overwrite: earlier films and tables of the same names may be replaced.
    """

    pictures: Path
    source: str
    overwrite: bool = False


def render(request: RenderRequest, comm: MPI.Comm) -> int:
    """Draw the steps that are due. Collective.

    :returns: the exit code: 1 if a picture could not be drawn or a pipeline failed.
    :raises ConfigError, InputError, IoError: a block is wrong, the source cannot be read, or a result is there already.
    """

    def say(text: str) -> None:
        if comm.rank == 0:
            print(text, flush=True)

    source = SeriesSource(request.source, comm)
    try:
        drawn = _opened(request, source, comm, say)
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
    return 1 if any(one.incomplete for one in drawn) else 0


def _opened(
    request: RenderRequest, source: SeriesSource, comm: MPI.Comm, say: Callable[[str], None]
) -> list[Picture | Catalyst]:
    path = request.pictures
    blocks = agree(comm, lambda: _read(path, source.names))
    known = agree(comm, lambda: _functions(path, blocks))
    on_root(comm, lambda: _make_free(blocks, overwrite=request.overwrite))
    case = str(source.attributes.get("case", ""))
    titles = agree(comm, lambda: _titles(path, blocks.picture, case))
    pictures = [
        Picture(section, comm, say, _schedule(section), functions=known, resumed=None, title=title)
        for section, title in zip(blocks.picture, titles, strict=True)
    ]
    pipelines = [
        Catalyst(
            section, comm, say, _schedule(section),
            directory=path.parent, scalars=source.names, functions=known, resumed=None,
        )
        for section in blocks.catalyst
    ]  # fmt: skip
    return [*pictures, *pipelines]


def _read(path: Path, names: Sequence[str]) -> _Blocks:
    whole = read_toml(path)
    document: dict[str, Any] = {name: whole.get(name, []) for name in _Blocks.model_fields}
    if not any(document.values()):
        raise InputError(f"{path}: has no [[picture]] and no [[catalyst]]; docs/howto/film.md shows one")
    try:
        return _Blocks.model_validate(document, context={"scalars": names, "directory": path.parent})
    except ValidationError as error:
        raise ConfigError(str(path), explain(error, _Blocks, document, ())) from None


def _functions(path: Path, blocks: _Blocks) -> dict[str, Any]:
    sections: list[PictureSection | CatalystSection] = [*blocks.picture, *blocks.catalyst]
    words = [word for section in sections for word in section.functions()]
    return {word: load_function(word, path.parent, "render") for word in words}


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


def _schedule(section: Rhythm) -> Schedule:
    return Schedule(every=section.every, interval=section.interval, times=section.times, dt=None)


def _make_free(blocks: _Blocks, *, overwrite: bool) -> None:
    """Check that nothing is replaced without being asked; what pipelines have made must go, since others follow."""
    made = [path for one in blocks.catalyst for path in made_by(one.record_path, one.directory)]
    made += [path for one in blocks.picture if one.database for path in files_of(one.database_path)]
    results = [path for one in blocks.picture for path in (one.film_path, one.table_path)] + made
    for path in () if overwrite else results:
        if path.exists():
            raise InputError(f"{path} is there already; give --overwrite to replace it, or another name or out")
    for path in made:
        path.unlink()
