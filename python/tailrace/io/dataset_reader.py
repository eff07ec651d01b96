"""A Dataset as an open series, read by several ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Never

import numpy as np
from numpy.typing import NDArray

from tailrace.core import Error, InputError, IoError
from tailrace.grids import triple
from tailrace.parallel import agree, on_root

from .placement import Box, Stored, boxes_of
from .readable import GridTuple

if TYPE_CHECKING:
    from mpi4py import MPI

    from .dataset import Dataset
    from .values import Attribute, Scalar

_PIECE = 32 << 20  # bytes that `verify` reads at once


class DatasetReader:
    """What another program has written; see `Readable` for the methods."""

    def __init__(self, dataset: Dataset, comm: MPI.Comm) -> None:
        self.dataset, self._comm = dataset, comm
        self.path, self.engine = dataset.path, dataset.format
        self._read = 0

    def steps(self) -> list[tuple[int, float]]:
        """Index and time of each step."""
        return self.dataset.steps

    def attributes(self) -> dict[str, Attribute]:
        """What the files say."""
        return self.dataset.attributes

    def files(self) -> list[str]:
        """The files that were found."""
        return self.dataset.files

    def notes(self) -> list[str]:
        """What was assumed or left out, and times that go back."""
        return [*self.dataset.notes, *self.dataset.left_out, *_times_that_go_back(self.path, self.steps())]

    def grid(self) -> GridTuple | None:
        """The places of the points, in the form of `core.Series`."""
        grid = self.dataset.grid
        if grid is None:
            return None
        return list(grid.points), list(grid.origin), list(grid.spacing), [list(one) for one in grid.uneven]

    def variables(self, step: int) -> list[tuple[str, str, list[int], bool]]:
        """Name, type, shape and whether it is a list, of what is stored."""
        found = self.dataset.variables(step)
        return [(name, one.dtype, list(one.shape), one.is_list) for name, one in found.items()]

    def components(self, step: int, name: str) -> int:
        """Three for the name of a vector, else none."""
        return 3 if name in self.dataset.vectors(step) else 0

    def scalars(self, step: int) -> dict[str, Scalar]:
        """The single numbers and texts of a step."""
        return self.dataset.scalars(step)

    def counters(self) -> dict[str, float]:
        """Bytes that this rank was given so far."""
        return {"bytes_written": 0, "bytes_read": self._read, "steps": len(self.dataset.steps)}

    def read(self, step: int, name: str, box: tuple[Sequence[int], Sequence[int]], array: NDArray[Any]) -> None:
        """Fill `array` with a box of a variable, or with one of each component of a vector."""
        agree(self._comm, lambda: self._fill(step, name, Box(triple(box[0]), triple(box[1])), array))

    def _fill(self, step: int, name: str, box: Box, array: NDArray[Any]) -> None:
        parts = self.dataset.vectors(step).get(name)
        for one, out in [(name, array)] if parts is None else zip(parts, array, strict=True):
            stored = self._stored(step, one)
            ends = [at + n for at, n in zip(box.start, box.count, strict=True)]
            if min(box.start) < 0 or min(box.count) < 0 or any(e > n for e, n in zip(ends, stored.shape, strict=True)):
                raise InputError(
                    f"{self.path}: {one}: the box from {tuple(box.start)} with {tuple(box.count)} points in x, y, z "
                    f"does not lie in the {tuple(stored.shape)} of the variable"
                )
            if out.size:
                self._fill_one(step, one, box, out)
                self._read += out.size * np.dtype(stored.dtype).itemsize

    def _fill_one(self, step: int, name: str, box: Box, out: NDArray[Any]) -> None:
        try:
            self.dataset.read(step, name, box, out)
        except (Error, IoError):
            raise
        except OSError as error:
            raise IoError(f"cannot read {error.filename or self.path}: {error.strerror or error}") from None

    def _stored(self, step: int, name: str) -> Stored:
        known = self.dataset.variables(step) | self.dataset.derived(step)
        if name not in known:
            index = self.dataset.steps[step][0]
            raise InputError(f"{self.path}: step {index} has no variable '{name}'; it has {', '.join(known) or 'none'}")
        return known[name]

    def verify(self, step: int) -> list[str]:
        """Look for damage, and read all that is stored; rank 0 does it and tells the others."""
        return on_root(self._comm, lambda: self._damage(step))

    def _damage(self, step: int) -> list[str]:
        index = self.dataset.steps[step][0]
        lines, not_finite = [], []
        try:
            lines = self.dataset.check(step)
            variables = self.dataset.variables(step)
        except (Error, OSError) as error:
            lines, variables = [*lines, str(error)], {}
        for name, stored in variables.items():
            try:
                not_finite += self._not_finite(step, name, stored)
            except (Error, OSError) as error:
                lines.append(str(error))
        self.dataset.not_finite += [f"step {index}: {line}" for line in not_finite]
        return [f"step {index}: {line}" for line in dict.fromkeys(lines)]

    def _not_finite(self, step: int, name: str, stored: Stored) -> list[str]:
        """Read a variable, and tell how many of its values are not finite: programs mark so what has no value."""
        dtype, shape, is_list = stored
        count, first = 0, ""
        for box in boxes_of(shape, _PIECE // np.dtype(dtype).itemsize) if 0 not in shape else ():
            values = np.empty(box.count[::-1], dtype)
            self._fill_one(step, name, box, values)
            bad = ~np.isfinite(values)
            if bad.any() and not first:
                k, j, i = (int(one) for one in np.unravel_index(int(bad.argmax()), bad.shape))
                x, y, z = box.start
                first = f"row {y + j}" if is_list else f"point {x + i}, {y + j}, {z + k}"
            count += int(bad.sum())
        return [f"{name} has {count} values that are not finite, the first at {first}"] if count else []

    def unchecked(self, step: int) -> list[str]:
        """All: their formats have no checksums of values."""
        return list(self.dataset.variables(step))

    def has_table(self, step: int) -> bool:
        """Never: their formats are of others."""
        return False

    def damage(self) -> list[str]:
        """What was left out, since it is damaged; all other damage is an error when it is opened."""
        return self.dataset.left_out

    def refuse(self, why: str, wrong_input: bool) -> Never:
        """Raise an error on all ranks while the others call `read`."""

        def fail() -> Never:
            raise (InputError if wrong_input else IoError)(why)

        agree(self._comm, fail)
        raise AssertionError(why)  # not reached

    def close(self) -> None:
        """Close the files."""
        self.dataset.close()


def _times_that_go_back(path: str, steps: Sequence[tuple[int, float]]) -> list[str]:
    """A note on the first step that is earlier than the one before, if there is one."""
    for (_, before), (index, time) in pairwise(steps):
        if time < before:
            return [
                f"{path}: its times go back in step {index}, from {before:g} to {time:g}, as after a restart from an "
                "earlier step: all steps are there, and of those with one time `at` takes the last"
            ]
    return []
