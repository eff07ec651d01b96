"""Averages over directions, and sums over ranks of arrays of which each rank has a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from .operators import Operators
    from .points import Centred


def average(operators: Operators, values: NDArray[Any], centred: Centred, axes: str) -> NDArray[np.float64]:
    """Average over the directions `axes`, as "xz", weighted by the trapezoidal rule. Collective.

    :param values: this rank's part of a field, (nz, ny, nx).
    :returns: on every rank, the whole array over the other directions, in the order z, y, x; of "xz" (ny,).
    """
    kept = kept_directions(axes)
    weights = [operators.weights(d, centred) / operators.grid.lengths[d] for d in range(3) if d not in kept]
    letters = ",".join(axis for axis in "xyz" if axis in axes)
    result = "".join("xyz"[d] for d in kept)
    own = np.einsum(f"zyx,{letters}->{result}", values.astype(np.float64, copy=False), *weights)
    return join_parts(operators, own, centred, kept)


def kept_directions(axes: str) -> list[int]:
    """The directions that are not in `axes`, in the order of array indices: z (2), y (1), x (0). Local."""
    return [d for d in (2, 1, 0) if "xyz"[d] not in axes]


def join_parts(operators: Operators, own: NDArray[Any], centred: Centred, kept: Sequence[int]) -> NDArray[Any]:
    """The whole of an array whose last indices are the directions `kept`. Collective.

    :param own: this rank's part; where several ranks have the same part, their values are added.
    :returns: the whole array, on every rank.
    """
    shape, (start, count) = operators.shape(centred), operators.box(centred)
    whole = np.zeros([*own.shape[: own.ndim - len(kept)], *(shape[d] for d in kept)], own.dtype)
    place: tuple[Any, ...] = tuple(slice(start[d], start[d] + count[d]) for d in kept)
    whole[(..., *place)] = own
    return sum_over_ranks(operators.comm, whole)


def sum_over_ranks(comm: MPI.Comm, values: NDArray[Any]) -> NDArray[Any]:
    """The sum over ranks, in place. Collective."""
    if comm.size > 1:
        from mpi4py import MPI

        comm.Allreduce(MPI.IN_PLACE, values.view(np.uint8) if values.dtype == bool else values)
    return values
