"""Put the images of all ranks together: each pixel is that of the rank whose surface is nearest, or all are blended.

Direct send (Hsu 1993): each rank composes one band of the image, so that no rank gets more than the others; what a rank
sends and receives does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


def compose(
    comm: MPI.Comm,
    colours: NDArray[np.uint8],
    depths: NDArray[np.float32],
    order: Sequence[int] | None = None,
    shrink: int = 1,
) -> NDArray[np.uint8] | None:
    """The image of all, (rows, columns, channels), on rank 0; None on the others. Collective.

    :param colours: of this rank, (rows, columns, 3), or 4 with the opacity, by which the others are multiplied.
    :param depths: of this rank, (rows, columns), 1 where it has drawn nothing.
    :param order: the ranks from the nearest to the farthest part: their images are blended, and depths do not matter.
    :param shrink: each side of a pixel of the result is that of so many, of which it is the mean. Each rank does this
        with its band, so that rank 0 gets a small image.
    """
    rows, columns, channels = colours.shape
    edges = [shrink * (rows // shrink * rank // comm.size) for rank in range(comm.size + 1)]
    heights = np.diff(edges)
    mine = int(heights[comm.rank])
    width = columns * channels
    seen = _exchanged(comm, colours, heights * width, mine * width).reshape(comm.size, mine, columns, channels)
    if order is not None:
        band = _blended(seen, order)
    else:
        near = _exchanged(comm, depths, heights * columns, mine * columns).reshape(comm.size, mine, columns)
        nearest = near.argmin(axis=0)  # of equal depths the lowest rank: the same in every run
        band = np.take_along_axis(seen, nearest[None, :, :, None], axis=0)[0]
    band = _shrunk(band, shrink)
    whole = np.empty((rows // shrink, *band.shape[1:]), np.uint8) if comm.rank == 0 else None
    counts = [int(height) // shrink * band.shape[1] * channels for height in heights]
    comm.Gatherv(np.ascontiguousarray(band), [whole, counts] if whole is not None else None, root=0)
    return whole


def _shrunk(image: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """The means of `by` x `by` pixels."""
    rows, columns, channels = image.shape
    total = np.zeros((rows // by, columns // by, channels), np.uint16)
    for row in range(by):
        for column in range(by):
            total += image[row::by, column::by]
    return ((total + by * by // 2) // (by * by)).astype(np.uint8)


def _blended(seen: NDArray[np.uint8], order: Sequence[int]) -> NDArray[np.uint8]:
    """Images over each other, the nearest first (Porter and Duff 1984)."""
    found = np.zeros(seen.shape[1:], np.float32)
    for rank in order:
        found += (1 - found[..., 3:] / 255) * seen[rank]
    return np.round(np.minimum(found, 255)).astype(np.uint8)


def _exchanged(comm: MPI.Comm, values: NDArray[Any], sends: NDArray[Any], receives: int) -> NDArray[Any]:
    """The bands of this rank from all ranks, one after the other."""
    if comm.size == 1:
        return values
    room = np.empty(comm.size * receives, values.dtype)
    given = [int(one) for one in sends]
    comm.Alltoallv([np.ascontiguousarray(values), given], [room, [receives] * comm.size])
    return room
