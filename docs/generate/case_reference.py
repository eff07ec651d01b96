"""The page of the case file, from the sections that validate it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.case.keys import Key, KeyTable

HEAD = """# Case file

A case is a TOML file. `tailrace new tgv` writes one with comments, and `tailrace case FILE` prints a case with all its
values. `tailrace case --keys` prints the tables of this page, and `tailrace case --keys grid` one of them. A case is
checked as a whole before anything starts; every problem is listed with its key. `--set KEY=VALUE` changes a value for
one run, such as `--set time.end=5` or `--set output[0].every=10`.

Numbers have no units: velocities and lengths are relative to those of the flow, and the viscosity is 1 / `reynolds`.
Lengths may be texts such as `"2*pi"`. Three values are those in x, y and z.
"""


def _row(key: Key) -> str:
    kind = re.sub(r'"[^"]*"', r"`\g<0>`", key.kind)
    default = "required" if key.required else f"`{key.default}`" if key.default else ""
    meaning = key.meaning.replace("|", "\\|")
    return f"| `{key.name}` | {kind} | {default} | {meaning[:1].upper() + meaning[1:]} |"


def _part(table: KeyTable) -> str:
    heading = f"### `{table.title}`" if "." in table.name else f"(case-{table.name})=\n## `{table.title}`"
    rows = ["| key | type | default | meaning |", "|---|---|---|---|", *map(_row, table.keys)]
    return "\n".join([f"{heading}\n", table.about, "", *rows, ""])


def write(pages: Path) -> None:
    """One page with a part for each table of the case file."""
    from tailrace.case.keys import tables

    (pages / "case.md").write_text("\n".join([HEAD, *map(_part, tables())]), encoding="utf-8")
