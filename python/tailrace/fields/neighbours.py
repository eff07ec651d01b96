"""A rank's part of a field with planes of its neighbours, so that what is drawn of it has no gaps between ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import DTypeLike, NDArray

    from .field import Field

_Box = tuple[tuple[int, ...], tuple[int, ...]]  # start and count in x, y, z


class Neighbours:
    """The planes around this rank's part of the nodes of a grid. Collective.

    :param start, count: of the part, in x, y, z.
    :param shape: nodes of the whole.
    :param periodic: whether a direction continues at its other end.
    :param before, after: planes of neighbours on either side.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        start: tuple[int, ...],
        count: tuple[int, ...],
        shape: tuple[int, ...],
        periodic: tuple[bool, ...],
        before: int,
        after: int,
    ) -> None:
        self._comm, self._shape, self._periodic = comm, shape, periodic
        self._before, self._after = before, after
        self._boxes: list[_Box] = comm.allgather((tuple(start), tuple(count)))
        self._start, self._count = tuple(start), tuple(count)

    @classmethod
    def of(cls, field: Field, before: int, after: int, *, wrapped: bool = True) -> Self:
        """Those of the part of a field. Collective.

        :param wrapped: periodic directions continue.
        """
        operators = field.operators
        start, count = operators.box(field.centred)
        periodic = tuple(wrapped and kind == "periodic" for kind in operators.grid.boundaries)
        shape = operators.shape(field.centred)
        return cls(operators.comm, tuple(start), tuple(count), shape, periodic, before, after)

    def places(self, d: int) -> NDArray[np.int64]:
        """The nodes along a direction that `extended` has, also beyond the ends of a periodic one. Local."""
        return np.array(self._wanted(d, (self._start, self._count)), np.int64)

    def _wanted(self, d: int, box: _Box) -> list[int]:
        first, n = box[0][d], box[1][d]
        if n == 0:
            return []
        around = range(first - self._before, first + n + self._after)
        return [node for node in around if self._periodic[d] or 0 <= node < self._shape[d]]

    def extended(self, values: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Values on the nodes of this rank, (nz, ny, nx), with the planes around them. Collective."""
        values = np.asarray(values)
        own: _Box = (self._start, self._count)
        nodes = [self._wanted(d, own) for d in range(3)]
        out = np.empty([len(nodes[d]) for d in (2, 1, 0)], dtype or values.dtype)
        filled = [_places_of(nodes[d], self._start[d], self._count[d]) for d in range(3)]
        out[filled[2], filled[1], filled[0]] = values
        for d in range(3):
            filled[d] = slice(0, len(nodes[d]))
            self._fill(d, nodes[d], out[filled[2], filled[1], filled[0]])
        return out

    def _fill(self, d: int, nodes: list[int], out: NDArray[Any]) -> None:
        """Get the planes around the own ones, which `out` has, along a direction."""
        (first, n), size = (self._start[d], self._count[d]), self._shape[d]
        planes, shift = np.moveaxis(out, 2 - d, 0), _places_of(nodes, first, n).start - first
        requests: list[Any] = []
        inputs: list[tuple[list[int], Any]] = []
        for rank, box in enumerate(self._boxes):
            if not self._same_line(d, box):
                continue
            at = [k for k, node in enumerate(nodes) if box[0][d] <= node % size < box[0][d] + box[1][d]]
            if rank == self._comm.rank:
                beyond = [k for k in at if nodes[k] % size != nodes[k]]
                planes[beyond] = planes[[nodes[k] % size + shift for k in beyond]]
                continue
            theirs = [node % size for node in self._wanted(d, box)]
            if mine := [node + shift for node in theirs if first <= node < first + n]:
                packed = np.ascontiguousarray(planes[mine])
                requests.append(self._comm.Isend(packed, rank, tag=d))
            if at:
                room = np.empty((len(at), *planes.shape[1:]), out.dtype)
                requests.append(self._comm.Irecv(room, rank, tag=d))
                inputs.append((at, room))
        for request in requests:
            request.Wait()
        for at, room in inputs:
            planes[at] = room

    def _same_line(self, d: int, box: _Box) -> bool:
        """Whether another part is beside this one in this direction alone."""
        return all(box[0][e] == self._start[e] and box[1][e] == self._count[e] for e in range(3) if e != d)


def _places_of(nodes: list[int], first: int, n: int) -> slice:
    """Where some nodes are among others."""
    at = nodes.index(first) if n else 0
    return slice(at, at + n)


def coordinates_of(field: Field, d: int, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The coordinates of nodes along a direction, of those beyond the ends of a periodic one too. Local."""
    along = np.asarray(field.grid.coordinates[d])
    length = field.operators.grid.lengths[d]
    turns, inside = np.divmod(nodes, len(along))
    return np.asarray(along[inside] + turns * length)


def inner(nodes: NDArray[np.int64], start: int, count: int, size: int, *, periodic: bool) -> slice:
    """Of the extended nodes of a direction those of this rank's cells: its own and the next one. Local."""
    if count == 0:
        return slice(0, 0)
    last = start + count if periodic or start + count < size else start + count - 1
    first = int(np.flatnonzero(nodes == start)[0])
    return slice(first, first + last - start + 1)
