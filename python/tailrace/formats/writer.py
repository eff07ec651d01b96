"""The base class of writers in the formats of other programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.grids import UniformGrid
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Attribute, Scalar

if TYPE_CHECKING:
    from mpi4py import MPI


class Writer(ABC):
    """Steps of arrays in new files. Collective, except `write`, which each rank calls for its boxes.

    A step is complete, under its final names and on disk, when `end_step` returns; before that, these names do not
    exist. Nothing is replaced: if a file of a step exists, this is an error before anything is made.

    :param path: a directory or a file, as the format has it.
    :param grid: the places of the points, with boundaries if they are known.
    :param attributes: of the source: "lengths", "boundaries", "reynolds", "dt", ...; of a variable as "ux/units".
    :param options: of the format, as texts; an unknown one is an InputError that names those in `known`.
    :raises InputError: the format cannot hold this.
    :raises IoError, OSError: the disk is full or gone; on all ranks.
    """

    format: ClassVar[str]
    family: ClassVar[str | None] = None  # in `recognise.FAMILIES`, if the content does not show which one reads it
    known: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # options, each with all its values; empty: any value

    def __init__(
        self,
        path: str,
        comm: MPI.Comm,
        *,
        grid: UniformGrid | None,
        attributes: Mapping[str, Attribute],
        options: Mapping[str, str],
    ) -> None:
        self.path, self.comm = path, comm
        self.grid, self.attributes, self.options = grid, dict(attributes), dict(options)
        self.notes: list[str] = []  # what was assumed or left out, in sentences
        for name, value in options.items():
            if name not in self.known:
                raise InputError(
                    f"format '{self.format}' has no option '{name}'; it has {', '.join(self.known) or 'none'}"
                )
            if self.known[name] and value not in self.known[name]:
                raise InputError(f"{name}: expected {' or '.join(self.known[name])}, found '{value}'")
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Prepare for the first step. The arguments of the constructor are checked and stored before.

        :raises InputError: the format cannot hold this.
        """

    @classmethod
    def reading(cls, attributes: Mapping[str, Attribute]) -> dict[str, str]:
        """Parameters with which the reader of the format shows the new files as the source was shown.

        :param attributes: of the source.
        """
        return {}

    @abstractmethod
    def begin_step(
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        """Begin a step of these variables, whose types are those to be stored; the same on all ranks.

        :raises InputError: the format cannot hold one of them; the message says what it can hold.
        """

    @abstractmethod
    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """Write a box of a variable. Local.

        :param values: (nz, ny, nx), of a list (1, rows, columns); converted to the type of the variable.
        """

    @abstractmethod
    def end_step(self) -> None:
        """End the step."""

    @abstractmethod
    def abandon_step(self) -> None:
        """Remove what was made of the open step. Local; without an open step nothing happens."""

    @abstractmethod
    def close(self) -> None:
        """Write the files that belong to all steps together, such as lists of steps."""
