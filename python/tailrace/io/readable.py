"""The reading methods that compiled series and files of other programs share.

`core.Series` has them for the engines of Tailrace, `DatasetReader` for the files of other programs. Positions of steps
count from 0; boxes and shapes are in x, y, z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from .values import Attribute, Scalar

GridTuple = tuple[list[int], list[float], list[float], list[list[float]]]  # points, origin, spacing, coordinates


class Readable(Protocol):
    """An open series of steps. `read`, `verify`, `refuse` and `close` are collective."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def engine(self) -> str:
        """The engine, or the format of another program."""

    def steps(self) -> list[tuple[int, float]]:
        """Index and time of each step."""

    def grid(self) -> GridTuple | None:
        """The places of the points."""

    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes of the series and, as "variable/name", of its variables."""

    def files(self) -> list[str]:
        """The paths of all its files."""

    def notes(self) -> list[str]:
        """Remarks for the user."""

    def damage(self) -> list[str]:
        """What is damaged besides the values of steps, one line each."""

    def variables(self, step: int, /) -> list[tuple[str, str, list[int], bool]]:
        """Name, type, shape, and whether it is a list, of all that is stored in a step."""

    def components(self, step: int, name: str, /) -> int:
        """The number of components of an array that is stored as one variable per component; 0 for others."""

    def scalars(self, step: int, /) -> Mapping[str, Scalar]:
        """The single numbers and texts of a step."""

    def read(self, step: int, name: str, box: tuple[Sequence[int], Sequence[int]], array: NDArray[Any], /) -> None:
        """Fill `array` with a box of a variable, or with one of each component."""

    def verify(self, step: int, /) -> list[str]:
        """Read the whole step; returns a line for each damage."""

    def unchecked(self, step: int, /) -> list[str]:
        """The variables without checksums."""

    def has_table(self, step: int, /) -> bool:
        """Whether the blocks of a step are described in a table of numbers, and not in text."""

    def counters(self) -> Mapping[str, float]:
        """Bytes and seconds of this rank so far."""

    def refuse(self, why: str, wrong_input: bool, /) -> None:
        """Raise an error on all ranks while the others call `read`: the arguments of this rank are not valid."""

    def close(self) -> None:
        """Close it."""
