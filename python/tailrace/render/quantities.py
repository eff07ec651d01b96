"""Quantities on the points of a step: stored fields, magnitudes of vectors, and quantities derived from the velocity.

Of a stored array only the needed box is read, such as the plane of a slice. Derived quantities need whole fields.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import InputError
from tailrace.expression import evaluate, is_expression, names_in
from tailrace.fields.derived import DERIVED
from tailrace.fields.field import Field
from tailrace.fields.vector import Vector
from tailrace.grids import Triple
from tailrace.io.placement import Box, Stored

from .style import PlotError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep

_POSITIVE = ("vorticity",)


@dataclass(frozen=True)
class Quantity:
    """A quantity on points.

    :param shape: points in x, y, z.
    :param positive: its values cannot be negative.
    :param read: returns a box of it, or the whole: (nz, ny, nx).
    """

    name: str
    shape: Triple
    positive: bool
    read: Callable[[Box | None], NDArray[Any]]


def quantity(step: StoredStep, name: str | None, path: str) -> Quantity:
    """The quantity of that name; by default the vorticity if it is stored, else the first array.

    :raises PlotError: it does not exist; the message lists all names, and the nearest one. When it is read: it is
        complex.
    """
    found = _quantity(step, name, path)

    def read(box: Box | None) -> NDArray[Any]:
        values = found.read(box)
        if values.dtype.kind == "c":
            raise PlotError(f"{path}: the values of '{found.name}' are complex; to fix this, draw 'abs({found.name})'")
        return values.astype(np.uint8) if values.dtype.kind == "b" else values

    return replace(found, read=read)


def _quantity(step: StoredStep, name: str | None, path: str) -> Quantity:
    if name is None:
        name = default_name(step)
    parts = _parts(step, name)
    if parts:
        shape = _stored(step, parts[0]).shape
        if len({_stored(step, part).shape for part in parts}) > 1:
            raise PlotError(f"{path}: the components {', '.join(parts)} have different points")
        several = len(parts) > 1
        return Quantity(name, shape, several or name in _POSITIVE, lambda box: _magnitude(step, parts, box))
    if name in DERIVED and has_velocity(step):
        values: list[NDArray[Any]] = []

        def derived(box: Box | None) -> NDArray[Any]:
            if not values:
                values.append(np.asarray(DERIVED[name](_velocity(step, name, path))))
            return values[0] if box is None else values[0][_slices(box)]

        return Quantity(name, stored_shape(step, _components(step, "u")[0]), name in _POSITIVE, derived)
    if is_expression(name):
        return _computed(step, name, path)
    raise PlotError(f"{path}: {unknown('field', name, known_names(step))}")


def _computed(step: StoredStep, text: str, path: str) -> Quantity:
    """An expression of fields. Of stored ones only the needed box is read."""
    try:
        parts = {name: _quantity(step, name, path) for name in names_in(text)}
    except ValueError as error:
        raise PlotError(f"{path}: {error}") from None
    if len({part.shape for part in parts.values()}) > 1:
        raise PlotError(f"{path}: the fields of '{text}' have different points: {', '.join(parts)}")

    def read(box: Box | None) -> NDArray[Any]:
        try:
            return np.asarray(evaluate(text, lambda name: parts[name].read(box)))
        except ValueError as error:
            raise PlotError(f"{path}: {error}") from None

    return Quantity(text, next(iter(parts.values())).shape, positive=False, read=read)


def default_name(step: StoredStep) -> str:
    """The quantity where none is asked for."""
    stored = arrays(step)
    return "vorticity" if "vorticity" in stored or not stored else stored[0]


def field_of(step: StoredStep, name: str, path: str) -> Field | Vector:
    """The field or the vector of that name, with its grid.

    :raises PlotError: it does not exist, or the series does not have its grid.
    """
    parts = _parts(step, name)
    if len(parts) == 1:
        found = step[parts[0]]
        if isinstance(found, Field):
            return found
        raise PlotError(f"{path}: {_why_no_field(step, name)}")
    if parts and step.known.problem is not None:
        raise PlotError(f"{path}: {_why_no_field(step, name)}")
    if parts:
        return step.vector(name)
    if name in DERIVED and has_velocity(step):
        return DERIVED[name](_velocity(step, name, path))
    raise PlotError(f"{path}: {unknown('field', name, known_names(step))}")


def has_velocity(step: StoredStep) -> bool:
    """Whether the velocity is stored, of which a component along a direction of one point may be missing."""
    return bool(_components(step, "u"))


def arrays(step: StoredStep) -> list[str]:
    """The names of the arrays on points, stored or computed from stored ones; without lists."""
    return [name for name in (*step.names, *step.derived) if not _stored(step, name).is_list]


def stored_shape(step: StoredStep, name: str) -> Triple:
    """The points of a stored array in x, y, z."""
    return _stored(step, name).shape


def _stored(step: StoredStep, name: str) -> Stored:
    return step.variables.get(step.stored_name(name)) or step.derived[name]


def known_names(step: StoredStep) -> list[str]:
    """The names of all quantities on points."""
    stored = arrays(step)
    vectors = dict.fromkeys(name[:-2] for name in stored if name[-2:] in ("_1", "_x"))
    bases = [*step.vectors, *(["u"] if has_velocity(step) else []), *vectors]
    names = [*stored, *(base for base in bases if len(_parts(step, base)) > 1)]
    if has_velocity(step) and step.known.problem is None:
        names += DERIVED
    return list(dict.fromkeys(names))


def unknown(what: str, name: str, there: list[str]) -> str:
    """The message for an unknown name."""
    near = difflib.get_close_matches(name.lower(), there, n=1)
    hint = f"did you mean '{near[0]}'? There" if near else "there"
    return f"there is no {what} '{name}'; {hint} are {', '.join(there) or 'none'}"


def _parts(step: StoredStep, name: str) -> list[str]:
    """The stored arrays of a name: one, or the components of a vector; empty if there are none."""
    stored = arrays(step)
    if name in stored:
        return [name]
    if name in step.vectors:
        return list(step.vectors[name])
    for between in ("", "_"):
        ends = _components(step, f"{name}{between}")
        if ends:
            return ends
    return [f"{name}_{number + 1}" for number in range(step.components(name))]


def _components(step: StoredStep, start: str) -> list[str]:
    """The stored components of a vector; empty if one is missing, but along a direction of one point."""
    stored = arrays(step)
    there = [f"{start}{axis}" for axis in "xyz" if f"{start}{axis}" in stored]
    missing = [axis for axis in "xyz" if f"{start}{axis}" not in there]
    return there if len(there) > 1 and all(axis in step.flat for axis in missing) else []


def _magnitude(step: StoredStep, parts: list[str], box: Box | None) -> NDArray[Any]:
    """An array, or the length of a vector."""
    if len(parts) == 1:
        return step.read(parts[0], box)
    total = sum(abs(step.read(part, box)).astype(np.float64) ** 2 for part in parts)
    return np.asarray(np.sqrt(total))


def _velocity(step: StoredStep, name: str, path: str) -> Vector:
    if step.known.problem is not None:
        raise PlotError(f"{path}: '{name}' is derived from the velocity, and {step.known.problem}")
    try:
        return step.vector("u")
    except InputError:
        raise PlotError(f"{path}: {_why_no_field(step, 'u')}") from None


def _why_no_field(step: StoredStep, name: str) -> str:
    return f"'{name}' is on no grid that is known: {step.known.problem or 'its points are not those of the grid'}"


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(s, s + n) for s, n in zip(reversed(box.start), reversed(box.count), strict=True))
