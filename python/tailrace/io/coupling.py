"""What a stream cost both of its ends, in words: which side waited, and what split of the ranks would balance them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

_LITTLE = 0.05  # a share of its time that nobody minds to wait


class LeftOut(NamedTuple):
    """A step that a stream has left out.

    `why`: "dropped" (there was no room), "skipped" (to keep to the `share`) or "unread" (there was no reader).
    """

    index: int  # type: ignore[assignment] # tuple has a method of this name, which nobody calls on a step
    time: float
    why: str


@dataclass(frozen=True)
class CouplingSide:
    """One program of a coupling, as its rank 0 measured it; seconds of wall time.

    `state` is "open" or "closed", of a reader also "lost" (gone without a word) or "dropped" (it held the writer up).
    """

    ranks: int
    steps: int  # given to the readers, or read to their end
    elapsed: float  # since the two met
    compute: float  # own work
    wait: float  # for the other side
    transfer: float  # moving steps
    state: str
    host: str
    process: int


@dataclass(frozen=True)
class Coupling:
    """What a stream has cost, of both of its ends.

    `role` is "writer", "reader", or "none": not a stream, or not rank 0, which alone knows. `others` are, of a writer,
    its readers in the order they came, and of a reader the writer as it was at the last step.
    """

    role: Literal["none", "writer", "reader"]
    own: CouplingSide
    others: tuple[CouplingSide, ...]
    dropped: int  # steps for which there was no room; of a reader: all steps that it missed
    skipped: int  # steps left out to keep to the `share`
    unread: int  # steps when there was no reader


def explain(coupling: Coupling) -> list[str]:
    """Lines for people; none where there is nothing to tell, and on other ranks than 0. Local."""
    if coupling.role == "none":
        return []
    writer = coupling.own if coupling.role == "writer" else (*coupling.others, None)[0]
    readers = list(coupling.others) if coupling.role == "writer" else [coupling.own]
    lines = [] if writer is None else [_side("simulation", writer, "handing steps over")]
    if coupling.role == "writer" and not readers:
        return [*lines, "nobody read it"]
    for number, reader in enumerate(readers, 1):
        name = "analysis" if len(readers) == 1 else f"analysis {number}"
        ending = {"lost": "; it was lost", "dropped": "; it held the simulation up and was dropped"}.get(
            reader.state, ""
        )
        lines.append(_side(name, reader, "fetching steps") + ending)
    counts = {"dropped": coupling.dropped, "skipped": coupling.skipped, "not read": coupling.unread}
    told = [f"{count} {what}" for what, count in counts.items() if count]
    if told:
        lines.append(f"steps left out: {', '.join(told)}")
    if writer is not None and len(readers) == 1 and writer.steps and readers[0].steps:
        lines.append(_balance(writer, readers[0], coupling.dropped + coupling.skipped))
    return lines


def _side(name: str, side: CouplingSide, moving: str) -> str:
    ranks = f"{side.ranks} rank{'' if side.ranks == 1 else 's'}"
    return (
        f"{name} ({ranks}): {side.steps} steps in {side.elapsed:.1f} s: {_share(side.compute, side)} computing, "
        f"{_share(side.transfer, side)} {moving}, {_share(side.wait, side)} waiting"
    )


def _share(part: float, side: CouplingSide) -> str:
    return f"{part:.1f} s ({part / side.elapsed:.0%})" if side.elapsed > 0 else f"{part:.1f} s"


def _balance(writer: CouplingSide, reader: CouplingSide, left_out: int) -> str:
    """Work is taken to be shared evenly over ranks, of which each side keeps at least one.

    :param left_out: steps that the simulation came past and the analysis did not get.
    """
    waits = {"the simulation": writer, "the analysis": reader}
    name, side = max(waits.items(), key=lambda one: one[1].wait / max(one[1].elapsed, 1e-9))
    ours = (writer.compute + writer.transfer) * writer.ranks / (writer.steps + left_out)
    theirs = (reader.compute + reader.transfer) * reader.ranks / reader.steps
    if ours <= 0 or theirs <= 0:
        return "neither side had work that could be measured"
    if left_out and theirs / reader.ranks > ours / writer.ranks:
        said = "the analysis could not keep up; "
    elif side.wait <= _LITTLE * side.elapsed:
        return "neither side waited for the other: the split of the ranks is balanced"
    else:
        said = f"{name} waited for the other side; "
    total = writer.ranks + reader.ranks
    best = split(total, ours, theirs)
    if best == (writer.ranks, reader.ranks):
        more = f"; one analysis rank could follow {ours / theirs:.1f} simulation ranks" if ours > theirs else ""
        if theirs > ours:
            more = f"; {theirs / ours:.1f} analysis ranks could follow one simulation rank"
        return f"{said}with {total} ranks no other split does better{more}"
    return f"{said}{total} ranks would be balanced as {best[0]} for the simulation and {best[1]} for the analysis"


def split(total: int, simulation: float, analysis: float) -> tuple[int, int]:
    """Ranks for both sides, at least one each, so that the slower one is as fast as can be.

    :param simulation, analysis: work for a step, in seconds of one rank.
    """
    choices: Sequence[int] = range(1, total)
    ranks = min(choices, key=lambda n: max(simulation / n, analysis / (total - n)))
    return ranks, total - ranks
