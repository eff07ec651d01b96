"""The command `tailrace film`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import fail, guarded, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENDINGS = (".png", ".jpg", ".jpeg")
_PARTS = re.compile(r"(\d+)")


def film(
    pictures: Annotated[
        list[Path], typer.Argument(metavar="PICTURE...", help="Pictures (.png, .jpg) in their order, or a directory.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The film (.mp4, .webm).")] = Path("film.mp4"),
    rate: Annotated[int, typer.Option("--rate", min=1, max=120, help="Pictures in a second.")] = 25,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier film of the same name.")] = False,
) -> None:
    """Make a film of pictures. Films of steps are made by tailrace render, and by [[picture]] while a flow is computed.

    For example: tailrace film q-*.png -o q.mp4
    """
    if out.suffix not in (".mp4", ".webm"):
        fail(f"-o {out}: a film is a .mp4 or .webm file")
    if out.exists() and not overwrite:
        fail(f"{out} is there already; give --overwrite to replace it, or another name by -o")
    found = [path for one in pictures for path in _in_order(one)]
    raise typer.Exit(guarded(lambda: _make(found, out, rate)))


def _in_order(place: Path) -> list[Path]:
    """The pictures of a directory by the numbers in their names, or one picture."""
    if not place.is_dir():
        return [place]
    found = [path for path in place.iterdir() if path.suffix.lower() in _ENDINGS]
    if not found:
        fail(f"{place}: has no picture ({', '.join(_ENDINGS)})")
    return sorted(found, key=lambda path: [int(part) if part.isdecimal() else part for part in _PARTS.split(path.name)])


def _make(paths: list[Path], out: Path, rate: int) -> int:
    """Make it, whole or not at all; returns the exit code."""
    from tailrace.files.marks import FILM
    from tailrace.files.whole import drafted
    from tailrace.pictures.painter import PainterError
    from tailrace.text import duration
    from tailrace.text import size as size_of

    try:
        with drafted(out, FILM, out.suffix) as draft:
            count = _write(paths, draft, rate)
    except PainterError as error:
        fail(str(error), 1)
    print(f"{out}: {count} pictures, {duration(count / rate)}, {size_of(out.stat().st_size)}")
    return 0


def _write(paths: list[Path], out: Path, rate: int) -> int:
    """Write the pictures; returns how many."""
    from tailrace.pictures.film import Film

    first = _read(paths[0])
    rows, columns = (count - count % 2 for count in first.shape[:2])
    if (rows, columns) != first.shape[:2]:
        say(f"note: a film has even numbers of pixels: of each picture {columns} x {rows} are shown")
    film = Film(out, (columns, rows), rate)
    try:
        for path in paths:
            image = _read(path)
            if image.shape != first.shape:
                raise ValueError(
                    f"{path}: is {image.shape[1]} x {image.shape[0]} pixels, and {paths[0]} is {first.shape[1]} x "
                    f"{first.shape[0]}; the pictures of a film have one size"
                )
            film.add(image[:rows, :columns])
    finally:
        film.close()
    return film.frames


def _read(path: Path) -> NDArray[Any]:
    """A picture, (rows, columns, 3); what is transparent becomes white."""
    import numpy as np
    from PIL import Image

    try:
        with Image.open(path) as opened:
            image = opened.convert("RGBA")
    except OSError as error:
        raise ValueError(f"{path}: is no picture that can be read: {error.strerror or error}") from None
    paper = Image.new("RGBA", image.size, (255, 255, 255, 255))
    return np.asarray(Image.alpha_composite(paper, image).convert("RGB"))
