"""Options that several commands of `tailrace bench` have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ranks import launch

if TYPE_CHECKING:
    from tailrace.bench.io.matrix import Size

Out = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="Where the records go; the report gets the ending .html.")
]
Directories = Annotated[
    list[str],
    typer.Option("--directory", metavar="[NAME=]DIR", help="Where to write, by default here; repeatable."),
]
Ranks = Annotated[
    str, typer.Option("--ranks", metavar="N,N...", help="Numbers of ranks; by default 1,2 up to the cores.")
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="Repetitions that count, after one that does not.")]
Limit = Annotated[
    float,
    typer.Option("--limit", min=1.0, help="Seconds without progress after which ranks that it has started are ended."),
]
Append = Annotated[bool, typer.Option("--append", help="Add to a file of results.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the order in which ways take turns.")]
DropCaches = Annotated[
    bool, typer.Option("--drop-caches", help="Before cold reads, drop all caches of the machine; needs root.")
]
Against = Annotated[Path | None, typer.Option("--against", metavar="FILE", help="Compare with earlier results.")]


def ranks_of(text: str) -> tuple[int, ...]:
    """:raises ValueError: the text is no list of numbers."""
    from tailrace.machine import physical_cores

    world = launch.size()
    if not text:
        cores = world or physical_cores()
        return tuple(sorted({1, *(2**k for k in range(1, cores.bit_length()) if 2**k <= cores), cores}))
    counts = tuple(dict.fromkeys(numbers("--ranks", text)))
    if world is not None and max(counts) > world:
        raise ValueError(f"--ranks {text}: mpiexec started {world} ranks only")
    return counts


def numbers(option: str, text: str) -> tuple[int, ...]:
    """:raises ValueError: the text of the option is no list of numbers from 1."""
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"{option} {text}: expected numbers as 1,2,4")
    return tuple(int(word) for word in words)


def size_of(text: str) -> Size:
    """:raises ValueError: the text is not three numbers."""
    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"{text}: expected three numbers of points as 128,128,128")
    return int(words[0]), int(words[1]), int(words[2])


def named(directories: list[str]) -> dict[str, Path]:
    """Directories by name: NAME=DIR, or the last part of DIR."""
    found: dict[str, Path] = {}
    for text in directories or ["."]:
        name, sign, rest = text.partition("=")
        path = Path(rest if sign else text)
        name = name if sign else path.resolve().name or "root"
        if name in found:
            raise ValueError(f"--directory {text}: there is another one called {name!r}; give names as NAME=DIR")
        if not path.is_dir():
            raise ValueError(f"--directory {text}: is no directory")
        found[name] = path
    return found
