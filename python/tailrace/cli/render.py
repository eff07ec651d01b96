"""The command `tailrace render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import fail, guarded, on_ranks


def render(
    pictures: Annotated[
        Path, typer.Argument(metavar="CASE", help="A file (.toml) with [[picture]] or [[catalyst]] blocks.")
    ],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A series on disk or a stream (sst:NAME).")],
    ranks: Annotated[
        int | None, typer.Option("-n", "--ranks", min=1, help="Start MPI with this many ranks; by default one.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier films of the same names.")] = False,
) -> None:
    """Draw the pictures and films of a case from the steps of a series, and give them to its pipelines of ParaView.

    For example: tailrace render film.toml snapshots.h5 -n 2
    """
    arguments = ["render", str(pictures), source, *(["--overwrite"] if overwrite else [])]
    on_ranks(ranks, arguments, stops_itself=False)
    try:
        from mpi4py import MPI

        from tailrace.replay.render import RenderRequest
        from tailrace.replay.render import render as draw
    except ImportError as error:
        fail(f"the library does not load: {error}\n  tailrace doctor says what is missing", 1)
    raise typer.Exit(guarded(lambda: draw(RenderRequest(pictures, source, overwrite), MPI.COMM_WORLD)))
