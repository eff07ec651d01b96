"""A step of a series that is being read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.grids import triple
from tailrace.text import visible

from .handle import Handle, raise_on_all_ranks
from .placement import Box, Stored
from .readable import Readable
from .values import Scalar


class ArrayStep:
    """A step of a series that is being read: index, time, and its variables by name. Properties are local."""

    def __init__(self, handle: Handle, number: int, index: int, time: float) -> None:
        self._handle = handle
        self.number = number
        self.index = index
        self.time = time

    @property
    def variables(self) -> dict[str, Stored]:
        """Stored type and shape (x, y, z) of every array and list."""
        found = self._handle.reader().variables(self.number)
        return {name: Stored(dtype, triple(shape), is_list) for name, dtype, shape, is_list in found}

    @property
    def derived(self) -> dict[str, Stored]:
        """Variables that are computed when they are read; in files of other programs only."""
        dataset = self._handle.dataset
        return {} if dataset is None else dataset.derived(self.number)

    @property
    def vectors(self) -> dict[str, tuple[str, str, str]]:
        """The names of vectors and of their components; in files of other programs only."""
        dataset = self._handle.dataset
        return {} if dataset is None else dataset.vectors(self.number)

    @property
    def names(self) -> list[str]:
        """Names of the arrays and lists."""
        return list(self.variables)

    @property
    def scalars(self) -> dict[str, Scalar]:
        """The single numbers and texts of the step, by name."""
        return dict(self._handle.reader().scalars(self.number))

    @property
    def missed(self) -> list[int]:
        """The indices of the steps that the writer of a stream has left out since the last step that was read."""
        stream = self._handle.stream()
        return list(stream.missed(self.number)) if stream is not None else []

    def verify(self) -> list[str]:
        """Compare the step with its checksums, in pieces of bounded size. Collective.

        :returns: one line for every damaged block.
        :raises IoError: the writer of a stream is lost, which is no damage.
        """
        return list(self._handle.reader().verify(self.number))

    @property
    def unchecked(self) -> list[str]:
        """The arrays without checksums, which `verify` cannot check."""
        return list(self._handle.reader().unchecked(self.number))

    @property
    def has_table(self) -> bool:
        """Whether its blocks and their checksums are in a table of numbers, as where many ranks write. Local."""
        return bool(self._handle.reader().has_table(self.number))

    def read(
        self, name: str, box: Box | tuple[Sequence[int], Sequence[int]] | None = None, *, dtype: str | None = None
    ) -> NDArray[Any]:
        """Read a box of an array, or all of it. Collective; every rank may read another box.

        :param box: (start, count), both in x, y, z.
        :param dtype: "float32" or "float64"; by default the stored type.
        :returns: (nz, ny, nx) of an array, (components, nz, ny, nx) of one with components; (rows, columns) of a list,
            or (rows,) of one with one column.
        :raises InputError: there is no such variable or box.
        :raises IoError: the file is damaged or gone.
        """
        with self.raise_on_all_ranks() as opened:
            variables = self.variables | self.derived
            components = 0 if name in variables else self.components(name)
            unknown = Stored("float64", (0, 0, 0), False)  # `read` below reports an unknown name on all ranks
            first = self.vectors.get(name, (f"{name}_1",))[0]
            stored = variables.get(first if components else name, unknown)
            start, count = ((0, 0, 0), stored.shape) if box is None else (triple(box[0]), triple(box[1]))
            extent = ((components,) if components else ()) + tuple(max(0, n) for n in reversed(count))
            array = np.empty(extent, dtype=dtype or stored.dtype)
        opened.read(self.number, name, (start, count), array)
        if not stored.is_list:
            return array
        return array[0, :, 0] if stored.shape[0] == 1 else array[0]

    def components(self, name: str) -> int:
        """The number of components of an array that was written as (components, nz, ny, nx); 0 for others."""
        return int(self._handle.reader().components(self.number, name))

    def raise_on_all_ranks(self) -> AbstractContextManager[Readable]:
        """Put this around the local preparation of `read`; see `handle.raise_on_all_ranks`."""
        return raise_on_all_ranks(self._handle.reader())

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        return name in self.variables or (isinstance(name, str) and self.components(name) > 0)

    def __repr__(self) -> str:
        return visible(f"<Step {self.index}: time {self.time:g}; {', '.join(self.names)}>")
