"""Arguments of users' functions that get their values by name: the parameters of a flow and of an analysis."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .document import override_value

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def arguments_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """All arguments, with their annotations as types where these are known. Local."""
    try:
        return inspect.signature(function, eval_str=True).parameters
    except NameError:  # an annotation uses a name that only type checkers import
        return inspect.signature(function).parameters


def with_defaults(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The arguments that have a default or stand after a `*`. Local."""
    return {
        name: one
        for name, one in arguments_of(function).items()
        if one.kind is one.KEYWORD_ONLY or (one.kind is one.POSITIONAL_OR_KEYWORD and one.default is not one.empty)
    }


def hint(name: str, known: Iterable[str]) -> str:
    """What to write instead of a name that is not known. Local."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"


def typed(value: Any, parameter: inspect.Parameter) -> Any:
    """The value in the type of the annotation or default of a parameter; text is read as in a case file. Local.

    :raises ValueError: it has another type.
    """
    wanted = parameter.annotation
    if wanted not in (bool, int, float, str):
        wanted = type(parameter.default)
    if wanted not in (bool, int, float, str, list, tuple):
        return plain(value)
    if wanted is str:
        if isinstance(value, str):
            return value
    else:
        found = plain(value)
        if wanted is float and isinstance(found, int) and not isinstance(found, bool):
            return float(found)
        if wanted in (list, tuple) and isinstance(found, list | tuple):
            return wanted(found)
        if type(found) is wanted:
            return found
    raise ValueError(f"must be {_WORDS.get(wanted, 'a list')} (found {value!r})")


def plain(value: Any) -> Any:
    """The value; text is read as in a case file. Local.

    :raises ValueError: the text is not a value.
    """
    return override_value(value) if isinstance(value, str) else value
