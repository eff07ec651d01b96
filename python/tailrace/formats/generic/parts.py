"""Convert arrays of any dimensions and type to our variables."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.grids import triple
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import STORED, Scalar
from tailrace.text import counted

from .decoding import Decoding

_MOST_SPLIT = 64  # variables that one array of more than three dimensions may become
_PIECE = 4 << 20  # bytes of one read, if values are converted
RESERVED = ("x", "y", "z", "time", "step")  # names of coordinates and steps in all datasets
_FEW = 9  # last dimensions up to this size count as components; a tensor has 9


@dataclass(frozen=True)
class ArrayPart:
    """A part of an array in a file that becomes one variable.

    :param source: the name of the array in the file.
    :param dtype: the NumPy type in the file, with its byte order.
    :param shape: the shape of the array in the file, slowest index first.
    :param axes: the dimensions of the file along x, y, z; for a list, along columns and rows. -1: no such dimension.
    :param fixed: (dimension, index) of the split dimensions.
    :param first: the first index in the slowest dimension.
    :param block: the number of the block, for an array in blocks.
    :param decoding: how stored values become values; None: they are the same.
    :param complex_part: of complex values "real" or "imag".
    """

    source: str
    dtype: str
    shape: tuple[int, ...]
    stored: Stored
    axes: tuple[int, int, int]
    fixed: tuple[tuple[int, int], ...] = ()
    first: int = 0
    block: int = 0
    decoding: Decoding | None = None
    complex_part: str = ""

    def decoded(self, stored: NDArray[Any]) -> NDArray[Any]:
        """The values of stored ones."""
        if self.complex_part:
            stored = stored.real if self.complex_part == "real" else stored.imag
        return stored if self.decoding is None else self.decoding.values(stored)

    @property
    def as_stored(self) -> bool:
        """Whether the values are what the file has."""
        return self.decoding is None and not self.complex_part

    def selection(self, box: Box) -> tuple[list[int], list[int]]:
        """First index and count in each dimension of the file."""
        start, count = [0] * len(self.shape), [1] * len(self.shape)
        for d, at in self.fixed:
            start[d] = at
        for axis, d in enumerate(self.axes):
            if d >= 0:
                start[d], count[d] = box.start[axis], box.count[axis]
        start[0] += self.first
        return start, count

    def behind(self, d: int, at: int, shape: tuple[int, ...]) -> ArrayPart:
        """The same part at index `at` of one more dimension, which becomes number `d` of an array of this shape."""
        axes = triple(one + (one >= d) if one >= 0 else one for one in self.axes)
        return replace(self, shape=shape, axes=axes, fixed=((d, at), *((one + (one >= d), i) for one, i in self.fixed)))

    @property
    def in_order(self) -> bool:
        """Whether the values of a box have the same order in the file and in memory."""
        along = [d for d in self.axes if d >= 0]
        return along == sorted(along, reverse=True)

    def arranged(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of a box from the order of the file to the order z, y, x."""
        along = [d for d in reversed(self.axes) if d >= 0]
        others = [d for d in range(values.ndim) if d not in along]
        moved = values.transpose([*others, *along]).reshape([values.shape[d] for d in along])
        shape = [values.shape[d] if d >= 0 else 1 for d in reversed(self.axes)]
        return moved.reshape(shape)


def our_type(dtype: np.dtype[Any]) -> str | None:
    """The type of ours with the values of a type of any byte order; None if we have none, or only parts are read."""
    name = dtype.newbyteorder("=").name
    return name if name in STORED and dtype.kind != "c" else None


