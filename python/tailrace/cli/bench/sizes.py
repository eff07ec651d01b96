"""Options that commands of `tailrace bench` share, and the run of what they have chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .measure import measure, told
from .options import size_of

if TYPE_CHECKING:
    from tailrace.bench.io.matrix import Size
    from tailrace.bench.ranks.job import Matrix

    Sizes = tuple[tuple[Size, ...], tuple[Size, ...]]  # wholes, parts of a rank

Whole = Annotated[
    list[str], typer.Option("--global", metavar="NX,NY,NZ", help="Points that all ranks share; repeatable.")
]
Each = Annotated[list[str], typer.Option("--local", metavar="NX,NY,NZ", help="Points of each rank; repeatable.")]


def sizes_of(whole: list[str], each: list[str], *usual: int) -> Sizes:
    """The sizes of --global and --local.

    :param usual: x, y, z of the whole where neither is given.
    :raises ValueError: a text is not three numbers.
    """
    wholes, eaches = (tuple(size_of(text) for text in texts) for texts in (whole, each))
    if not (wholes or eaches):
        x, y, z = usual
        wholes = ((x, y, z),)
    return wholes, eaches


def run(
    plan: Callable[[], Matrix], directories: Callable[[], dict[str, Path]], limit: float, out: Path, append: bool
) -> None:
    """Measure what a plan says, and end with the exit code; where plan or directories are wrong, with a message."""
    with told():
        measure(plan(), directories(), limit, out, append, None)
