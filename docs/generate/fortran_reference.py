"""The page of the Fortran module, from the comments in the templates of its source."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"\s*!> ?(.*)")
PROCEDURE = re.compile(r"\s*(?:subroutine|(?:pure |elemental )*function) (\w+)\(([^)]*)\)(?: result\((\w+)\))?")
DECLARATION = re.compile(r"\s*((?:class|integer|real|logical|character|type)[^:!]*)::\s*([^!]*)(?:! ?(.*))?")
HEAD = """# Fortran

`use tailrace` gives the type `tailrace_series`. [From Fortran and C](/fortran.md) shows its use.
"""
DECOMPOSITION = """
## Type tailrace_decomposition

A global shape divided over rows x cols ranks, for programs without a decomposition of their own.
"""
TYPES = ("series", "decomposition")


@dataclass
class Procedure:
    """A procedure of a type, as a caller sees it."""

    name: str
    arguments: list[str]
    about: str
    result: str = ""
    declared: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """As a section of the page."""
        call = f"{self.name}({', '.join(self.arguments)})"
        start = "answer = out%" if self.result else "call out%"
        lines = [f"(fortran-{self.name})=", f"### {self.name}", "", "```fortran", start + call]
        lines += [f"  {kind} :: {name}" for name, kind in self.declared.items()]
        return "\n".join([*lines, "```", "", self.about, ""])


def _joined(lines: list[str]) -> list[str]:
    """Without the continuation lines of Fortran."""
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].rstrip().endswith("&"):
            joined[-1] = joined[-1].rstrip()[:-1] + line.strip().lstrip("&")
        else:
            joined.append(line)
    return joined


def _split(names: str) -> list[str]:
    return [name.strip() for name in re.split(r",(?![^(]*\))", names) if name.strip()]


def procedures(text: str, prefix: str) -> list[Procedure]:
    """All procedures of a template whose names begin with the prefix."""
    found: list[Procedure] = []
    comment: list[str] = []
    current: Procedure | None = None
    for line in _joined(text.splitlines()):
        if matched := COMMENT.match(line):
            comment.append(matched[1])
        elif matched := PROCEDURE.match(line):
            current = None
            if matched[1].startswith(prefix):
                arguments = _split(matched[2])[1:]
                current = Procedure(matched[1].removeprefix(prefix), arguments, " ".join(comment), matched[3] or "")
                found.append(current)
            comment = []
        elif current and (matched := DECLARATION.match(line)):
            for name in _split(matched[2]):
                plain = re.match(r"\w+", name)
                if plain and plain[0] in current.arguments:
                    current.declared[name] = matched[1].strip()
        else:
            comment = []
    return found


def generics(text: str) -> list[tuple[str, str]]:
    """Names and comments of the procedures that exist for several types and ranks of arrays."""
    found, comment = [], []
    for line in text.splitlines():
        if matched := COMMENT.match(line):
            comment.append(matched[1])
        elif matched := re.match(r"\s*generic, public :: (\w+)", line):
            found.append((matched[1], " ".join(comment)))
            comment = []
        else:
            comment = []
    return found


def _generic(name: str, about: str) -> str:
    call, _, rest = about.partition(": ")
    if not call.startswith("call "):
        return f"(fortran-{name})=\n### {name}\n\n{about}\n"
    rest = rest[:1].upper() + rest[1:]
    return f"(fortran-{name})=\n### {name}\n\n```fortran\n{call}\n```\n\n{rest}\n"


def write(pages: Path, templates: Path) -> None:
    """One page with the module's own words, its constants and all procedures."""
    module = (templates / "tailrace.f90.in").read_text(encoding="utf-8")
    head = [line.removeprefix("!").removeprefix(" ") for line in module.partition("\nmodule")[0].splitlines()]
    example = "\n".join(line.strip() for line in head if line.startswith("  "))
    words = "\n".join(line for line in head[1:] if not line.startswith("  "))
    parts = [
        HEAD,
        f"```fortran\n{example}\n```\n",
        words,
        "\n\n## Arrays, lists, scalars, attributes\n",
        *(_generic(name, about) for name, about in generics(module)),
        "\n## Opening, steps and what a series holds\n",
    ]
    public = re.findall(r"procedure, public :: (\w+) => (\w+)", module)
    sources = [path.read_text(encoding="utf-8") for path in sorted(templates.glob("*.f90.in"))]
    for kind in TYPES:
        if kind == "decomposition":
            parts.append("\n## Type tailrace_decomposition\n")
            parts.append(
                "A global shape divided over rows x cols ranks, for programs without a decomposition of their own.\n"
            )
        known = {p.name: p for text in sources for p in procedures(text, f"{kind}_")}
        parts += [known[name].text() for name, target in public if target == f"{kind}_{name}"]
    (pages / "fortran.md").write_text("\n".join(parts), encoding="utf-8")
