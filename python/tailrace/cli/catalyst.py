"""The command `tailrace catalyst`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.case import templates

from .common import fail

app = typer.Typer(help="Pipelines of ParaView, which [[catalyst]] blocks execute during a run.", no_args_is_help=True)


@app.callback()
def catalyst() -> None:
    """Pipelines of ParaView, which [[catalyst]] blocks execute during a run."""


@app.command()
def template(
    out: Annotated[Path, typer.Option("-o", "--out", help="The script to write.")] = Path("pipeline.py"),
) -> None:
    """Write a pipeline as a beginning: surfaces of the Q criterion, coloured by a velocity."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(templates.pipeline())
    except FileExistsError:
        fail(f"{out} exists and is left as it is; choose another place with -o")
    except OSError as error:
        fail(f"{out}: {error.strerror}")
    print(f'wrote {out}; a block of the case executes it:\n\n[[catalyst]]\nscript = "{out}"\nevery = 10')
