"""Parts of fields: averages over directions. All collective."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .field import Field


def average(f: Field, axes: str) -> NDArray[np.float64]:
    """Average over the directions `axes`, as "xz", weighted by the trapezoidal rule; every rank gets all of it.

    :returns: an array over the directions that are left, in the order z, y, x; of "xz" (ny,).
    """
    operators = f.operators
    kept = [d for d in (2, 1, 0) if "xyz"[d] not in axes]
    weights = [operators.weights(d, f.centred) / operators.grid.lengths[d] for d in range(3) if "xyz"[d] in axes]
    letters = ",".join(axis for axis in "xyz" if axis in axes)
    own = np.einsum(
        f"zyx,{letters}->" + "".join("xyz"[d] for d in kept), f.data.astype(np.float64, copy=False), *weights
    )
    shape, (start, count) = operators.shape(f.centred), operators.box(f.centred)
    whole = np.zeros([shape[d] for d in kept])
    whole[tuple(slice(start[d], start[d] + count[d]) for d in kept)] = own
    return np.asarray(operators.comm.allreduce(whole))
