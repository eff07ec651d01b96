"""Put the images of all ranks together: each pixel is that of the rank whose surface is nearest, or all are blended.

Direct send (Hsu 1993): each rank composes one band of the image, so that no rank gets more than the others; what a rank
sends and receives does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


class Drawn(NamedTuple):
    """What a rank has drawn of an image.

    :param cut: the columns and rows of it: left, top, right, bottom.
    :param colours: (rows, columns, 3), or 4 with the opacity, by which the others are multiplied.
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
    """The image of all, (rows, columns, channels), on rank 0; None on the others. Collective.

    :param size: columns and rows of the whole image.
    :param background: the channels of a pixel that no rank has drawn.
    :param order: the ranks from the nearest to the farthest part: their images are blended, and depths do not matter.
    :param shrink: each side of a pixel of the result is that of so many, of which it is the mean. Each rank does this
        with its band, so that rank 0 gets a small image.
    """
    columns, rows = size
    edges = [shrink * (rows // shrink * rank // comm.size) for rank in range(comm.size + 1)]
    parts = _exchanged(comm, drawn, edges, with_depths=order is None)
    band = np.empty((edges[comm.rank + 1] - edges[comm.rank], columns, len(background)), np.uint8)
    band[...] = background
    if order is not None:
        band = _blended(band, [parts[rank] for rank in order])
    else:
        _lay_nearest(band, parts)
    band = _shrunk(band, shrink)
    whole = np.empty((rows // shrink, *band.shape[1:]), np.uint8) if comm.rank == 0 else None
    heights = np.diff(edges) // shrink
    counts = [int(height) * (columns // shrink) * len(background) for height in heights]
    comm.Gatherv(np.ascontiguousarray(band), [whole, counts] if whole is not None else None, root=0)
    return whole


def _exchanged(comm: MPI.Comm, drawn: Drawn, edges: Sequence[int], *, with_depths: bool) -> list[Drawn]:
    """What each rank has drawn of this rank's band, which goes from one of the edges to the next."""
    cuts: list[tuple[int, int, int, int]] = comm.allgather(drawn.cut)

    def rows_of(source: int, target: int) -> tuple[int, int]:
        """Those that a rank has of the band of another."""
        first = max(cuts[source][1], edges[target])
        return first, max(first, min(cuts[source][3], edges[target + 1]))

    def counts(pairs: Sequence[tuple[int, int]]) -> list[int]:
        """The pixels that go from ranks to others."""
        rows = [rows_of(source, target) for source, target in pairs]
        widths = [cuts[source][2] - cuts[source][0] for source, _ in pairs]
        return [(last - first) * width for (first, last), width in zip(rows, widths, strict=True)]

    sends = counts([(comm.rank, rank) for rank in range(comm.size)])
    receives = counts([(rank, comm.rank) for rank in range(comm.size)])
    channels = drawn.colours.shape[2]
    colours = _sent(comm, drawn.colours, [n * channels for n in sends], [n * channels for n in receives])
    depths = _sent(comm, drawn.depths, sends, receives) if with_depths else np.empty(sum(receives), np.float32)
    parts, at = [], 0
    for rank, pixels in enumerate(receives):
        (first, last), left, right = rows_of(rank, comm.rank), cuts[rank][0], cuts[rank][2]
        inside = slice(at, at + pixels)
        shape = (last - first, right - left)
        cut = (left, first - edges[comm.rank], right, last - edges[comm.rank])
        seen = colours.reshape(-1, channels)[inside].reshape(*shape, channels)
        parts.append(Drawn(cut, seen, depths[inside].reshape(shape)))
        at += pixels
    return parts


def _sent(comm: MPI.Comm, values: NDArray[Any], sends: list[int], receives: list[int]) -> NDArray[Any]:
    """The values for this rank from all ranks, one after the other. Rows of a part are in the order of the bands."""
    if comm.size == 1:
        return values.ravel()
    room = np.empty(sum(receives), values.dtype)
    comm.Alltoallv([np.ascontiguousarray(values), sends], [room, receives])
    return room


def _lay_nearest(band: NDArray[np.uint8], parts: Sequence[Drawn]) -> None:
    """Give each pixel the colour that is nearest; of equal depths that of the lowest rank: the same in every run."""
    least = np.ones(band.shape[:2], np.float32)
    for (left, top, right, bottom), colours, depths in parts:
        before = least[top:bottom, left:right]
        closer = depths < before
        before[closer] = depths[closer]
        band[top:bottom, left:right][closer] = colours[closer]


def _blended(band: NDArray[np.uint8], parts: Sequence[Drawn]) -> NDArray[np.uint8]:
    """Images over each other, the nearest first (Porter and Duff 1984), on a band that is clear."""
    found = band.astype(np.float32)
    for (left, top, right, bottom), colours, _ in parts:
        place = found[top:bottom, left:right]
        place += (1 - place[..., 3:] / 255) * colours
    return np.round(np.minimum(found, 255)).astype(np.uint8)


def _shrunk(image: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """The means of `by` x `by` pixels."""
    rows, columns, channels = image.shape
    total = np.zeros((rows // by, columns // by, channels), np.uint16)
    for row in range(by):
        for column in range(by):
            total += image[row::by, column::by]
    return ((total + by * by // 2) // (by * by)).astype(np.uint8)
