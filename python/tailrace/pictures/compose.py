"""Put the images of all ranks together by depth: each pixel is that of the rank whose surface is nearest.

Direct send (Hsu 1993): each rank composes one band of the image, so that no rank gets more than the others; what a rank
sends and receives does not grow with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


def compose(comm: MPI.Comm, colours: NDArray[np.uint8], depths: NDArray[np.float32]) -> NDArray[np.uint8] | None:
    """The image of all, (rows, columns, 3), on rank 0; None on the others. Collective.

    :param colours: of this rank, (rows, columns, 3).
    :param depths: of this rank, (rows, columns), 1 where it has drawn nothing.
    """
    if comm.size == 1:
        return colours
    rows, columns, _ = colours.shape
    edges = [rows * rank // comm.size for rank in range(comm.size + 1)]
    heights = np.diff(edges)
    mine = int(heights[comm.rank])
    near = _exchanged(comm, depths, heights * columns, mine * columns).reshape(comm.size, mine, columns)
    seen = _exchanged(comm, colours, heights * columns * 3, mine * columns * 3).reshape(comm.size, mine, columns, 3)
    nearest = near.argmin(axis=0)  # of equal depths the lowest rank: the same in every run
    band = np.take_along_axis(seen, nearest[None, :, :, None], axis=0)[0]
    whole = np.empty_like(colours) if comm.rank == 0 else None
    counts = [int(height) * columns * 3 for height in heights]
    comm.Gatherv(np.ascontiguousarray(band), [whole, counts] if whole is not None else None, root=0)
    return whole


def _exchanged(comm: MPI.Comm, values: NDArray[Any], sends: NDArray[Any], receives: int) -> NDArray[Any]:
    """The bands of this rank from all ranks, one after the other."""
    room = np.empty(comm.size * receives, values.dtype)
    given = [int(one) for one in sends]
    comm.Alltoallv([np.ascontiguousarray(values), given], [room, [receives] * comm.size])
    return room
