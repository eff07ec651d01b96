"""`tailrace new`: a commented case as a beginning."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from tailrace.case import templates

from .common import fail


def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The template; --list describes them.")] = None,
    path: Annotated[Path | None, typer.Option("--path", help="The case to write; NAME.toml by default.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the templates.")] = False,
) -> None:
    """Write a commented case as a beginning."""
    known = templates.names()
    if listed:
        for each in known:
            print(f"{each:<14} {templates.description(each)}")
        return
    if name not in known:
        what = "which template?" if name is None else f"there is no template '{name}';"
        fail(f"{what} there are: {', '.join(known)} (tailrace new --list describes them)")
    path = path or Path(f"{name}.toml")
    files = {path: templates.case_of(name)}
    files |= {path.with_name(file): text for file, text in templates.files_of(name).items()}
    if path.is_dir():
        example = shlex.quote(str(path / f"{name}.toml"))
        fail(f"{path} is a directory; --path must name the case file: for example --path {example}")
    files = {file: text.replace(f"{name}.toml", shlex.quote(path.name)) for file, text in files.items()}
    _write(files)
    print(f"wrote {' and '.join(map(str, files))}; next:")
    for file in list(files)[1:]:
        print(f"  edit {file}")
    where = "" if path.parent == Path() else "   # results lie where you run it"
    print(f"  tailrace run {shlex.quote(str(path))} -n 2{where}")
    print("  tailrace live .   # meanwhile, in another terminal: watch it in a browser; run --live shows more")
    print("  tailrace plot time_series.csv")


def _write(files: dict[Path, str]) -> None:
    """Write all files, or none of them if one exists."""
    for path in files:
        if path.exists() or path.is_symlink():
            fail(f"{path} exists and is left as it is; choose another place with --path")
    written: list[Path] = []
    try:
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        fail(f"{path}: {error.strerror}")
