"""`tailrace case --keys`: the keys of a case file as plain text."""

from __future__ import annotations

import difflib
import textwrap
from typing import TYPE_CHECKING

from .common import fail

if TYPE_CHECKING:
    from tailrace.case.keys import KeyTable

_WIDTH = 100
_HEAD = """\
# Numbers have no units: velocities and lengths are relative to those of the flow, and the viscosity
# is 1 / reynolds. Lengths may be texts such as "2*pi". Three values are those in x, y and z."""


def show(section: str | None) -> None:
    """Print all tables with their keys, or those of one section, as `forcing`; `forcing.band` is one table."""
    from tailrace.case.keys import tables

    known = list(tables())
    name = (section or "").strip("[]")
    chosen = [table for table in known if not name or name in (table.name, table.section)]
    if not chosen:
        names = [table.name for table in known]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        fail(f"a case has no section '{name}'; {hint}the sections are {', '.join(names)}")
    print("\n\n".join([*([] if name else [_HEAD]), *map(_text, chosen)]))


def _text(table: KeyTable) -> str:
    column = max(len(key.name) for key in table.keys) + 4
    lines = [table.title]
    for paragraph in table.about.split("\n\n"):
        lines += [*textwrap.wrap(paragraph, _WIDTH), ""]
    for key in table.keys:
        default = "required" if key.required else f"default {key.default}" if key.default else ""
        lines += _indented("; ".join(filter(None, [key.kind, default])), f"  {key.name}".ljust(column))
        lines += _indented(key.meaning, " " * column)
    return "\n".join(lines)


def _indented(text: str, label: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label))
