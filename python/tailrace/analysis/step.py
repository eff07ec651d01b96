"""What a script gets: one step of a flow, from a simulation, a file or a stream."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace import _core
from tailrace.fields.field import Field
from tailrace.fields.parity import EVEN, Signs, axial, polar
from tailrace.fields.vector import Vector

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.fields.operators import Operators

# The parities of fields about free-slip boundaries, by their names.
PARITIES: dict[str, Signs] = {
    **{f"u{axis}": polar(d) for d, axis in enumerate("xyz")},
    **{f"vorticity_{axis}": axial(d) for d, axis in enumerate("xyz")},
    **dict.fromkeys(("pressure", "q", "vorticity"), EVEN),
}


class AnalysisStep:
    """One step: `step["ux"]` is a Field, `step.vector("u")` a Vector; `step.index`, `step.time`.

    Fields are this rank's part, shared with the other analyses and, inside a simulation, with the solver: their memory
    is read-only. A field that is kept longer than the step must be copied.

    :param names: names of the fields that `read` can return.
    :param read: returns this rank's part of a field, (nz, ny, nx). Collective.
    :param missed: known indices of the steps that were lost between the step before and this one.
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
        parameters: Mapping[str, Any] | None = None,
        kept: dict[str, Field] | None = None,
    ) -> None:
        self.index, self.time, self.operators = index, time, operators
        self.names = list(names)
        self.attributes = dict(attributes)
        self.scalars = dict(scalars or {})
        self.missed = list(missed)
        self.parameters = dict(parameters or {})
        self._read = read
        self._fields: dict[str, Field] = {} if kept is None else kept

    def for_script(self, parameters: Mapping[str, Any]) -> AnalysisStep:
        """The same step, with the parameters of a script; fields are read once for all scripts. Local."""
        return AnalysisStep(
            self.index, self.time, self.operators, self.names, self._read,
            attributes=self.attributes, scalars=self.scalars, missed=self.missed, parameters=parameters,
            kept=self._fields,
        )  # fmt: skip

    # ---- properties -----------------------------------------------------------------------------------------------
    @property
    def grid(self) -> _core.Grid:
        """Nodes, lengths and boundaries."""
        return self.operators.grid

    @property
    def comm(self) -> MPI.Comm:
        """The ranks that share the fields."""
        return self.operators.comm

    @property
    def dt(self) -> float | None:
        """Nominal time step of the simulation; None where the source does not have it."""
        found = self.attributes.get("dt")
        return None if found is None else float(found)

    @property
    def viscosity(self) -> float:
        """1 / Reynolds number, velocity and length scales being one.

        :raises InputError: the source does not have the Reynolds number.
        """
        found = self.attributes.get("reynolds")
        if found is None:
            raise _core.InputError(
                "the Reynolds number is not known: the source has no attribute 'reynolds'; "
                "put `reynolds = 1600` into a TOML file and give it by --grid FILE"
            )
        return 1.0 / float(found)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        return f"<AnalysisStep {self.index}: time {self.time:g}; {', '.join(self.names)}>"

    # ---- fields ------------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> Field:
        """A field; it is read at the first access. Collective.

        :raises InputError: there is none of that name; the message has the nearest name.
        """
        if name not in self.names:
            raise _core.InputError(self._unknown(name))
        if name not in self._fields:
            values = self._read(name).view()
            values.flags.writeable = False
            self._fields[name] = Field(values, self.operators, parity=self.parity(name), name=name)
        return self._fields[name]

    def vector(self, name: str) -> Vector:
        """Three fields: for "u" ux, uy, uz; for "vorticity" vorticity_x, _y, _z; else NAME_1, _2, _3. Collective.

        :raises InputError: one of them is missing.
        """
        forms = [[f"{name}{axis}" for axis in "xyz"], [f"{name}_{axis}" for axis in "xyz"]]
        forms.append([f"{name}_{number}" for number in (1, 2, 3)])
        for form in forms:
            if all(one in self.names for one in form):
                return Vector(*(self[one] for one in form))
        best = max(forms, key=lambda form: sum(one in self.names for one in form))
        missing = [one for one in best if one not in self.names]
        raise _core.InputError(f"vector '{name}': {self._unknown(missing[0])}")

    def parity(self, name: str) -> Signs:
        """The parity of a field about free-slip boundaries: from the source, or by its name, else 0. Local."""
        told = self.attributes.get(f"{name}/parity")
        if told is not None:
            x, y, z = (int(np.sign(sign)) for sign in told)
            return x, y, z
        return PARITIES.get(name, (0, 0, 0))

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower(), self.names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(self.names) or 'none'}"
        return f"step {self.index} has no field '{name}'; {hint}"
