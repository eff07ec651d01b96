"""Files of another program as steps of arrays: the interface that the reader of a format implements.

    class Snapshots(Dataset):
        format = "pencil"
        ...

`tr.open` finds the format of a path (`tailrace.formats.recognise`), makes its Dataset on rank 0 and sends a copy to the
other ranks, so metadata are read once whatever the number of ranks. From then on each rank reads its own boxes. So a
Dataset holds plain values, and opens its files of values in `read`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray

from tailrace.grids import UniformGrid

from .placement import Box, Stored
from .values import Attribute, Scalar


class Dataset(ABC):
    """What the files at a path hold. Positions count the steps from 0.

    Errors are `IoError`: the file is damaged, gone or not what it seems; its text names the file, the place in it
    (offset, line or name), what was expected and what was found.

    :param path: as the user gave it.
    """

    format: ClassVar[str]
    plain: ClassVar[bool] = False  # a file of unknown origin, which other libraries claim as well

    def __init__(self, path: str) -> None:
        self.path = path
        self.steps: list[tuple[int, float]] = []  # index (the number of the time step) and time
        self.timed = True  # whether the files tell the times
        # "lengths" [x, y, z] and "boundaries" ("periodic,free-slip,dirichlet") make fields of arrays; "reynolds", "dt"
        # and what else the files say; of one variable as "ux/units".
        self.attributes: dict[str, Attribute] = {}
        self.grid: UniformGrid | None = None
        # The places of its points along x, y and z, as the files have them, perhaps in single precision.
        self.places: tuple[NDArray[Any], ...] | None = None
        self.files: list[str] = []  # all that was found to belong to it
        # Those of `files` whose values are all among the variables: they may go when all of these are elsewhere.
        self.removable: list[str] = []
        self.notes: list[str] = []  # what was assumed or left out, in sentences
        self.left_out: list[str] = []  # what is there and damaged, so that it is not read: why, in sentences
        self.not_finite: list[str] = []  # what `DatasetReader.verify` has found that is no damage, in sentences
        self.auxiliary: list[str] = []  # paths with more data of the same program that can be opened for themselves
        self.aliases: dict[str, str] = {}  # our name of a variable -> its name here

    @abstractmethod
    def variables(self, position: int) -> dict[str, Stored]:
        """Type ("float64", "int16", "bool") and shape (x, y, z) of what is stored in a step.

        A list has the shape (columns, rows, 1).
        """

    def derived(self, position: int) -> dict[str, Stored]:
        """The same of what is not stored and can be read all the same: it is computed."""
        return {}

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """The names of vectors and of their components, stored or derived."""
        return {}

    def scalars(self, position: int) -> dict[str, Scalar]:
        """The single numbers and texts of a step, by name."""
        return {}

    @abstractmethod
    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with a box of a variable; it lies inside the variable's shape.

        No more is read than the box needs, and no more memory is taken than a small part of `out`.

        :param out: contiguous, (nz, ny, nx) of the box, of a list (1, rows, columns); of the stored type, or of another
            real type, into which the values are converted.
        """

    def check(self, position: int) -> list[str]:
        """Look for damage in the files of a step: sizes, marks of records, what is stored twice.

        :returns: one line for each damage; the values themselves, which `DatasetReader.verify` reads, have no checksums
            in most formats.
        """
        return []

    def share(self, other: Dataset) -> None:
        """Use what another dataset has and is equal, so that a thousand files need little memory."""
        if self.attributes == other.attributes:
            self.attributes = other.attributes
        if self.notes == other.notes:
            self.notes = other.notes

    def close(self) -> None:  # noqa: B027 # most keep no file open
        """Close the files that `read` has opened; it may open them again."""
