"""Measurements of coupling in words: which side waited, and which one needs more ranks."""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.io.coupling import Coupling, CouplingSide, explain

from ..records.records import Cell, Measurement
from ..records.summary import Summary, summarise


def advice(measurements: Iterable[Measurement]) -> list[str]:
    """Some lines for each cell of the benchmark of coupling, as at the end of a run with an analysis beside it."""
    found: dict[Cell, dict[str, Summary]] = {}
    for one in summarise(measurements):
        if one.cell.bench == "couple":
            key = Cell(**{**vars(one.cell), "operation": ""})
            found.setdefault(key, {})[one.cell.operation] = one
    lines = []
    for cell, sides in found.items():
        if {"produce", "consume"} <= sides.keys():
            size = " x ".join(map(str, cell.shape))
            lines.append(f"{cell.name}, {size}, {cell.source}")
            lines += [f"  {line}" for line in explain(_coupling(sides["produce"], sides["consume"]))]
    return lines


def _coupling(produce: Summary, consume: Summary) -> Coupling:
    """The Coupling that follows from the median phases of all rounds. The end of a stream counts as waiting."""
    consumers = dict(consume.cell.parameters)["consumers"]
    assert isinstance(consumers, int)
    dropped = round(_mean(produce, "dropped"))
    writer = _side(produce, produce.cell.ranks, ("compute",), ("wait", "close"), ("write",))
    reader = _side(consume, consumers, ("compute", "verify"), ("wait",), ("read",))
    return Coupling("writer", writer, (reader,), dropped, 0, 0)


def _side(
    summary: Summary, ranks: int, compute: tuple[str, ...], wait: tuple[str, ...], transfer: tuple[str, ...]
) -> CouplingSide:
    phases = summary.phases

    def seconds(names: tuple[str, ...]) -> float:
        return sum(phases.get(name, 0.0) for name in names)

    steps = round(_mean(summary, "steps"))
    whole = summary.seconds.median
    return CouplingSide(ranks, steps, whole, seconds(compute), seconds(wait), seconds(transfer), "closed", "", 0)


def _mean(summary: Summary, count: str) -> float:
    return sum(one.counts.get(count, 0.0) for one in summary.rounds) / len(summary.rounds)
