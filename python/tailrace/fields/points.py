"""Where the values of a field are: on the nodes or on the cell centres, and the names of the directions."""

from __future__ import annotations

from tailrace.core import InputError

Centred = tuple[bool, bool, bool]  # per direction x, y, z: whether the values are on the cell centres
NODES: Centred = (False, False, False)


def axis_names(axis: str | int | tuple[int, ...]) -> str:
    """Directions as letters out of x, y, z. Local.

    :param axis: the letters themselves, as "xz", or NumPy's numbers, which count z, y, x.
    :raises InputError: a letter or a number is not of a direction, or one stands twice.
    """
    if isinstance(axis, str):
        names = axis
    else:
        numbers = axis if isinstance(axis, tuple) else (axis,)
        names = "".join("zyx"[number] if -3 <= number < 3 else "?" for number in numbers)
    if not names or any(name not in "xyz" for name in names) or len(set(names)) < len(names):
        raise InputError(f"axis {axis!r}: expected some of the letters x, y, z, or NumPy's numbers of them")
    return names


def check_place(to: str) -> None:
    """Check the word for the places to which values are moved. Local.

    :raises InputError: it is another one.
    """
    if to not in ("centre", "node"):
        raise InputError(f"to = {to!r}: expected 'centre', the cell centres, or 'node', the nodes")


def direction_of(axis: str) -> int:
    """The number of a direction: 0, 1, 2 for "x", "y", "z". Local.

    :raises InputError: it is none of them.
    """
    if axis not in ("x", "y", "z"):
        raise InputError(f"axis {axis!r}: expected 'x', 'y' or 'z'")
    return "xyz".index(axis)
