"""The page of the command `tailrace`, from its own declarations: what `--help` prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

HEAD = """# Command line

Every command explains itself: `tailrace --help`, `tailrace run --help`. Exit codes are 0 for success, 1 if the work
failed, 2 if the input is wrong. `tailrace --install-completion` makes your shell complete commands and options with the
Tab key.
"""


def _words(parameter: Any) -> str:
    """How a parameter is written on the command line."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if getattr(parameter, "is_flag", False):
        return names
    return f"{names} {parameter.metavar or _kind(parameter)}"


def _kind(parameter: Any) -> str:
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if get_origin(annotation) is Literal:
        return "{" + ",".join(map(str, get_args(annotation))) + "}"
    return {int: "N", float: "NUMBER", Path: "PATH"}.get(annotation, "VALUE")


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or value is False or value == [] or value == () or callable(value):
        return ""
    return f" Default: `{value}`."


def _rows(parameters: list[Any]) -> str:
    rows = ["| | |", "|---|---|"]
    for parameter in parameters:
        words = _words(parameter).replace("|", "\\|")
        about = (parameter.help or "").replace("|", "\\|")
        rows.append(f"| `{words}` | {about}{_default(parameter)} |")
    return "\n".join(rows)


def _section(name: str, command: Any) -> str:
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p not in arguments]
    usage = " ".join(["tailrace", name, *(["[OPTIONS]"] if options else []), *(_words(p) for p in arguments)])
    about = re.sub(r"\s*\n\s*\n\s*", "\n\n", (command.help or "").strip())
    parts = [f"(command-{name})=\n## tailrace {name}\n", f"```text\n{usage}\n```\n", about, ""]
    parts += [_rows(arguments + options), ""] if shown else []
    return "\n".join(parts)


def write(pages: Path) -> None:
    """One page with a section for each command."""
    import typer

    from tailrace.cli.main import app

    group: Any = typer.main.get_command(app)
    parts = [
        HEAD,
        "| | |\n|---|---|",
        *(f"| [`tailrace {name}`](#command-{name}) | {_first(command)} |" for name, command in group.commands.items()),
        "",
        *(_section(name, command) for name, command in group.commands.items()),
    ]
    (pages / "command.md").write_text("\n".join(parts), encoding="utf-8")


def _first(command: Any) -> str:
    return (command.help or "").strip().splitlines()[0].replace("|", "\\|")
