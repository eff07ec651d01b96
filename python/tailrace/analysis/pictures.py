"""The pictures of an analysis: NAME-KEY-000123.png, each with a mark that identifies it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.core import InputError, IoError
from tailrace.files.regular import open_regular
from tailrace.files.whole import drafted


def pictures(directory: Path, name: str) -> list[tuple[Path, int]]:
    """The pictures of an analysis, with their steps."""
    form = re.compile(re.escape(name) + r"-[A-Za-z_]\w*-(\d{6,})\.png")
    return [(path, int(match[1])) for path in directory.iterdir() if (match := form.fullmatch(path.name))]


def mark(title: str) -> str:
    """The entry `Source` of the pictures."""
    return f"Tailrace {title}"


def entries(title: str, made_by: str) -> dict[str, str | None]:
    """The metadata of the pictures. The version of the program is left out, so that equal figures are equal files."""
    return {"Software": None, "Source": mark(title), "Comment": f"made by {made_by}"}


def draw(directory: Path, name: str, index: int, figures: Mapping[str, Any], *, title: str, made_by: str) -> None:
    """Draw the figures of a step, all or none.

    :raises InputError: a figure cannot be drawn.
    :raises IoError: a picture cannot be written, or something else is in its place.
    """
    drawn: list[Path] = []
    try:
        for key, figure in figures.items():
            path = directory / f"{name}-{key}-{index:06d}.png"
            try:
                if path.exists() and not is_ours(path, title):
                    raise IoError(f"{path} is there already, and is no picture of {title}; move it away")
                with drafted(path) as draft:
                    figure.savefig(draft, metadata=entries(title, made_by))
            except IoError:
                raise
            except OSError as error:
                raise IoError(f"cannot draw {path}: {type(error).__name__}: {error}") from error
            except Exception as error:  # of the figure: text that is not valid TeX
                raise InputError(f"the figure '{key}' cannot be drawn: {type(error).__name__}: {error}") from error
            drawn.append(path)
    except (InputError, IoError):
        for path in drawn:
            path.unlink(missing_ok=True)
        raise


def is_ours(picture: Path, title: str) -> bool:
    """Whether a picture has our mark, which PNG files have before the image."""
    try:
        with open_regular(picture, "rb") as file:
            return f"Source\0{mark(title)}".encode() in file.read(4096)
    except OSError:  # a directory or a named pipe in its place, or a file that may not be read
        return False


def maker(picture: Path) -> str:
    """Who made a picture, see `files.provenance`; "" if unknown."""
    with open_regular(picture, "rb") as file:
        found = re.search(rb"Comment\0made by (\w+)", file.read(4096))
    return found[1].decode() if found else ""


def is_figure(value: Any) -> bool:
    """Whether a script returned a figure."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def close_figures(figures: Mapping[str, Any]) -> None:
    """Close the figures, on every rank: pyplot keeps every figure until it is closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        for figure in figures.values():
            if isinstance(figure, pyplot.Figure):
                pyplot.close(figure)
