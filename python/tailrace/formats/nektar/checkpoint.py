"""A checkpoint of Nektar++, in any format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tailrace.core import IoError

from .definition import Definition, DefinitionError


class ElementRow(NamedTuple):
    """The data of one definition from one rank; definition -1 stands for a rank with fewer definitions than others."""

    definition: int
    elements: int
    values: int  # of each field


EMPTY = ElementRow(-1, 0, 0)


class NektarCheckpoint(ABC):
    """The rows of a checkpoint in their order, and their definitions.

    Values are stored as in Nektar++: a row has field after field, a field element after element, an element plane after
    plane.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.definitions: list[Definition] = []
        self._numbers: dict[tuple[int, Definition], int] = {}
        self.rows: list[ElementRow] = []
        self.metadata: dict[str, str] = {}
        self.provenance: dict[str, str] = {}
        self.files: list[str] = []
        self.notes: list[str] = []

    @abstractmethod
    def values(self, row: int, field: int, first: int, out: NDArray[Any]) -> None:
        """Fill `out` (of one dimension, contiguous, any real type) with values of a field of a row."""

    @abstractmethod
    def elements(self, row: int, first: int, out: NDArray[Any]) -> None:
        """Fill `out` with numbers of elements of a row, from its element `first` on."""

    @abstractmethod
    def orders(self, row: int, first: int, out: NDArray[Any]) -> None:
        """Fill `out` (elements, directions) with the numbers of modes of a row, from its element `first` on."""

    def check(self) -> list[str]:
        """Damage that neither opening nor reading finds, one line each."""
        return []

    def close(self) -> None:  # noqa: B027 # there may be no open file
        """Close the files; reading opens them again."""

    def number_of(self, definition: Definition, group: int = 0) -> int:
        """The position of a definition in the list. A new definition is appended.

        :param group: of HDF5, which tells definitions apart whose elements have their own modes.
        """
        number = self._numbers.setdefault((group, definition), len(self.definitions))
        if number == len(self.definitions):
            self.definitions.append(definition)
        return number

    def damaged(self, place: str, why: object) -> IoError:
        """An error about a place in its files."""
        return IoError(f"{self.path}: {place}: {why}")


def check_values(definition: Definition, stored: int, elements: int, per_field: int) -> None:
    """Compare the number of values of a row with its definition. Raises DefinitionError if they differ."""
    expected = len(definition.fields) * per_field
    if stored != expected:
        raise DefinitionError(
            f"expected {expected} values ({len(definition.fields)} fields of {elements} {definition.shape_text}), "
            f"found {stored}"
        )
