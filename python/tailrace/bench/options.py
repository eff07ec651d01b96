"""Options that commands of `tailrace bench` share, and groups of options.

A group is a frozen dataclass whose fields are options. A bench has groups among its own options. This module
is read before a command is known, so it imports little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ranks.eviction import COLD, DROPPED

if TYPE_CHECKING:
    from tailrace.grids import Triple

Engines = Annotated[
    list[str],
    typer.Option("--engine", metavar="NAME[,KEY=VALUE...]", help="An engine and its parameters; repeatable."),
]
Ranks = Annotated[
    str, typer.Option("--ranks", metavar="N,N...", help="Numbers of ranks; by default 1,2 up to the cores.")
]
Whole = Annotated[
    list[str], typer.Option("--global", metavar="NX,NY,NZ", help="Points that all ranks share; repeatable.")
]
Each = Annotated[list[str], typer.Option("--local", metavar="NX,NY,NZ", help="Points of each rank; repeatable.")]
Decomposition = Annotated[
    str, typer.Option("--decomposition", help="slabs, pencils, blocks, or parts in x, y, z as 1,2,4.")
]
Precision = Annotated[str, typer.Option("--precision", help="float64 or float32.")]
Directories = Annotated[
    list[str],
    typer.Option("--directory", metavar="[NAME=]DIR", help="Where to write, by default here; repeatable."),
]
RoundCount = Annotated[int, typer.Option("--rounds", min=1, help="Repetitions that count, after one that does not.")]
Against = Annotated[Path | None, typer.Option("--against", metavar="FILE", help="Compare with earlier results.")]


@dataclass(frozen=True)
class RoundOptions:
    """The rounds of a setting: `rounds` rounds count, and one more before them does not."""

    rounds: RoundCount = 5
    seed: Annotated[int, typer.Option("--seed", help="Of the order in which ways take turns.")] = 0


@dataclass(frozen=True)
class ColdRhythm(RoundOptions):
    """The rounds of a setting with cold reads."""

    drop_caches: Annotated[
        bool, typer.Option("--drop-caches", help="Before cold reads, drop all caches of the machine; needs root.")
    ] = False

    @property
    def cold(self) -> str:
        """The cache of cold reads, as cells name it: the two kinds are never compared."""
        return DROPPED if self.drop_caches else COLD


@dataclass(frozen=True)
class ResultOptions:
    """How long a bench waits for its ranks, and where the records go."""

    limit: Annotated[
        float,
        typer.Option(
            "--limit", min=1.0, help="Seconds without progress after which ranks that it has started are ended."
        ),
    ] = 300.0
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE", help="Where the records go; the report gets the ending .html."),
    ] = Path("results.jsonl")
    append: Annotated[bool, typer.Option("--append", help="Add to a file of results.")] = False


@dataclass(frozen=True)
class SizeOptions:
    """Numbers of ranks, and points in x, y and z."""

    ranks: Ranks = ""
    whole: Whole = field(default_factory=list)
    each: Each = field(default_factory=list)

    def counts(self, started: int | None) -> tuple[int, ...]:
        """Numbers of ranks; see `ranks_of`."""
        return ranks_of(self.ranks, started)

    def shapes(self, partition: Triple, whole: Sequence[Triple], each: Sequence[Triple] = ()) -> list[Triple]:
        """The points of the grids that are measured.

        :param partition: the number of parts in x, y and z.
        :param whole, each: default sizes of whole grids, and of a part.
        :raises ValueError: a text is not three numbers, or a whole has fewer points than parts in a direction.
        """
        from .ranks.partition import shapes_of

        if self.whole or self.each:
            whole, each = ([size_of(text) for text in texts] for texts in (self.whole, self.each))
        return shapes_of(whole, each, partition)


def ranks_of(text: str, started: int | None) -> tuple[int, ...]:
    """Numbers of ranks, by default 1, 2, 4 up to the cores.

    :param started: ranks of the job that this program runs in; None outside MPI.
    :raises ValueError: the text is not a list of numbers, or the job has fewer ranks.
    """
    from tailrace.machine import physical_cores

    if not text:
        cores = started or physical_cores()
        return tuple(sorted({1, *(2**k for k in range(1, cores.bit_length()) if 2**k <= cores), cores}))
    counts = tuple(dict.fromkeys(numbers("--ranks", text)))
    if started is not None and max(counts) > started:
        raise ValueError(f"--ranks {text}: mpiexec started {started} ranks only")
    return counts


def numbers(option: str, text: str) -> tuple[int, ...]:
    """:raises ValueError: the text of the option is not a list of numbers from 1."""
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"{option} {text}: expected numbers as 1,2,4")
    return tuple(int(word) for word in words)


def size_of(text: str) -> Triple:
    """:raises ValueError: the text is not three numbers."""
    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"{text}: expected three numbers of points as 128,128,128")
    return int(words[0]), int(words[1]), int(words[2])


def chosen(option: str, text: str, known: Sequence[str], expected: str = "") -> tuple[str, ...]:
    """The words of a comma-separated list, in the order of `known`.

    :param expected: the expected words, for the message; by default some of `known`.
    :raises ValueError: one is not known.
    """
    words = {word.strip() for word in text.split(",")}
    if strange := words - set(known):
        expected = expected or f"some of {', '.join(sorted(known))}"
        raise ValueError(f"{option}: {', '.join(sorted(strange))!r} is not known; expected {expected}")
    return tuple(word for word in known if word in words)


def check_precision(precision: str) -> None:
    """:raises ValueError: no type of this name can be measured."""
    if precision not in ("float64", "float32"):
        raise ValueError(f"--precision {precision}: expected float64 or float32")


def named(directories: Sequence[str]) -> dict[str, Path]:
    """Directories by name: NAME=DIR, or the last part of DIR; without directories, the working directory.

    :raises ValueError: there is no such directory, or two have one name.
    """
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
