"""Pictures and films as a consumer of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.captions import caption
from tailrace.core import Error, InputError
from tailrace.files.marks import PICTURE, why_foreign
from tailrace.files.whole import drafted
from tailrace.io.time_series import TimeSeries, last_step, read_time_series
from tailrace.parallel import on_root
from tailrace.pictures.database import Database
from tailrace.pictures.drawing import Drawing
from tailrace.pictures.film import Film
from tailrace.pictures.frame import DARK, LIGHT, Theme
from tailrace.pictures.painter import PainterError
from tailrace.pictures.quantity import Function
from tailrace.pictures.scene import Layer, Scene
from tailrace.text import duration
from tailrace.text import size as size_of

from .consumer import Consumer
from .user_functions import UserFunctions

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.schedule import Schedule
    from tailrace.case.sections.picture_section import LayerSection, PictureSection
    from tailrace.flow.checkpoint import OpenCheckpoint, Packed
    from tailrace.steps.step import Step

    from .opening import Opening

_APART = 4  # nodes between arrows
_OPACITY = 0.5  # of a volume
_DEFINITIONS = "step, time: of each picture, in the order of the film"


class Picture(Consumer):
    """Draws the steps that are due, and writes pictures and a film on rank 0. Collective.

    What fails costs the picture, or the film; the run goes on, and a line tells it. `left_out`: how many pictures.

    :param say: prints a line on rank 0.
    :param functions: those that the block names, by 'file.py:function'.
    :param title: before the time.
    :param resumed: continue after this step; None: earlier pictures are replaced.
    :raises InputError, IoError: the film cannot be opened.
    """

    def __init__(
        self,
        section: PictureSection,
        comm: MPI.Comm,
        say: Callable[[str], None],
        schedule: Schedule,
        *,
        functions: Mapping[str, Function],
        resumed: int | None,
        title: str,
    ) -> None:
        super().__init__(f"picture {section.name}", schedule)
        self._section, self._comm, self._say = section, comm, say
        self._functions = UserFunctions(comm, functions)
        self._drawing = Drawing(scene_of(section, self._functions.by_name, title))
        self._off = ""  # why no more pictures are drawn
        self._film: Film | None = None
        self._rows: TimeSeries | None = None
        self._database: Database | None = None
        self._usual = [self._drawing.scene] if section.film or section.png else []
        self._variants = list(variants_of(self._drawing.scene, section))
        try:
            on_root(self._comm, lambda: self._open(resumed))
        except PainterError as error:
            self._off = str(error)
            say(f"warning: picture '{section.name}' is switched off: {error}")
        self.left_out, self._drawn = 0, 0
        self._drawn_now: tuple[int, float] | None = None  # the step whose pictures are being drawn, and its time
        self._last = on_root(self._comm, lambda: last_step(section.table_path) if resumed is not None else None)

    def _open(self, resumed: int | None) -> None:
        section, title = self._section, f"Pictures '{self._section.name}'"
        section.table_path.parent.mkdir(parents=True, exist_ok=True)
        self._rows = TimeSeries(section.table_path, title, resumed, columns=("step", "time"), definitions=_DEFINITIONS)
        kept = len(read_time_series(section.table_path)["step"]) if resumed is not None else 0
        if section.film:
            self._film = Film(section.film_path, section.size, section.rate, kept)
        if section.database:
            self._database = Database(section.database_path, list(self._variants[0][0]), resumed)

    def take(self, step: Step) -> None:
        """Begin to draw a step, if the table does not have it; its picture is written when the next one begins."""
        self._end()
        if self._off or (self._last is not None and step.index <= self._last):
            return
        try:
            self._drawing.begin(step, [*self._usual, *(one for _, one in self._variants)])
        except (PainterError, InputError) as error:
            self._leave_out(step.index, error)
            return
        for line in self._drawing.remarks():
            self._say(f"warning: picture '{self._section.name}' of step {step.index}: {line}")
        self._drawn_now = (step.index, step.time)

    def _end(self) -> None:
        """Wait for the pictures of the last step that was taken, and write them."""
        if self._drawn_now is None:
            return
        (index, time), self._drawn_now = self._drawn_now, None
        try:
            images = self._drawing.end()
        except PainterError as error:
            self._leave_out(index, error)
            return
        try:
            on_root(self._comm, lambda: self._write(index, time, [image for image in images if image is not None]))
        except (Error, OSError, InputError) as error:
            self._off = str(error)
            self._say(f"warning: picture '{self._section.name}' is switched off at step {index}: {error}")
        self._last = index

    def _leave_out(self, index: int, error: Exception) -> None:
        self.left_out += 1
        self._say(f"warning: picture '{self._section.name}' of step {index} is left out: {error}")

    def _write(self, index: int, time: float, images: list[NDArray[np.uint8]]) -> None:
        assert self._rows is not None
        if self._database is not None:
            values, pictures = [one for one, _ in self._variants], images[len(self._usual) :]
            self._database.add(index, time, list(zip(values, pictures, strict=True)))
        for image in images[: len(self._usual)]:
            self._write_usual(index, image)
        self._drawn += 1
        self._rows.append({"step": index, "time": time})

    def _write_usual(self, index: int, image: NDArray[np.uint8]) -> None:
        if self._section.png:
            from PIL import Image
            from PIL.PngImagePlugin import PngInfo

            about = PngInfo()
            about.add_text("Software", "Tailrace picture")
            path = self._section.png_path(index)
            if reason := why_foreign(path, PICTURE):
                raise InputError(reason)
            with drafted(path, ending=".png") as draft:
                Image.fromarray(image).save(draft, pnginfo=about)
        if self._film is not None:
            self._film.add(_on_paper(image, self._drawing.scene.theme))

    def resume(self, checkpoint: OpenCheckpoint) -> None:
        """Take the ranges of the colours of the first picture."""
        told = checkpoint.about.get(self._key)
        if told:
            self._drawing.chosen.update(json.loads(str(told)))

    def state(self) -> Packed | None:
        """The ranges of the colours, which those of later pictures keep."""
        from tailrace.flow.checkpoint import Packed

        return Packed({}, {}, {self._key: json.dumps(self._drawing.chosen)}) if self._drawing.chosen else None

    @property
    def _key(self) -> str:
        return f"picture/{self._section.name}"

    def progress(self) -> Mapping[str, str | float]:
        """How many pictures it has drawn."""
        return {"picture": self._section.name, "drawn": self._drawn, "left out": self.left_out}

    def flush(self) -> None:
        """Wait until the film and the table are on the disk."""
        self._end()
        if not self._off:
            on_root(self._comm, self._sync)

    def _sync(self) -> None:
        if self._film is not None:
            self._film.flush()
        if self._database is not None:
            self._database.sync()
        if self._rows is not None:
            self._rows.sync()

    def close(self) -> None:
        """Complete the film. Closing twice does nothing."""
        self._end()
        self._drawing.close()
        self._functions.close()
        film, rows, self._rows = self._film, self._rows, None
        database, self._database = self._database, None
        with suppress(Error, OSError) if self._off else nullcontext():  # what failed has been told
            if film is not None:
                film.close()
            if rows is not None:
                rows.close()
            if database is not None:
                database.close()

    @property
    def incomplete(self) -> bool:
        """Whether a step was left out, or all from one on. Local."""
        return bool(self._off or self.left_out)

    def report(self) -> None:
        """Print how long the film is, and what its fields would have taken."""
        film = self._film
        if self._off:
            return
        if self._section.database:
            count = self._drawn * len(self._variants)
            print(f"{self._section.database_path}: {count} pictures, shown by its index.html")
        if film is not None:
            self._report_film(film)
        elif self._section.png:
            print(f"{self._section.png_path(0).with_stem(f'{self._section.name}-*')}: {self._drawn} pictures")
        if self.left_out:
            print(f"warning: {self.left_out} pictures of '{self._section.name}' are left out, see above")

    def _report_film(self, film: Film) -> None:
        written = film.path.stat().st_size
        field = f"; one of its fields takes {size_of(self._drawing.field_bytes)}" if self._drawing.field_bytes else ""
        length = duration(film.frames / self._section.rate)
        print(f"{film.path}: {film.frames} pictures, {length}, {size_of(written)}{field}")


def open_pictures(opening: Opening) -> list[Picture]:
    """The [[picture]] blocks of a case. Collective."""
    model, time = opening.model, opening.model.case.time
    return [
        Picture(
            section,
            model.comm,
            opening.say,
            section.schedule(time),
            functions={word: model.case.function(f"picture '{section.name}'", word) for word in section.functions()},
            resumed=opening.resumed,
            title=caption(section.title, model.case.model_dump(exclude_none=True)),
        )
        for section in model.case.picture
    ]


def scene_of(section: PictureSection, functions: Mapping[str, Function], title: str) -> Scene:
    """What a block shows. Local."""
    return Scene(
        tuple(map(_layer_of, section.layers)),
        section.size,
        section.smooth,
        section.view,
        section.up,
        section.orbit,
        title=title,
        theme=DARK if section.theme == "dark" else LIGHT,
        clear=section.transparent,
        functions=functions,
    )


def variants_of(scene: Scene, section: PictureSection) -> Iterator[tuple[dict[str, float], Scene]]:
    """The scenes of a database, each with its values of the columns. Local."""
    wanted = section.database
    if wanted is None:
        return
    surface = next((at for at, layer in enumerate(section.layers) if layer.surface), None)
    plane = next((at for at, layer in enumerate(section.layers) if layer.slice and layer.at), None)
    for turn in range(wanted.phi):
        for value in wanted.values or (None,):
            for place in wanted.places or (None,):
                columns, layers = {"phi": 360.0 * turn / wanted.phi}, list(scene.layers)
                if value is not None and surface is not None:
                    columns["value"] = value
                    layers[surface] = replace(layers[surface], levels=(value,))
                if place is not None and plane is not None:
                    columns["place"] = place
                    layers[plane] = replace(layers[plane], place=place)
                yield columns, replace(scene, layers=tuple(layers), turn=columns["phi"])


def _on_paper(image: NDArray[np.uint8], theme: Theme) -> NDArray[np.uint8]:
    """A picture for a film, which has no transparency."""
    if image.shape[2] == 3:
        return image
    share = image[..., 3:].astype(np.float32) / 255
    return np.round(share * image[..., :3] + (1 - share) * 255 * np.array(theme.paper, np.float32)).astype(np.uint8)


def _layer_of(section: LayerSection) -> Layer:
    more: dict[str, Any] = {"limits": section.range, "colours": section.colours, "label": section.label}
    if section.normal is not None:
        return Layer(section.slice, normal=section.normal, through=section.through, **more)
    if section.volume:
        return Layer(section.volume, opacity=section.opacity or _OPACITY, **more)
    if section.vectors:
        assert section.at is not None  # the section sees to it
        ((axis, place),) = section.at.places.items()
        return Layer(section.vectors, axis=axis, place=place, spacing=section.spacing or _APART, **more)
    if section.slice:
        assert section.at is not None  # the section sees to it
        ((axis, place),) = section.at.places.items()
        return Layer(section.slice, axis=axis, place=place, **more)
    return Layer(section.surface, tuple(section.values), section.colour, **more)
