"""How ranks share a grid, and the values that each rank writes and expects to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.grids import Triple, triple
from tailrace.io.placement import Block, Box

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.io.series import ArraySeries, ArrayStep

_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products with it are all different


def partition_of(text: str, ranks: int) -> Triple:
    """The number of parts in x, y and z.

    :param text: "slabs" (parts of z), "pencils" (of y and z, as the solver has them), "blocks", or numbers as "1,2,4".
    :raises ValueError: the numbers do not give one part for each rank.
    """
    if text == "slabs":
        return 1, 1, ranks
    if text == "pencils":
        rows = max(n for n in range(1, ranks + 1) if ranks % n == 0 and n * n <= ranks)
        return 1, rows, ranks // rows
    if text == "blocks":
        first = max(n for n in range(1, ranks + 1) if ranks % n == 0 and n**3 <= ranks)
        return first, *partition_of("pencils", ranks // first)[1:]
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or min(numbers) < 1:
        raise ValueError(f"--decomposition {text}: expected slabs, pencils, blocks or three numbers as 1,2,4")
    if prod(numbers) != ranks:
        raise ValueError(f"--decomposition {text}: has {prod(numbers)} parts; expected one for each of {ranks} ranks")
    return numbers[0], numbers[1], numbers[2]


def check_fit(shape: Sequence[int], partition: Sequence[int]) -> None:
    """:raises ValueError: a part would have no point."""
    if any(points < count for points, count in zip(shape, partition, strict=True)):
        raise ValueError(
            f"{' x '.join(map(str, shape))} points cannot be shared as {' x '.join(map(str, partition))} parts; "
            "every part needs a point"
        )


def shapes_of(whole: Iterable[Triple], each: Iterable[Triple], partition: Triple) -> list[Triple]:
    """The points in x, y and z of the grids that are measured.

    :param whole: sizes of wholes.
    :param each: sizes of a part.
    :raises ValueError: a whole has fewer points than parts in a direction.
    """
    shapes = [*whole, *(triple([n * m for n, m in zip(size, partition, strict=True)]) for size in each)]
    for shape in shapes:
        check_fit(shape, partition)
    return shapes


def box_of(shape: Sequence[int], partition: Sequence[int], rank: int) -> Box:
    """The box of a rank, (start, count) in x, y, z; parts differ by one point at most."""
    place = (rank % partition[0], rank // partition[0] % partition[1], rank // partition[0] // partition[1])
    starts = [n * p // m for n, p, m in zip(shape, place, partition, strict=True)]
    ends = [n * (p + 1) // m for n, p, m in zip(shape, place, partition, strict=True)]
    counts = [end - start for start, end in zip(starts, ends, strict=True)]
    return Box(triple(starts), triple(counts))


def made_up(shape: Sequence[int], box: Box, variable: int, dtype: str) -> NDArray[Any]:
    """Values between 0 and 1 that depend on the place in the whole only and look random, so nothing compresses them.

    :returns: (nz, ny, nx) of the box.
    """
    (x, y, z), (nx, ny, nz) = box
    mixed = np.arange(x, x + nx, dtype=np.uint64)[None, None, :]
    mixed = mixed + np.arange(y, y + ny, dtype=np.uint64)[None, :, None] * np.uint64(shape[0])
    mixed = mixed + np.arange(z, z + nz, dtype=np.uint64)[:, None, None] * np.uint64(shape[0] * shape[1])
    mixed += np.uint64(variable << 48)
    mixed *= _MIX
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIX
    mixed >>= np.uint64(11)
    values = mixed.astype(np.float64)
    values *= 2.0**-53
    return values.astype(dtype, copy=False)


class Values:
    """The arrays of one rank, which it writes and, without their ghosts, must read again.

    :param shape: points of the whole in x, y, z.
    :param stored: the arrays of a file to write instead of made-up ones, each without ghosts.
    """

    def __init__(
        self,
        shape: Triple,
        box: Box,
        variables: int,
        dtype: str,
        halo: int = 0,
        stored: Sequence[NDArray[Any]] = (),
    ) -> None:
        self.shape, self.box = shape, box
        inner = list(stored) or [made_up(shape, box, number, dtype) for number in range(variables)]
        self.expected = inner if halo == 0 else []
        self.blocks = []
        for values in inner:
            if halo:
                whole = np.full([n + 2 * halo for n in values.shape], np.nan, values.dtype)
                cut = (slice(halo, -halo),) * 3
                whole[cut] = values
                self.expected.append(whole[cut])
            else:
                whole = values
            self.blocks.append(Block(whole, shape, box[0], halo))

    @property
    def bytes(self) -> int:
        """Bytes of this rank, without ghosts."""
        return sum(values.nbytes for values in self.expected)

    def names(self) -> list[str]:
        """The names of the variables."""
        return [f"u{number}" for number in range(len(self.blocks))]

    def write(self, series: ArraySeries) -> None:
        """Write the arrays into the open step of a series. Collective."""
        for name, block in zip(self.names(), self.blocks, strict=True):
            series.write(name, block)

    def read(self, step: ArrayStep) -> list[NDArray[Any]]:
        """Read the arrays, without ghosts. Collective."""
        return [step.read(name, self.box) for name in self.names()]

    def equal(self, read: Sequence[NDArray[Any]]) -> bool:
        """Whether arrays that were read are equal to these, bit for bit."""
        return len(read) == len(self.expected) and all(
            mine.dtype == other.dtype and np.array_equal(mine, other, equal_nan=True)
            for mine, other in zip(self.expected, read, strict=True)
        )


def all_ranks(comm: MPI.Comm, right: bool) -> bool:
    """Whether `right` is true on all ranks. Collective."""
    from mpi4py import MPI

    return bool(comm.allreduce(right, op=MPI.LAND))
