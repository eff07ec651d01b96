"""Writing in the format of another program: what such a writer must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.io.placement import Box, Stored, UniformGrid
from tailrace.io.values import Attribute, Scalar

if TYPE_CHECKING:
    from mpi4py import MPI


class Writer(ABC):
    """Steps of arrays in new files. Collective, except `write`, which each rank calls for its boxes.

    A step is complete, under its final names and on disk, when `end_step` returns; before, nothing of it is there under
    those names. Nothing is replaced: where a file of a step is there already, this is an error before anything is made.

    :param path: a directory or a file, as the format has it.
    :param grid: the places of the points, with boundaries where they are known.
    :param attributes: of the source: "lengths", "boundaries", "reynolds", "dt", ...; of a variable as "ux/units".
    :param options: of the format, as texts; an unknown one is an InputError that names those in `known`.
    :raises InputError: the format cannot hold this.
    :raises IoError, OSError: the disk is full or gone; on all ranks.
    """

    format: ClassVar[str]
    family: ClassVar[str | None] = None  # of `recognise.FAMILIES`, where the content does not tell who reads it
    known: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # options, each with all its values; empty: it has any value

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
        """Set up what the format needs before its first step. The arguments of the constructor are checked and kept.

        :raises InputError: the format cannot hold this.
        """

    @classmethod
    def reading(cls, attributes: Mapping[str, Attribute]) -> dict[str, str]:
        """Parameters with which the reader of the format shows what was written as the source was.

        :param attributes: of the source.
        """
        return {}

    @abstractmethod
    def begin_step(
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        """Begin a step of these variables, whose types are those to be stored; the same on all ranks.

        :raises InputError: the format cannot hold one of them; the message says what it can.
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
        """Write what belongs to all steps together, such as lists of them."""
