"""What a layer shows: a field of a step, what follows from the velocity, an expression, or what a function returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tailrace.core import InputError
from tailrace.expression import evaluate, is_expression
from tailrace.fields.derived import DERIVED
from tailrace.fields.field import Field
from tailrace.fields.vector import Vector

if TYPE_CHECKING:
    from tailrace.steps.step import Step

Function = Callable[["Step"], Any]


def quantity(step: Step, name: str, functions: Mapping[str, Function] | None = None) -> Field:
    """A field by its name; of a vector its size. Collective.

    :param name: of a field, an expression of fields, or one of `functions`.
    :param functions: of a step, by their names; each returns a field or a vector.
    :raises InputError: the step does not have it, or a function fails or returns something else.
    """
    if functions and name in functions:
        found = _called(step, name, functions[name])
    elif name in step:
        found = step[name]
    elif name in DERIVED:
        found = DERIVED[name](step.vector("u"))
    elif name in ("u", "vorticity"):
        found = step.vector(name)
    elif is_expression(name):
        found = _computed(step, name)
    else:
        found = step[name]  # which says what there is
    return found.norm() if isinstance(found, Vector) else found


def vector(step: Step, name: str, functions: Mapping[str, Function] | None = None) -> Vector:
    """A vector by its name, or what a function returns. Collective.

    :raises InputError: the step does not have it, or the function fails or returns something else.
    """
    found = _called(step, name, functions[name]) if functions and name in functions else step.vector(name)
    if not isinstance(found, Vector):
        raise InputError(f"{name} must return a vector to be drawn as arrows (returned a field)")
    return found


def _called(step: Step, name: str, function: Function) -> Field | Vector:
    try:
        found = function(step)
    except InputError:
        raise
    except Exception as error:  # the user's code: whatever it raises is their message
        raise InputError(f"{name} fails: {type(error).__name__}: {error}") from error
    if not isinstance(found, Field | Vector):
        raise InputError(f"{name} must return a field of the step, or a vector (returned {type(found).__name__})")
    return found


def _computed(step: Step, text: str) -> Field:
    try:
        found = evaluate(text, lambda name: quantity(step, name))
    except ValueError as error:
        raise InputError(str(error)) from None
    assert isinstance(found, Field)  # each expression names a field
    return found
