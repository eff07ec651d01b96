"""The page of the case file, from the sections that validate it (tailrace.case.sections)."""

from __future__ import annotations

import inspect
import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

LIMITS = {"gt": "> {}", "ge": ">= {}", "lt": "< {}", "le": "<= {}"}
HUGE = 2**31 - 1  # limits from here on say nothing to a reader
HEAD = """# Case file

A case is a TOML file. `tailrace new tgv` writes one with comments, and `tailrace case FILE` prints a case with all its
values. It is checked as a whole before anything starts; every problem is listed with its key. `--set KEY=VALUE` changes
a value for one run, such as `--set time.end=5` or `--set output[0].every=10`.

Lengths may be texts such as `"2*pi"`. Three values are those in x, y and z.
"""
NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def _limits(metadata: Any) -> list[str]:
    found = []
    for item in metadata:
        for part in getattr(item, "metadata", None) or [item]:
            for name, form in LIMITS.items():
                value = getattr(part, name, None)
                if value is not None and value < HUGE and not callable(value):
                    found.append(form.format(f"{value:g}"))
    return found


def kind(annotation: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = _limits(annotation.__metadata__)
        return kind(arguments[0]) + (f" {', '.join(limits)}" if limits else "")
    if origin is Literal:
        return ", ".join(f'`"{value}"`' for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(kind(each) for each in arguments if each is not type(None))
    if origin is tuple:
        return f"{'two' if len(arguments) == 2 else 'three'} of: {kind(arguments[0])}"
    if origin is list:
        return f"list of: {kind(arguments[0])}"
    if origin is dict or annotation is dict:
        return "table"
    if hasattr(annotation, "model_fields"):
        return "table, see below"
    return NAMES.get(annotation, "any value" if annotation is Any else getattr(annotation, "__name__", str(annotation)))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"' if value else ""
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    return f"{value}"


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    shown = "" if value is None or value == {} else _toml(value)
    return f"`{shown}`" if shown else ""


def rows(section: Any) -> str:
    """The keys of a section as a table."""
    table = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in section.model_fields.items():
        annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        about = (field.description or "").replace("|", "\\|")
        table.append(
            f"| `{field.alias or name}` | {kind(annotation)} | {_default(field)} | {about[:1].upper() + about[1:]} |"
        )
    return "\n".join(table)


def nested(section: Any) -> list[tuple[str, Any]]:
    """The keys of a section that are tables with keys of their own, and those tables."""
    found = [(name, each) for name, field in section.model_fields.items() for each in get_args(field.annotation)]
    return [(name, each) for name, each in found if hasattr(each, "model_fields")]


def write(pages: Path) -> None:
    """One page with a table for each section of the case file."""
    from tailrace.case.case import Case

    parts = [
        HEAD,
    ]
    for name, field in Case.model_fields.items():
        many = get_origin(field.annotation) is list
        # A list of tables, or a table that may be left out, has its section as an argument.
        section = next((each for each in get_args(field.annotation) if hasattr(each, "model_fields")), field.annotation)
        title = f"[[{name}]]" if many else f"[{name}]"
        about = re.sub(r"^\[+\w+\]+: *", "", inspect.getdoc(section) or "")
        parts += [f"(case-{name})=\n## `{title}`\n", about[:1].upper() + about[1:], "", rows(section), ""]
        for key, table in nested(section):
            about = re.sub(r"^\[[\w.]+\],? *", "", inspect.getdoc(table) or "")
            parts += [f"### `[{name}.{key}]`\n", about[:1].upper() + about[1:], "", rows(table), ""]
    (pages / "case.md").write_text("\n".join(parts), encoding="utf-8")
