"""What is around the scene of a picture: the time, the bars of colours, names and numbers of the axes. All is local."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .camera import Camera, Vector3
from .colours import Range, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BAR, _GAP = 0.26, 0.025  # of the width of the picture: of a bar at most, and between bars
_FINE = 2  # lines are drawn so many times finer
_STRIP = 7  # the part of the height, as 1 / 7, that the bars have at the bottom


@dataclass(frozen=True)
class Theme:
    """Colours of what is not a field, from 0 to 1."""

    paper: Vector3 = (1.0, 1.0, 1.0)
    ink: Vector3 = (0.1, 0.1, 0.1)
    lines: Vector3 = (0.55, 0.55, 0.55)


LIGHT, DARK = Theme(), Theme((0.06, 0.07, 0.09), (0.92, 0.92, 0.92), (0.5, 0.5, 0.5))


@dataclass(frozen=True)
class Bar:
    """The colours of a range."""

    name: str
    limits: Range
    colours: str = ""


def scene_size(size: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows of the scene, which is above the bars, in a picture of `size`. Local."""
    return size[0], size[1] - size[1] // _STRIP


def finished(
    whole: NDArray[np.uint8],
    size: tuple[int, int],
    theme: Theme,
    title: str,
    bars: Sequence[Bar],
    camera: Camera,
    lengths: Vector3,
    *,
    clear: bool = False,
) -> NDArray[np.uint8]:
    """The picture with everything around the scene, (rows, columns, 3).

    :param whole: the scene; with a fourth channel, by which the others are multiplied, without its box.
    :param clear: nothing is behind it, and the picture has a fourth channel.
    """
    from PIL import Image, ImageDraw

    inner = scene_size(size)
    image = Image.new("RGBA" if clear else "RGB", size, (*_bytes(theme.paper), *([0] if clear else [])))
    if whole.shape[2] == 4:
        whole = _boxed(whole, theme, camera, lengths, clear=clear)
    image.paste(_straight(whole), (0, 0))
    pen = ImageDraw.Draw(image)
    ink = _bytes(theme.ink)
    columns, rows = size
    pen.text((rows // 30, rows // 36), title, fill=ink, font=_font(rows // 28))
    _number_axes(pen, camera, lengths, inner, ink)
    width = min(_BAR, (1 - _GAP) / max(len(bars), 1) - _GAP)
    for number, bar in enumerate(bars):
        left = 1 - (number + 1) * (width + _GAP)
        _draw_bar(image, pen, bar, ink, (int(left * columns), rows - rows // 12, int(width * columns)))
    return np.asarray(image)


def _straight(image: NDArray[np.uint8]) -> Any:
    """An image whose opacity, if it has one, multiplies its colours no more."""
    from PIL import Image

    if image.shape[2] == 3:
        return Image.fromarray(image)
    found = image.astype(np.float32)
    found[..., :3] *= 255 / np.maximum(found[..., 3:], 1)
    return Image.fromarray(np.minimum(np.round(found), 255).astype(np.uint8))


def _boxed(
    whole: NDArray[np.uint8], theme: Theme, camera: Camera, lengths: Vector3, *, clear: bool
) -> NDArray[np.uint8]:
    """A scene on the paper, or on nothing, with the edges of its box: those behind it, and those before it."""
    from PIL import Image, ImageDraw

    size = (_FINE * whole.shape[1], _FINE * whole.shape[0])
    layers = [Image.new("L", size, 0) for _ in range(2)]
    for before, begin, end in _edges(camera, lengths):
        ImageDraw.Draw(layers[before]).line([camera.seen_at(begin, size), camera.seen_at(end, size)], 255, _FINE)
    ink = np.array([*_bytes(theme.lines), 255], np.float32)
    behind, front = (np.asarray(one.reduce(_FINE))[..., None] / 255 * ink for one in layers)
    paper = np.zeros(whole.shape, np.float32) if clear else np.array([*_bytes(theme.paper), 255], np.float32)
    found: NDArray[Any] = paper
    for one in (behind, whole.astype(np.float32), front):
        found = one + (1 - one[..., 3:] / 255) * found
    return np.round(np.minimum(found if clear else found[..., :3], 255)).astype(np.uint8)


def _edges(camera: Camera, lengths: Vector3) -> Iterator[tuple[bool, Vector3, Vector3]]:
    """The twelve edges of the box: whether one is before what is in it, and its ends."""
    position, box = np.array(camera.position), np.array(lengths)
    for d in range(3):
        others = [e for e in range(3) if e != d]
        for ends in ((0, 0), (0, 1), (1, 0), (1, 1)):
            begin, end = np.zeros(3), np.zeros(3)
            end[d] = box[d]
            for e, upper in zip(others, ends, strict=True):
                begin[e] = end[e] = upper * box[e]
            seen = [position[e] > box[e] if upper else position[e] < 0 for e, upper in zip(others, ends, strict=True)]
            (a, b, c), (i, j, k) = begin, end
            yield any(seen), (float(a), float(b), float(c)), (float(i), float(j), float(k))


def _draw_bar(image: Any, pen: Any, bar: Bar, ink: Any, place: tuple[int, int, int]) -> None:
    from PIL import Image

    rows = image.size[1]
    (left, top, width), height = place, max(6, rows // 60)
    table = table_of(bar.colours, bar.limits)[:, :3]
    strip = Image.fromarray(np.repeat(table[None], height, axis=0)).resize((width, height), Image.Resampling.BILINEAR)
    image.paste(strip, (left, top))
    font = _font(rows // 38)
    pen.text((left + width // 2, top - rows // 70), bar.name, fill=ink, font=font, anchor="ms")
    values = [bar.limits[0] + share * (bar.limits[1] - bar.limits[0]) for share in (0.0, 0.5, 1.0)]
    digits = next((n for n in range(3, 12) if len({f"{value:.{n}g}" for value in values}) == 3), 12)
    for share, value in zip((0.0, 0.5, 1.0), values, strict=True):
        anchor = "lt" if share == 0 else "rt" if share == 1 else "mt"
        pen.text(
            (left + share * width, top + height + rows // 150),
            f"{value:.{digits}g}",
            fill=ink,
            font=font,
            anchor=anchor,
        )


def _number_axes(pen: Any, camera: Camera, lengths: Vector3, size: tuple[int, int], ink: Any) -> None:
    """The name of each axis and its two ends, at an edge of the box on the outside of what is seen."""
    corners = {
        (i, j, k): camera.seen_at((i * lengths[0], j * lengths[1], k * lengths[2]), size)
        for i in (0, 1)
        for j in (0, 1)
        for k in (0, 1)
    }
    middle = np.mean(list(corners.values()), axis=0)
    font = _font(size[1] // 38)
    away = size[1] / 28
    texts: list[tuple[bool, float, float, str]] = []
    for d, name in enumerate("xyz"):
        begin, end = _outer_edge(corners, d, middle)
        if np.hypot(*(end - begin)) < size[1] / 10:
            continue  # seen from its end
        along = (end - begin) / np.hypot(*(end - begin))
        across = np.array([-along[1], along[0]])
        across *= np.sign(across @ ((begin + end) / 2 - middle)) or 1.0
        for share, text in ((0.06, "0"), (0.5, name), (0.94, f"{lengths[d]:.4g}")):
            x, y = begin + share * (end - begin) + away * across
            texts.append((text != name, float(x), float(y), text))
    taken: list[tuple[float, float, float, float]] = []
    for _, x, y, text in sorted(texts, key=lambda one: one[0]):  # names first: a number that has no room is left out
        box = pen.textbbox((x, y), text, font=font, anchor="mm")
        if not any(_overlap(box, other) for other in taken):
            taken.append(box)
            pen.text((x, y), text, fill=ink, font=font, anchor="mm")


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _outer_edge(corners: dict[tuple[int, int, int], tuple[float, float]], d: int, middle: Any) -> tuple[Any, Any]:
    """The ends of the edge along a direction that is farthest from the middle, of equals the lowest."""
    edges = []
    for at, place in corners.items():
        if at[d] == 0:
            other = (*at[:d], 1, *at[d + 1 :])
            edges.append((np.array(place), np.array(corners[other[0], other[1], other[2]])))

    def rank(edge: tuple[Any, Any]) -> float:
        begin, end = edge
        along = (end - begin) / (np.hypot(*(end - begin)) or 1.0)
        across = (begin + end) / 2 - middle
        distance = abs(across[0] * along[1] - across[1] * along[0])
        return float(distance + 0.3 * across[1] - 0.05 * across[0])

    return max(edges, key=rank)


def _bytes(colour: Vector3) -> tuple[int, ...]:
    return tuple(round(255 * one) for one in colour)


@functools.cache
def _font(size: int) -> Any:
    import matplotlib
    from PIL import ImageFont

    path = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    return ImageFont.truetype(str(path), max(8, size))