def plain_name(name: str) -> str:
    """A name of another program as one of ours, with letters, digits, '_', '-' and '.' only."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name.strip("/ ")).lstrip(".")
    return plain or "unnamed"


def variable_name(name: str) -> str:
    """The same for a variable or a single value: reserved names of coordinates and steps get the ending "_stored"."""
    plain = plain_name(name)
    return f"{plain}_stored" if plain in RESERVED else plain


def scalars_of(step: tuple[int, float], found: Mapping[str, Scalar], arrays: Iterable[str] = ()) -> dict[str, Scalar]:
    """Single values under our names, without those that only repeat number and time of the step.

    :param arrays: names that the step has already.
    """
    repeated = (("step", step[0]), ("time", step[1]))
    names = Names()
    for name in arrays:
        names.once(name)
    return {names.take(name): value for name, value in found.items() if (plain_name(name), value) not in repeated}


class Names:
    """Unique names of the variables of a step, or of other things."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, name: str) -> str:
        """Our name for a variable or a single value of the file."""
        return self.once(variable_name(name))

    def once(self, plain: str) -> str:
        """The name, with a number behind it if it is used already."""
        base, number = plain, 2
        while plain in self._used:
            plain, number = f"{base}_{number}", number + 1
        self._used.add(plain)
        return plain


def parts_of(
    source: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    *,
    as_list: bool = False,
    block: int = 0,
    axes: tuple[int, ...] | None = None,
    decoding: Decoding | None = None,
) -> dict[str, ArrayPart] | str:
    """The parts of an array: ending of the name -> part; a sentence if the array cannot be read.

    One dimension makes a list, two and three an array. With more dimensions, the first ones are split, or the last one
    if it has the few components of a point.

    Of complex values the real and the imaginary part are variables.

    :param as_list: its rows are points or particles: two dimensions make a list too.
    :param axes: the dimensions along x, y and z, where the file tells them; the others are split.
    """
    if dtype.kind == "c":
        real = np.dtype(np.float32 if dtype.itemsize <= 8 else np.float64)
        halves = parts_of(source, real, shape, as_list=as_list, block=block, axes=axes)
        if isinstance(halves, str):
            return halves
        return {
            f"{suffix}_{part[:2]}": replace(one, dtype=dtype.str, complex_part=part)
            for suffix, one in halves.items()
            for part in ("real", "imag")
        }
    ours = our_type(dtype if decoding is None else decoding.type_of(dtype))
    if ours is None:
        return f"'{source}' has the type {dtype}, which no type of ours holds: it is left out"
    if not shape or 0 in shape[1:] or (0 in shape and len(shape) > 1 and not as_list):
        return f"'{source}' has the shape {shape}, which holds no values: it is left out"
    if (len(shape) == 1 and axes is None) or (as_list and len(shape) == 2):
        columns = shape[1] if len(shape) == 2 else 1
        rows_first = (len(shape) - 1 or -1, 0, -1)
        stored = Stored(ours, (columns, shape[0], 1), True)
        return {"": ArrayPart(source, dtype.str, shape, stored, rows_first, block=block, decoding=decoding)}
    split: Sequence[int] = range(max(0, len(shape) - 3))
    if len(shape) == 4 and shape[3] <= _FEW < min(shape[:3]):
        split = range(3, 4)
    if axes is not None:
        split = [d for d in range(len(shape)) if d not in axes]
    many = math.prod(shape[d] for d in split)
    if many > _MOST_SPLIT:
        return (
            f"'{source}' has the shape {shape}, which would be {many} variables of three dimensions (at most "
            f"{_MOST_SPLIT}): it is left out"
        )
    free = [d for d in reversed(range(len(shape))) if d not in split]
    placed = triple(axes) if axes is not None else triple([*free, -1, -1][:3])
    stored = Stored(ours, triple(shape[d] if d >= 0 else 1 for d in placed), False)
    return {
        _suffix([shape[d] for d in split], at): ArrayPart(
            source, dtype.str, shape, stored, placed, tuple(zip(split, at, strict=True)), 0, block, decoding
        )
        for at in np.ndindex(*(shape[d] for d in split))
    }


def _suffix(counts: Sequence[int], at: Sequence[int]) -> str:
    if list(counts) == [3]:
        return "_" + "xyz"[at[0]]
    return "".join(f"_{i}" for i in at)


@dataclass(frozen=True)
class StepLayout:
    """The variables of a step, and the vectors among them: name -> names of the components."""

    parts: dict[str, ArrayPart]
    vectors: dict[str, tuple[str, str, str]]


