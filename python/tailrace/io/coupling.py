"""The cost of a stream for its writer and its readers: which side waited, and how to divide the ranks instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

_LITTLE = 0.05  # waiting for less than this share of the time does not matter


class LeftOut(NamedTuple):
    """A step that a stream did not transfer.

    `why`: "dropped" (there was no room), "skipped" (to keep to the `share`) or "unread" (there was no reader).
    """

    index: int  # type: ignore[assignment] # hides tuple.index, which is not called on a step
    time: float
    why: str


@dataclass(frozen=True)
class CouplingSide:
    """One program of a coupling, as its rank 0 measured it; seconds of wall time.

    `state` is "open" or "closed"; a reader may also be "lost" (it ended without closing) or "dropped" (it blocked the
    writer).
    """

    ranks: int
    steps: int  # given to the readers, or completely read
    elapsed: float  # since the two were connected
    compute: float  # own work
    wait: float  # for the other side
    transfer: float  # moving steps
    state: str
    host: str
    process: int


@dataclass(frozen=True)
class Coupling:
    """The cost of a stream, as its writer and its readers measured it.

    `role` is "writer", "reader" or "none". It is "none" for files, and on all ranks but rank 0. `others` are, for a
    writer, its readers in the order in which they came; for a reader, the writer as it was at the last step.
    """

    role: Literal["none", "writer", "reader"]
    own: CouplingSide
    others: tuple[CouplingSide, ...]
    dropped: int  # steps left out because the queue was full; for a reader: all steps that it missed
    skipped: int  # steps left out to keep to the `share`
    unread: int  # steps that ended while no reader was connected


NO_COUPLING = Coupling("none", CouplingSide(0, 0, 0.0, 0.0, 0.0, 0.0, "", "", 0), (), 0, 0, 0)  # for files


def explain(coupling: Coupling) -> list[str]:
    """The report as lines of text. The list is empty for files, and on all ranks but rank 0."""
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
    """A line on how to divide the ranks, assuming that the ranks of a side share the work of a step evenly.

    :param left_out: steps of the simulation that the analysis did not get.
    """
    waits = {"the simulation": writer, "the analysis": reader}
    name, side = max(waits.items(), key=lambda one: one[1].wait / max(one[1].elapsed, 1e-9))
    ours = (writer.compute + writer.transfer) * writer.ranks / (writer.steps + left_out)
    theirs = (reader.compute + reader.transfer) * reader.ranks / reader.steps
    if ours <= 0 or theirs <= 0:
        return "how to split the ranks cannot be said: a side had no work that could be measured"
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
    """Ranks for both sides, at least one each, for which the slower side is fastest.

    :param simulation, analysis: work for a step, in seconds of one rank.
    """
    choices: Sequence[int] = range(1, total)
    ranks = min(choices, key=lambda n: max(simulation / n, analysis / (total - n)))
    return ranks, total - ranks
