"""The command of a bench, made of its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from inspect import Parameter, Signature
from typing import Any, get_type_hints

from tailrace.bench.bench import Bench

from .measure import measure


def command_of(bench: type[Bench]) -> Callable[..., None]:
    """A function that typer takes as a command. Its parameters are the options of the bench and of its groups."""
    usual = bench()

    def command(**given: Any) -> None:
        measure(_filled(usual, given))

    command.__doc__ = bench.__doc__
    command.__signature__ = Signature(list(_parameters(usual)))  # type: ignore[attr-defined]
    return command


def _parameters(options: Any) -> Iterator[Parameter]:
    hints = get_type_hints(type(options), include_extras=True)
    for name, value in _values(options):
        if is_dataclass(value):
            yield from _parameters(value)
        else:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=hints[name])


def _filled(options: Any, given: dict[str, Any]) -> Any:
    """The same dataclass with the values of the user."""
    values = {name: _filled(value, given) if is_dataclass(value) else given[name] for name, value in _values(options)}
    return replace(options, **values)


def _values(options: Any) -> Iterator[tuple[str, Any]]:
    return ((one.name, getattr(options, one.name)) for one in fields(options))
