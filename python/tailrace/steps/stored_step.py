"""A step of a series that is open to read: fields where the series says its grid, else arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import getitem
from typing import TYPE_CHECKING, Any, Protocol

from tailrace.fields.field import Field
from tailrace.fields.vector import Vector
from tailrace.files.case_parts import attributes_at
from tailrace.text import names_of

from .step import Step
from .stored_field import StoredField

if TYPE_CHECKING:
    import xarray
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.fields.operators import Operators
    from tailrace.io.placement import Box, Stored
    from tailrace.io.step import ArrayStep

    from .series_grid import SeriesGrid


class Whole(Protocol):
    """The series that a step is of."""

    def __getitem__(self, position: int, /) -> StoredStep:
        """A step of it."""

    def to_xarray(self) -> xarray.Dataset:
        """All of it."""


class StoredStep(Step):
    """A step of a series: `step["ux"]` is a Field where the series says its grid, else an array.

    Arrays with components, lists, and arrays of other points than the grid are arrays of NumPy, read at each access.

    :param stored: the step as arrays.
    :param time: its time, which the user's grid file may know better.
    :param grid: returns what is known of the grid of the series, which needs a step to be found.
    :param missed: returns the indices of the steps that were lost before this one.
    :param lazy: fields are read at their first use, and slices of them for themselves; on one rank only.
    :param series: the series, if it is on disk; None where it is a stream.
    """

    def __init__(
        self,
        stored: ArrayStep,
        time: float,
        grid: Callable[[], SeriesGrid],
        *,
        missed: Callable[[], list[int]],
        lazy: bool,
        series: Whole | None = None,
    ) -> None:
        self._stored, self._lazy, self._series = stored, lazy, series
        self._find_grid, self._find_missed = grid, missed
        self._begin(stored.index, time)
        if series is None:  # in a stream this cannot be asked for later
            _ = self.names, self.scalars, self.missed

    # ---- other processes ---------------------------------------------------------------------------------------------
    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle needs to take it from the series again, in another process too.

        :raises InputError: the series is open on several ranks, or a stream.
        """
        if self._series is None:
            return super().__reduce__()
        return _step_of, (self._series, self._stored.number, self.parameters)

    # ---- what it has -------------------------------------------------------------------------------------------------
    @cached_property
    def known(self) -> SeriesGrid:
        """What is known of the grid of the series."""
        return self._find_grid()

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """What the series and the user's grid file say of this step: "reynolds", ...; of one field as "ux/units"."""
        return attributes_at(self.known.attributes, self.index)

    @cached_property
    def _on_the_grid(self) -> dict[str, str]:
        """The fields: our name -> the stored name."""
        return self.known.names(self._stored)

    @cached_property
    def names(self) -> list[str]:
        """The names of what can be read: fields, then other arrays and lists."""
        theirs = set(self._on_the_grid.values())
        return [*self._on_the_grid, *(name for name in self._stored.names if name not in theirs)]

    @cached_property
    def derived(self) -> dict[str, Stored]:
        """What is not stored and can be read all the same: `step["rho"]`; in files of other programs only."""
        return self._stored.derived

    @cached_property
    def vectors(self) -> dict[str, tuple[str, str, str]]:
        """The names of vectors and of their components; in files of other programs only."""
        return self._stored.vectors

    @cached_property
    def scalars(self) -> dict[str, Any]:
        """The single numbers and texts of the step, by name."""
        return self._stored.scalars

    @cached_property
    def missed(self) -> list[int]:
        """The known indices of the steps that were lost between the step before and this one."""
        return self._find_missed()

    @property
    def flat(self) -> str:
        """The directions in which the grid has one point, as "z"; "" in three dimensions, or if it is not known.

        It is "" for a plane or a line that was cut out of a flow of three dimensions: its grid is not known.
        """
        grid = self.known.grid
        return "" if grid is None else "".join(axis for axis, n in zip("xyz", grid.nodes, strict=True) if n == 1)

    @property
    def operators(self) -> Operators:
        """The grid, how the ranks share it, and the schemes on it. Collective at the first access of a series.

        :raises InputError: the series does not say its grid; the message says how to give it.
        """
        return self.known.operators

    @property
    def comm(self) -> MPI.Comm:
        """The ranks that share the fields: those that opened the series."""
        return self.known.comm

    def __contains__(self, name: object) -> bool:
        return (
            name in self.names or name in self.derived or (isinstance(name, str) and self._stored.components(name) > 0)
        )

    def __getitem__(self, name: str) -> Field | Vector | NDArray[Any]:
        """A Field, or an array where the series has no grid or the array is not on it. Collective.

        A Field is read-only. An array is read into new memory at each access, as by `read`.

        Of files of other programs, which name their vectors, also a Vector.

        :raises InputError: there is none of that name; the message has the nearest name.
        :raises IoError: the file is damaged or gone.
        """
        if name in self._fields:
            return self._fields[name]
        with self._stored.raise_on_all_ranks():  # each rank reads for itself what the step has
            theirs = self._on_the_grid.get(name) or self._derived_field(name)
            is_array = theirs is None or self.known.problem is not None
            is_vector = theirs is None and name in self.vectors and self.known.problem is None
            if is_array and not is_vector and name not in self:
                self._check_name(name)
        if is_vector:
            return self.vector(name)
        if theirs is None or is_array:
            return self._stored.read(theirs or name)
        self._fields[name] = self._field(name, theirs)
        return self._fields[name]

    def vector(self, name: str) -> Vector:
        """Three fields: see `Step.vector`; of other programs' files also by the names of their vectors. Collective."""
        with self._stored.raise_on_all_ranks():
            parts = self.vectors.get(name)
        return super().vector(name) if parts is None else Vector(*(self._on_grid(one) for one in parts))

    def _derived_field(self, name: str) -> str | None:
        found = self.derived.get(name)
        return name if found is not None and found.shape == self.known.points else None

    def _field(self, name: str, theirs: str) -> Field:
        with self._stored.raise_on_all_ranks():
            stored = self._stored.variables.get(theirs) or self.derived[theirs]
            dtype = self.known.dtype(stored.dtype)
            parity = self.parity(name)

        def read(box: Box | tuple[Any, Any] | None) -> NDArray[Any]:
            return self._stored.read(theirs, box, dtype=str(dtype) if dtype.kind == "f" else None)

        if self._lazy:
            return StoredField(read, self.operators, dtype, parity=parity, name=name, again=(getitem, (self, name)))
        values = read(self.operators.box())
        values.flags.writeable = False
        return Field(values, self.operators, parity=parity, name=name)

    # ---- as stored ---------------------------------------------------------------------------------------------------
    @property
    def variables(self) -> dict[str, Stored]:
        """Stored type and shape (x, y, z) of every array and list, by their stored names. Local."""
        return self._stored.variables

    @property
    def unchecked(self) -> list[str]:
        """The arrays without checksums, which `verify` cannot check. Local."""
        return self._stored.unchecked

    def stored_name(self, name: str) -> str:
        """The stored name of an array or list. Local."""
        return self._on_the_grid.get(name, name)

    def components(self, name: str) -> int:
        """The number of components of an array that was written as (components, nz, ny, nx); 0 for others. Local."""
        return self._stored.components(name)

    def verify(self) -> list[str]:
        """Compare the step with its checksums, in pieces of bounded size. Collective.

        :returns: one line for every damaged block.
        :raises IoError: the writer of a stream is lost, which is no damage.
        """
        return self._stored.verify()

    def read(
        self, name: str, box: Box | tuple[Sequence[int], Sequence[int]] | None = None, *, dtype: str | None = None
    ) -> NDArray[Any]:
        """Read a box of an array, or all of it, into new memory. Collective; every rank may read another box.

        :param name: as stored, or ours.
        :param box: (start, count), both in x, y, z.
        :param dtype: "float32" or "float64"; by default the stored type.
        :returns: (nz, ny, nx) of an array, (components, nz, ny, nx) of one with components; (rows, columns) of a list,
            or (rows,) of one with one column.
        :raises InputError: there is no such variable or box.
        :raises IoError: the file is damaged or gone.
        """
        with self._stored.raise_on_all_ranks():
            theirs = self._on_the_grid.get(name, name)
        return self._stored.read(theirs, box, dtype=dtype)

    def to_xarray(self, names: str | Sequence[str] | None = None) -> xarray.Dataset:
        """The step as an xarray.Dataset: from a file all that it has, read when it is used. Collective in a stream.

        :param names: variables, or one; by default all.
        :raises InputError: there is none of that name.
        """
        if self._series is None or self.comm.size > 1:
            return super().to_xarray(list(self._on_the_grid) if names is None else names)
        whole = self._series.to_xarray()
        at = int((whole["step"].values == self.index).nonzero()[0][0])
        if names is None:
            return whole.isel(time=at)
        chosen = names_of(names)
        for name in chosen:
            if name not in whole:
                self._check_name(name)
        return whole[list(chosen)].isel(time=at)


def _step_of(series: Whole, position: int, parameters: dict[str, Any]) -> StoredStep:
    """A step that was pickled."""
    step = series[position]
    step.parameters = parameters
    return step
