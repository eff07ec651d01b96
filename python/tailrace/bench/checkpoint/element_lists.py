"""Lists of elements of an unstructured code: ids and coefficients, with an uneven number of elements on the ranks.

The study of input and output in Nektar++ (Bastrakov et al., Journal of Parallel and Distributed Computing 2017) wrote
such lists: each rank holds the elements of its part of a mesh.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.io.placement import Box

from ..ranks.partition import made_up

if TYPE_CHECKING:
    from tailrace.io.series import ArraySeries, ArrayStep

_STEP = 1_000_003  # between the ids of neighbouring elements, so that ids differ from positions


def first_rows(rows: int, ranks: int, uneven: float, seed: int) -> list[int]:
    """The first row of each rank, then the number of all rows.

    :param uneven: 0 gives all ranks the same, 1 up to twice the mean or nothing.
    """
    draw = random.Random(seed)
    weights = [1.0 + uneven * draw.uniform(-1.0, 1.0) for _ in range(ranks)]
    whole = sum(weights)
    return [0, *(round(rows * part / whole) for part in accumulate(weights[:-1])), rows]


class ElementLists:
    """The rows of one rank, which it writes or must read again.

    :param columns: coefficients of an element; 0 leaves their list out.
    """

    def __init__(self, rows: int, columns: int, first: int, end: int) -> None:
        self._first, self._count = first, end - first
        self.lists: dict[str, NDArray[Any]] = {"id": np.arange(first, end, dtype=np.int64) * _STEP}
        if columns:
            box = Box((0, first, 0), (columns, self._count, 1))
            self.lists["coefficients"] = made_up((columns, rows, 1), box, 0, "float64")[0]

    @property
    def bytes(self) -> int:
        """Bytes of this rank."""
        return sum(rows.nbytes for rows in self.lists.values())

    def write(self, series: ArraySeries) -> None:
        """Write the rows into the open step of a series. Collective."""
        for name, rows in self.lists.items():
            series.write_list(name, rows)

    def read(self, step: ArrayStep) -> list[NDArray[Any]]:
        """Read the rows, which other ranks may have written. Collective."""
        columns = {name: rows.shape[1] if rows.ndim == 2 else 1 for name, rows in self.lists.items()}
        return [step.read(name, Box((0, self._first, 0), (count, self._count, 1))) for name, count in columns.items()]

    def equal(self, read: Sequence[NDArray[Any]]) -> bool:
        """Whether rows that were read are equal to these, bit for bit."""
        return len(read) == len(self.lists) and all(
            mine.dtype == other.dtype and mine.size == other.size and np.array_equal(mine.ravel(), other.ravel())
            for mine, other in zip(self.lists.values(), read, strict=True)
        )
