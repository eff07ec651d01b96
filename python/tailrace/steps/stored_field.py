"""A field of a file that is read when it is needed, and of which a slice reads only what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.fields.field import Field
from tailrace.io.placement import Box
from tailrace.text import visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.fields.operators import Operators
    from tailrace.fields.parity import Signs

Read = Callable[[Box | None], "NDArray[Any]"]


class StoredField(Field):
    """A field on one rank whose values are read at the first use of all of them.

    Until then a slice in NumPy's order, as `field[8, :, ::2]`, reads no more than the box around it, and keeps nothing.

    :param read: returns a box of the field, or all of it; (nz, ny, nx).
    :param dtype: the type that `read` returns.
    :param again: the function and its arguments by which another process reads it.
    """

    def __init__(
        self,
        read: Read,
        operators: Operators,
        dtype: np.dtype[Any],
        *,
        parity: Signs,
        name: str,
        again: tuple[Any, ...],
    ) -> None:
        self._read, self._type, self._again = read, dtype, again
        self._values: NDArray[Any] | None = None
        nothing = np.broadcast_to(np.zeros((), dtype), operators.local_shape())
        super().__init__(nothing, operators, parity=parity, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle needs to read it again, in another process too."""
        return self._again

    @property
    def _data(self) -> NDArray[Any]:
        if self._values is None:
            values = self._read(None)
            values.flags.writeable = False
            self._values = values
        return self._values

    @_data.setter
    def _data(self, values: NDArray[Any]) -> None:
        """The constructor of `Field` gives an array to check its shape; the values are read later."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the field, (nz, ny, nx). Reads nothing."""
        return self.operators.local_shape()

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values. Reads nothing."""
        return self._type

    @property
    def size(self) -> int:
        """Number of points. Reads nothing."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        box = None if self._values is not None else covering(key, self.shape)
        if box is None:
            return super().__getitem__(key)
        starts, within = box
        x, y, z = reversed([part.stop - part.start for part in starts])
        part = self._read(Box(tuple(one.start for one in reversed(starts)), (x, y, z)))
        part.flags.writeable = False  # as the slice of a field that was read: what is put into it would be lost
        return part[within]

    def __repr__(self) -> str:
        if self._values is not None:
            return super().__repr__()
        z, y, x = self.shape
        named = f"{visible(self.name)}: " if self.name else ""
        return f"<Field {named}{x} x {y} x {z}, {self.dtype}; not read yet>"


def covering(key: Any, shape: tuple[int, ...]) -> tuple[list[slice], tuple[Any, ...]] | None:
    """The box that an index of whole numbers and slices takes, and the index within that box. Local.

    :returns: per axis a slice with step one; None for other indices (masks, lists of numbers, None), and empty ones.
    :raises IndexError: as NumPy: a number is out of range, or there are too many.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    if not all(_is_plain(one) for one in keys) or keys.count(Ellipsis) > 1:
        return None
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (len(shape) - len(keys) + 1)
    if len(keys) > len(shape):
        raise IndexError(f"too many indices: the field has {len(shape)} axes (z, y, x), but {len(keys)} were given")
    keys += [slice(None)] * (len(shape) - len(keys))
    box: list[slice] = []
    within: list[Any] = []
    for axis, one, count in zip("zyx", keys, shape, strict=True):
        if isinstance(one, slice):
            chosen = range(count)[one]
            if not chosen:
                return None
            first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
            box.append(slice(first, last + 1))
            within.append(slice(None, None, chosen.step))
        else:
            number = int(one)
            if not -count <= number < count:
                raise IndexError(f"index {number} is out of range for {axis} with {count} points")
            box.append(slice(number % count, number % count + 1))
            within.append(0)
    return box, tuple(within)


def _is_plain(one: Any) -> bool:
    return (
        one is Ellipsis or isinstance(one, slice) or (isinstance(one, int | np.integer) and not isinstance(one, bool))
    )
