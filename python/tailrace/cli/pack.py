"""The command `tailrace pack`: one file with the program and its Python, for the memory of each node."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tailrace.text import visible

from .common import fail, say


def pack(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("tailrace.tar"),
    also: Annotated[
        list[str],
        typer.Option("--also", metavar="PACKAGE", help="One more package, with all that it needs; repeatable."),
    ] = [],  # noqa: B006
    bare: Annotated[bool, typer.Option("--bare", help="Without the packages for pictures, pages and dask.")] = False,
) -> None:
    """Put the program and its Python into one file, which each node of a job unpacks into its memory.

    Ranks that start from there open no file of a shared file system; `tailrace job --pack` writes a script for them.
    """
    from tailrace.batch.pack import PackError
    from tailrace.batch.pack import pack as write
    from tailrace.core import Error

    try:
        packed = write(path, also, bare=bare)
    except (Error, PackError) as error:
        fail(error)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    print(visible(f"wrote {path}: {packed.files} files, {packed.bytes / 2**20:.0f} MiB"))
    if packed.elsewhere:
        folders = ", ".join(sorted({str(library.parent) for library in packed.elsewhere}))
        say(f"note: {len(packed.elsewhere)} libraries are not inside, and each rank opens them in {folders}; "
            "a wheel (make wheel) has all but those of MPI inside")  # fmt: skip
    file = shlex.quote(str(path))
    print(f"on each node: mkdir /dev/shm/tailrace && tar -xf {file} -C /dev/shm/tailrace && /dev/shm/tailrace/settle")
    print("then:         /dev/shm/tailrace/bin/tailrace run CASE")
