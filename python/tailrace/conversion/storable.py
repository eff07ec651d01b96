"""Attributes, numbers and texts of a source that a series cannot store as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from tailrace.core import InputError
from tailrace.io.engines import ENGINES
from tailrace.io.values import Attribute, Scalar

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
RENAMED = "renamed"  # the attribute with the names of `names_of`


def is_name(name: str) -> bool:
    """Whether a series takes this as the name of a variable."""
    return _NAME.fullmatch(name) is not None


def attributes(found: Mapping[str, Attribute], engine: str, notes: dict[str, None]) -> dict[str, Attribute]:
    """The attributes that a series stores; numbers that are not finite become texts.

    :param notes: gets a sentence about each that is left out or changed.
    """
    kept: dict[str, Attribute] = {}
    for name, value in found.items():
        parts = name.split("/")
        if len(parts) > 2 or not all(is_name(part) for part in parts):
            notes[f"the attribute {name!r} is left out: a series takes names of letters, digits and _ - . only"] = None
            continue
        if not ENGINES[engine].text_lists and _texts(value) and not isinstance(value, str):
            notes[f"the attribute {name} is stored as one text: the engine {engine} has no lists of texts"] = None
            value = ", ".join(_texts(value))
        reasons = [why for why in (_why_no_text(one, engine) for one in _texts(value)) if why]
        if not isinstance(value, int | float | str) and not len(value):
            reasons = ["it is an empty list"]
        if reasons:
            notes[f"the attribute {name} is left out: {reasons[0]}"] = None
            continue
        numbers = _numbers(value)
        if not all(math.isfinite(one) for one in numbers):
            notes[f"the attribute {name} is stored as a text: it has numbers that are not finite"] = None
            value = ", ".join(repr(float(one)) for one in numbers)
        kept[name] = value
    return kept


def _texts(value: Attribute) -> list[str]:
    """The texts of an attribute."""
    return [one for one in _items(value) if isinstance(one, str)]


def _numbers(value: Attribute) -> list[int | float]:
    """The numbers of an attribute."""
    return [one for one in _items(value) if not isinstance(one, str)]


def _items(value: Attribute) -> Sequence[int | float | str]:
    return [value] if isinstance(value, int | float | str) else value


_WIDER = {"bool": "uint8", "float16": "float32"}  # types that hold the same values


def dtype(name: str, stored: str, engine: str, notes: dict[str, None]) -> str:
    """The type in which an engine stores the values of a variable.

    :raises InputError: it has none that holds them.
    """
    types = ENGINES[engine].types
    if stored in types:
        return stored
    wider = _WIDER.get(stored)
    if wider is None:
        raise InputError(
            f"{name}: the engine {engine} stores no {stored}, but {', '.join(types)}. To fix this, choose another "
            "engine, or other variables (--variables)"
        )
    notes[f"{name}: stored as {wider}, which holds its values: the engine {engine} has no {stored}"] = None
    return wider


def names_of(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    """Values that a series stores under another name: the name in the series -> the name in the first source."""
    lines = str(attributes.get(RENAMED, "")).split("\n")
    return {own: first for own, _, first in (line.partition(" ") for line in lines) if own and first}


def scalars(
    found: Mapping[str, Scalar], engine: str, names: dict[str, str], notes: dict[str, None]
) -> dict[str, Scalar]:
    """The numbers and texts of a step that a series stores; see `attributes`.

    :param names: see `names_of`; new ones are added.
    """
    kept: dict[str, Scalar] = {}
    for first, value in found.items():
        name = first if is_name(first) else re.sub(r"[^A-Za-z0-9_.-]", ".", first).lstrip(".") or "value"
        if name in kept or (name != first and name in found):
            notes[f"the value {first!r} of a step is left out: another one has the name {name}"] = None
            continue
        if name != first:
            names[name] = first
            notes[f"the value {first!r} of a step has the name {name}"] = None
        reason = _why_no_text(value, engine) if isinstance(value, str) else ""
        if reason:
            notes[f"the value {name} of a step is left out: {reason}"] = None
        else:
            kept[name] = value
    return kept


def _why_no_text(text: str, engine: str) -> str:
    if "\0" in text:
        return "it is a text with a character NUL"
    traits = ENGINES[engine]
    if traits.longest_text and len(text.encode()) > traits.longest_text:
        return f"it is a text of more than {traits.longest_text} bytes"
    return ""
