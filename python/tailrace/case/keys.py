"""The tables and keys of a case file as data, from the sections that validate it.

`tailrace case --keys` prints them, and the reference of the documentation has them.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .case import Case

_LIMITS = {"gt": "> {}", "ge": ">= {}", "lt": "< {}", "le": "<= {}"}
_HUGE = 2**31 - 1  # limits from here on say nothing to a reader
_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


@dataclass(frozen=True)
class Key:
    """A key of a table.

    :param kind: its type in words, or its choices: `"x", "z"`.
    :param default: as TOML writes it; empty: none.
    """

    name: str
    kind: str
    required: bool
    default: str
    meaning: str


@dataclass(frozen=True)
class KeyTable:
    """A table of the case file: `grid`, or `forcing.band` within another one.

    :param many: there may be several, `[[output]]`.
    """

    name: str
    many: bool
    about: str
    keys: list[Key]

    @property
    def title(self) -> str:
        """Its name as a case file writes it."""
        return f"[[{self.name}]]" if self.many else f"[{self.name}]"

    @property
    def section(self) -> str:
        """The name of the outermost table."""
        return self.name.partition(".")[0]


def tables() -> Iterator[KeyTable]:
    """All tables, each followed by those within it. Local."""
    for name, field in Case.model_fields.items():
        # A list of tables, or a table that may be left out, has its section as an argument.
        section: Any = next(_sections(field), field.annotation)
        yield _table(name, section, many=get_origin(field.annotation) is list)
        for key, inner in section.model_fields.items():
            for within in _sections(inner):
                yield _table(f"{name}.{key}", within, many=False)


def default_of(key: str) -> Any:
    """The default of a key, as `leaves` names it and `Case.to_toml` writes it; None if it has none. Local."""
    *tables, name = re.sub(r"\[\d+\]", "", key).split(".")
    section: Any = Case
    for table in tables:
        field = section.model_fields.get(table)
        section = next(_sections(field), field.annotation) if field is not None else None
        if not hasattr(section, "model_fields"):
            return None
    field = section.model_fields.get(name)
    return None if field is None or field.is_required() else field.get_default(call_default_factory=True)


def _sections(field: Any) -> Iterator[Any]:
    return (each for each in get_args(field.annotation) if hasattr(each, "model_fields"))


def _table(name: str, section: Any, *, many: bool) -> KeyTable:
    about = re.sub(r"^\[+[\w.]+\]+[:,]? *", "", inspect.getdoc(section) or "")
    keys = [_key(*each) for each in section.model_fields.items()]
    if section.model_config.get("extra") == "allow":  # its names are the user's
        keys.append(Key("NAME", "any value", False, "", "the value of the argument NAME"))
    return KeyTable(name, many, about[:1].upper() + about[1:], keys)


def _key(name: str, field: Any) -> Key:
    annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    default = "" if field.is_required() else _toml(field.get_default(call_default_factory=True))
    return Key(field.alias or name, _kind(annotation), field.is_required(), default, field.description or "")


def _kind(annotation: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = _limits(annotation.__metadata__)
        return _kind(arguments[0]) + (f" {', '.join(limits)}" if limits else "")
    if origin is Literal:
        return ", ".join(f'"{value}"' for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(each) for each in arguments if each is not type(None))
    if origin is tuple:
        return f"{'two' if len(arguments) == 2 else 'three'} of: {_kind(arguments[0])}"
    if origin is list:
        return f"list of: {_kind(arguments[0])}"
    if origin is dict or annotation is dict:
        return "table"
    if hasattr(annotation, "model_fields"):
        return "table, see below"
    return _NAMES.get(
        annotation, "any value" if annotation is Any else getattr(annotation, "__name__", str(annotation))
    )


def _limits(metadata: Any) -> list[str]:
    found = []
    for item in metadata:
        for part in getattr(item, "metadata", None) or [item]:
            for name, form in _LIMITS.items():
                value = getattr(part, name, None)
                if value is not None and value < _HUGE and not callable(value):
                    found.append(form.format(f"{value:g}"))
    return found


def _toml(value: Any) -> str:
    if value is None or value in ("", {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return f"{value}"
