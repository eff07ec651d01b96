"""One step of a flow, from a file, a stream or a running simulation: what users and their scripts get."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tailrace.core import InputError
from tailrace.fields.field import Field
from tailrace.fields.parity import EVEN, Signs, axial, polar
from tailrace.fields.vector import Vector
from tailrace.grids import UniformGrid, triple
from tailrace.io.placement import Block
from tailrace.notebook import card
from tailrace.text import names_of, visible

if TYPE_CHECKING:
    import xarray
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.fields.operators import Operators

# The parities of fields about free-slip boundaries, by their names.
PARITIES: dict[str, Signs] = {
    **{f"u{axis}": polar(d) for d, axis in enumerate("xyz")},
    **{f"vorticity_{axis}": axial(d) for d, axis in enumerate("xyz")},
    **dict.fromkeys(("pressure", "q", "vorticity"), EVEN),
}


class Step:
    """One step: `step["ux"]` is a Field, `step.vector("u")` a Vector; `step.index`, `step.time`.

    Fields are this rank's part. A step keeps the fields that were used. All analyses share them, and inside a
    simulation the solver too, so their memory is read-only. Copy a field before you change it. Inside a simulation,
    also copy a field that you keep longer than the step.

    :param names: names of the fields that `read` can return.
    :param read: returns this rank's part of a field, (nz, ny, nx). Collective.
    :param missed: the indices, if known, of steps that were lost between the step before and this one.

    >>> grid = tr.UniformGrid((16, 12, 8), spacing=(0.5, 0.25, 0.25), boundaries=("periodic",) * 3)
    >>> with tr.open("run.h5", "w", grid=grid) as series:
    ...     series.write_step(0.5, p=np.ones((8, 12, 16)), t=np.zeros((8, 12, 16)))
    >>> with tr.open("run.h5") as series:
    ...     step = series[0]
    ...     print(step.index, step.time, step.names, step["p"].mean())
    0 0.5 ['p', 't'] 1.0
    """

    def __init__(
        self,
        index: int,
        time: float,
        operators: Operators,
        names: Sequence[str],
        read: Callable[[str], NDArray[Any]],
        *,
        attributes: Mapping[str, Any],
        scalars: Mapping[str, Any] | None = None,
        missed: Sequence[int] = (),
    ) -> None:
        self._operators, self._read = operators, read
        self._names, self._scalars, self._missed = list(names), dict(scalars or {}), list(missed)
        self._attributes = dict(attributes)
        self._begin(index, time)

    def _begin(self, index: int, time: float) -> None:
        """Set what every kind of step has."""
        self.index, self.time = index, time
        self.parameters: dict[str, Any] = {}
        self._fields: dict[str, Field] = {}

    def for_script(self, parameters: Mapping[str, Any]) -> Step:
        """The same step, with the parameters of a script; fields are read once for all scripts. Local."""
        same = copy.copy(self)
        same.parameters = dict(parameters)
        return same

    def __reduce__(self) -> tuple[Any, ...]:
        """Only steps of files can be pickled.

        :raises InputError: it is a step of a running simulation, or of a stream.
        """
        raise InputError(
            f"step {self.index}: is of a running simulation or a stream, so it cannot be pickled; give the other "
            'process arrays, as numpy.asarray(step["ux"]), or let it open a series'
        )

    def __copy__(self) -> Self:
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__)
        return same

    # ---- properties --------------------------------------------------------------------------------------------------
    @property
    def names(self) -> list[str]:
        """The names of what can be read."""
        return self._names

    @property
    def attributes(self) -> dict[str, Any]:
        """What the source says about itself: "reynolds", "dt", ...; about one field as "ux/units"."""
        return self._attributes

    @property
    def scalars(self) -> dict[str, Any]:
        """The single numbers and texts of the step, by name."""
        return self._scalars

    @property
    def missed(self) -> list[int]:
        """The indices, if known, of steps that were lost between the step before and this one."""
        return self._missed

    @property
    def flat(self) -> str:
        """The directions in which the grid has one point, as "z"; "" in three dimensions, or if it is not known."""
        return self.operators.flat

    @property
    def operators(self) -> Operators:
        """The grid, how the ranks share it, and the schemes on it.

        :raises InputError: the source does not say its grid; the message says how to give it.
        """
        return self._operators

    @property
    def grid(self) -> UniformGrid:
        """The nodes: points, coordinates, lengths, boundaries; a `StretchedGrid` where y is stretched. Local."""
        return UniformGrid.of(self.operators.grid)

    @property
    def comm(self) -> MPI.Comm:
        """The ranks that share the fields."""
        return self.operators.comm

    @property
    def dt(self) -> float | None:
        """Nominal time step of the simulation; None if the source does not have it."""
        found = self.attributes.get("dt")
        return None if found is None else float(found)

    @property
    def viscosity(self) -> float:
        """1 / Reynolds number, velocity and length scales being one.

        :raises InputError: the source does not have the Reynolds number.
        """
        found = self.attributes.get("reynolds")
        if found is None:
            raise InputError(
                "the Reynolds number is not known: the source has no attribute 'reynolds'; "
                "put `reynolds = 1600` into a TOML file and give it by --grid FILE, or in Python by "
                "tr.open(path, grid=FILE)"
            )
        return 1.0 / float(found)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        return visible(f"<Step {self.index}: time {self.time:g}; {', '.join(self.names)}>")

    def _repr_html_(self) -> str:
        """For notebooks: its names, and on one rank a picture of the first field."""
        rows = [("time", f"{self.time:g}"), ("names", ", ".join(self.names))]
        rows += [(name, value) for name, value in self.scalars.items()]
        pictures = []
        if self.names and self.comm.size == 1:
            first = self[self.names[0]]
            pictures = [first._repr_html_()] if isinstance(first, Field) else []
        return card(f"Step {self.index}", rows, pictures)

    # ---- fields ------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> Any:
        """A Field, read at the first access. Collective.

        :raises InputError: no field has this name; the message has the nearest name.
        """
        if name not in self._fields:
            self._check_name(name)
            values = self._read(name).view()
            values.flags.writeable = False
            self._fields[name] = Field(values, self.operators, parity=self.parity(name), name=name)
        return self._fields[name]

    def vector(self, name: str) -> Vector:
        """Three fields: for "u" ux, uy, uz; for "vorticity" vorticity_x, _y, _z; else NAME_1, _2, _3. Collective.

        A component along a direction of one point may be missing, and is zero.

        :raises InputError: a component is missing, or its grid is not known.

        >>> grid = tr.UniformGrid((16, 12, 8), spacing=(0.5, 0.25, 0.25), boundaries=("periodic",) * 3)
        >>> with tr.open("run.h5", "w", grid=grid) as series:
        ...     one = np.ones((8, 12, 16))
        ...     series.write_step(0.5, ux=one, uy=2 * one, uz=3 * one)
        >>> with tr.open("run.h5") as series:
        ...     print(series[0].vector("u").mean())
        [1. 2. 3.]
        """
        forms = [[f"{name}{axis}" for axis in "xyz"], [f"{name}_{axis}" for axis in "xyz"]]
        forms.append([f"{name}_{number}" for number in (1, 2, 3)])
        for form in forms:
            if all(one in self for one in form):
                return Vector(*(self._on_grid(one) for one in form))
        for form in forms[:2]:
            there = [one in self for one in form]
            if any(there) and all(one or axis in self.flat for one, axis in zip(there, "xyz", strict=True)):
                return Vector.in_plane(*(self._on_grid(one) if one in self else None for one in form))
        best = max(forms, key=lambda form: sum(one in self for one in form))
        missing = [one for one in best if one not in self]
        raise InputError(f"vector '{name}': {self._unknown(missing[0])}")

    def block(self, name: str) -> Block:
        """This rank's part of a field, as a series takes it. Collective.

        :raises InputError: there is no such field on the grid.
        """
        start, _ = self.operators.box()
        return Block(self._on_grid(name).data, self.grid.points, triple(start))

    def _on_grid(self, name: str) -> Field:
        found = self[name]
        if not isinstance(found, Field):
            nodes = self.operators.shape()  # an error that says why, where the grid is not known
            raise InputError(
                f"{name}: an array of shape {found.shape} is no field on the grid of {nodes} points in x, y, z"
            )
        return found

    def parity(self, name: str) -> Signs:
        """The parity of a field about free-slip boundaries: from the source, or by its name, else 0. Local."""
        told = self.attributes.get(f"{name}/parity")
        if told is not None:
            x, y, z = (int(np.sign(sign)) for sign in told)
            return x, y, z
        return PARITIES.get(name, (0, 0, 0))

    def _check_name(self, name: str) -> None:
        if name not in self.names:
            raise InputError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(str(name).lower(), self.names, n=1)
        hint = f"did you mean '{near[0]}'? It" if near else "it"
        return f"step {self.index} has no field '{name}'; {hint} has {', '.join(self.names) or 'none'}"

    # ---- export ------------------------------------------------------------------------------------------------------
    def to_xarray(self, names: str | Sequence[str] | None = None) -> xarray.Dataset:
        """This rank's part of the fields as an xarray.Dataset with coordinates z, y, x, time and step. Collective.

        :param names: fields on the grid, or one; by default all.
        :raises InputError: a name is not known, or its field is not on the grid.
        """
        import xarray

        chosen = self.names if names is None else names_of(names)
        fields = {name: self._on_grid(name).to_xarray() for name in chosen}
        return xarray.Dataset(fields, {"time": self.time, "step": self.index}, _plain(self.attributes))


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the source as a whole; those of one field have a slash."""
    return {name: value for name, value in attributes.items() if "/" not in name}
