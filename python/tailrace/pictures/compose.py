"""Put the images of all ranks together: each pixel is that of the rank whose surface is nearest, or all are blended.

Direct send (Hsu 1993): each rank composes one band of the image, so that no rank gets more than the others; what a rank
sends and receives does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


class Drawn(NamedTuple):
    """What a rank has drawn of an image.

    :param cut: the columns and rows of it: left, top, right, bottom.
    :param colours: (rows, columns, 4): red, green, blue and the opacity, by which the others are multiplied.
    :param depths: (rows, columns), 1 where nothing is.
    """

    cut: tuple[int, int, int, int]
    colours: NDArray[np.uint8]
    depths: NDArray[np.float32]


def compose(
    comm: MPI.Comm,
    drawn: Drawn,
    size: tuple[int, int],
    background: Sequence[int],
    order: Sequence[int] | None = None,
    shrink: int = 1,
) -> NDArray[np.uint8] | None:
    """The image of all, (rows, columns, 4), on rank 0; None on the others. Collective.

    :param size: columns and rows of the whole image.
    :param background: the four channels of a pixel that no rank has drawn.
    :param order: the ranks from the nearest to the farthest part: their images are blended, and depths do not matter.
    :param shrink: each side of a pixel of the result is that of so many, of which it is the mean. Each rank does this
        with its band, so that rank 0 gets a small image.
    """
    columns, rows = size[0] // shrink, size[1] // shrink
    edges = [shrink * (rows * rank // comm.size) for rank in range(comm.size + 1)]
    parts = _exchanged(comm, drawn, edges, with_depths=order is None)
    heights = np.diff(edges) // shrink
    band = _filled(int(heights[comm.rank]), columns, background)
    if parts:  # the rest is background
        left, top, right, bottom = around = _around(parts.values(), shrink)
        moved = {rank: _moved(part, around) for rank, part in parts.items()}
        fine = _filled(bottom - top, right - left, background)
        if order is not None:
            fine = _blended(fine, [moved[rank] for rank in order if rank in moved])
        else:
            _lay_nearest(fine, moved.values())
        band[top // shrink : bottom // shrink, left // shrink : right // shrink] = _shrunk(fine, shrink)
    whole = np.empty((rows, columns, 4), np.uint8) if comm.rank == 0 else None
    counts = [int(height) * columns * 4 for height in heights]
    comm.Gatherv(band, [whole, counts] if whole is not None else None, root=0)
    return whole


def _filled(rows: int, columns: int, pixel: Sequence[int]) -> NDArray[np.uint8]:
    """An image of one colour."""
    band = np.empty((rows, columns, 4), np.uint8)
    _pixels(band)[...] = np.array(pixel, np.uint8).view(np.uint32)
    return band


def _pixels(image: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The four channels of each pixel as one number, which is moved in a quarter of the time; (rows, columns)."""
    return image.view(np.uint32)[..., 0]


def _around(parts: Iterable[Drawn], shrink: int) -> tuple[int, int, int, int]:
    """The smallest box with all parts, whose edges are those of whole pixels of the result."""
    cuts = np.array([part.cut for part in parts])
    left, top = cuts[:, :2].min(axis=0) // shrink * shrink
    right, bottom = -(-cuts[:, 2:].max(axis=0) // shrink) * shrink
    return int(left), int(top), int(right), int(bottom)


def _moved(part: Drawn, into: tuple[int, int, int, int]) -> Drawn:
    left, top, right, bottom = part.cut
    return part._replace(cut=(left - into[0], top - into[1], right - into[0], bottom - into[1]))


def _exchanged(comm: MPI.Comm, drawn: Drawn, edges: Sequence[int], *, with_depths: bool) -> dict[int, Drawn]:
    """What ranks have drawn of this rank's band, which goes from one of the edges to the next; some have nothing."""
    cuts = np.empty((comm.size, 4), np.int64)
    comm.Allgather(np.array(drawn.cut, np.int64), cuts)
    begin, end = edges[comm.rank : comm.rank + 2]
    _, _, sends = _of_band(cuts[comm.rank], np.array(edges[:-1]), np.array(edges[1:]))
    firsts, lasts, receives = _of_band(cuts, begin, end)
    colours = _sent(comm, _pixels(np.ascontiguousarray(drawn.colours)), sends, receives)
    depths = _sent(comm, drawn.depths, sends, receives) if with_depths else np.empty(receives.sum(), np.float32)
    ends = np.cumsum(receives)
    parts = {}
    for rank in map(int, np.flatnonzero(receives)):
        inside = slice(int(ends[rank] - receives[rank]), int(ends[rank]))
        first, last, (left, _, right, _) = int(firsts[rank]), int(lasts[rank]), cuts[rank].tolist()
        shape = (last - first, right - left)
        seen = colours[inside].view(np.uint8).reshape(*shape, 4)
        parts[rank] = Drawn((left, first - begin, right, last - begin), seen, depths[inside].reshape(shape))
    return parts


def _of_band(cuts: NDArray[Any], begin: Any, end: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The first row of bands that cuts have, the row after the last one, and the pixels between."""
    first = np.maximum(cuts[..., 1], begin)
    last = np.maximum(first, np.minimum(cuts[..., 3], end))
    return first, last, (last - first) * (cuts[..., 2] - cuts[..., 0])


def _sent(comm: MPI.Comm, values: NDArray[Any], sends: NDArray[Any], receives: NDArray[Any]) -> NDArray[Any]:
    """The values for this rank from all ranks, one after the other. Rows of a part are in the order of the bands."""
    if comm.size == 1:
        return values.ravel()
    room = np.empty(receives.sum(), values.dtype)
    comm.Alltoallv([np.ascontiguousarray(values), sends], [room, receives])
    return room


def _lay_nearest(band: NDArray[np.uint8], parts: Iterable[Drawn]) -> None:
    """Give each pixel the colour that is nearest; of equal depths that of the lowest rank: the same in every run."""
    least = np.ones(band.shape[:2], np.float32)
    for (left, top, right, bottom), colours, depths in parts:
        before = least[top:bottom, left:right]
        closer = depths < before
        np.copyto(before, depths, where=closer)
        np.copyto(_pixels(band)[top:bottom, left:right], _pixels(colours), where=closer)


def _blended(band: NDArray[np.uint8], parts: Sequence[Drawn]) -> NDArray[np.uint8]:
    """Images over each other, the nearest first (Porter and Duff 1984), on a band that is clear."""
    found = band.astype(np.float32)
    for (left, top, right, bottom), colours, _ in parts:
        place = found[top:bottom, left:right]
        place += (1 - place[..., 3:] / 255) * colours
    return np.round(np.minimum(found, 255)).astype(np.uint8)


def _shrunk(image: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """The means of `by` x `by` pixels."""
    from PIL import Image

    rows, columns, _ = image.shape
    # Of CMYK Pillow takes the mean of each channel; colours of RGBA it would divide by their opacity first.
    whole = Image.frombuffer("CMYK", (columns, rows), np.ascontiguousarray(image), "raw", "CMYK", 0, 1)
    return np.asarray(whole.reduce(by))