class LayoutMaker:
    """Collects the variables of a step, and notes about them."""

    def __init__(self) -> None:
        self.names = Names()
        self.parts: dict[str, ArrayPart] = {}
        self.vectors: dict[str, tuple[str, str, str]] = {}
        self.notes: list[str] = []

    def add(self, name: str, made: dict[str, ArrayPart] | str) -> None:
        """Add the result of `parts_of` for an array under a name."""
        if isinstance(made, str):
            self.notes.append(made)
            return
        base = self.names.take(name)
        if list(made) != [""]:
            one = next(iter(made.values()))
            self.notes.append(
                f"'{one.source}' of the shape {one.shape} is split into {counted(len(made), 'variable')}, "
                f"{base}{next(iter(made))} and so on"
            )
        for suffix, part in made.items():
            self.parts[base + suffix if not suffix else self.names.take(base + suffix)] = part
            if part.decoding is not None:
                self.notes.append(f"'{part.source}' is decoded by its attributes: {part.decoding.words()}")
            elif part.complex_part:
                self.notes.append(f"'{part.source}' is complex: its real and imaginary parts are variables")
        if list(made) == ["_x", "_y", "_z"]:
            self.vectors[base] = (f"{base}_x", f"{base}_y", f"{base}_z")

    def layout(self) -> StepLayout:
        """The layout of everything that was added."""
        return StepLayout(self.parts, self.vectors)


class PartsDataset(Dataset):
    """A dataset whose variables are parts of arrays. The steps share their layouts."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._layouts: list[StepLayout] = []
        self._layout_of: list[int] = []  # of each step

    def _set_layouts(self, layouts: Sequence[StepLayout]) -> None:
        self._layouts, self._layout_of = [], []
        for one in layouts:
            if one not in self._layouts[-8:]:  # those of late steps are the same in most files
                self._layouts.append(one)
            last = len(self._layouts) - 1
            self._layout_of.append(next(i for i in range(last, -1, -1) if self._layouts[i] == one))

    def share(self, other: Dataset) -> None:
        """See `Dataset`."""
        super().share(other)
        if isinstance(other, PartsDataset) and self._layouts == other._layouts:
            self._layouts = other._layouts

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        return {name: part.stored for name, part in self._layout(position).parts.items()}

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """See `Dataset`."""
        return self._layout(position).vectors

    def _layout(self, position: int) -> StepLayout:
        return self._layouts[self._layout_of[position]]

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset`."""
        part = self._layout(position).parts[name]
        dtype = np.dtype(part.dtype)
        if part.as_stored and dtype == out.dtype and out.flags.c_contiguous and part.in_order:
            start, count = part.selection(box)
            self._fetch(position, part, start, out.reshape(count))
            return
        for piece, place in pieces_of(box, dtype.itemsize):
            start, count = part.selection(piece)
            values = np.empty(count, dtype)
            self._fetch(position, part, start, values)
            out[place] = part.arranged(part.decoded(values))

    @abstractmethod
    def _fetch(self, position: int, part: ArrayPart, start: list[int], values: NDArray[Any]) -> None:
        """Fill `values`, contiguous, with type and dimensions as in the file, from index `start` of the array.

        :raises IoError: it cannot be read.
        """


def pieces_of(box: Box, size: int) -> Iterator[tuple[Box, tuple[slice, slice, slice]]]:
    """Split a box into boxes of a few MiB, with values of `size` bytes, and give their places in it."""
    (x, y, z), (nx, ny, nz) = box
    wide = max(1, min(nx, _PIECE // size))
    rows = max(1, min(ny, _PIECE // (size * max(1, nx))))
    planes = max(1, _PIECE // (size * max(1, nx * ny))) if rows == ny and wide == nx else 1
    for k in range(0, nz, planes):
        for j in range(0, ny, rows):
            for i in range(0, nx, wide):
                n = (min(wide, nx - i), min(rows, ny - j), min(planes, nz - k))
                place = (slice(k, k + n[2]), slice(j, j + n[1]), slice(i, i + n[0]))
                yield Box((x + i, y + j, z + k), n), place
