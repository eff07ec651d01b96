"""Flame graphs: the time of the calls of each rank in one round of a variant."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ..records.records import Measurement
from ..records.summary import Summary
from .figures import seconds
from .overview import Overview
from .scaling import Panel

MOST_RANKS = 16  # in a graph


@dataclass
class Frame:
    """A call with its inner calls; `own` seconds are without those of the inner calls."""

    name: str
    own: float = 0.0
    children: dict[str, Frame] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds with the inner calls."""
        return self.own + sum(one.seconds for one in self.children.values())

    def to_json(self) -> list[Any]:
        """Name, seconds, and the same of the inner calls."""
        return [self.name, self.seconds, [one.to_json() for one in self.children.values()]]


def traced_round(summary: Summary) -> Measurement | None:
    """The round with stacks that is nearest to the median; a round that does not count only if no other has stacks."""
    middle = summary.seconds.median
    for rounds in (summary.rounds, summary.uncounted):
        if traced := [one for one in rounds if one.stacks]:
            return min(traced, key=lambda one: abs(one.seconds - middle))
    return None


def tree(stacks: dict[str, float]) -> Frame:
    """The calls of folded stacks, "rank 0;write;sync" -> seconds of the last call alone."""
    root = Frame("all ranks")
    for path, value in stacks.items():
        frame = root
        for name in path.split(";"):
            frame = frame.children.setdefault(name, Frame(name))
        frame.own += max(0.0, value)
    return root


def flames(overview: Overview) -> list[Panel]:
    """A graph for each variant with stacks: its ranks, below them their calls."""
    panels = []
    for verdict in overview.verdicts:
        for summary in verdict.members:
            one = traced_round(summary)
            if one is None:
                continue
            root = tree(one.stacks)
            note = _keep_some(root)
            title = f"{overview.label(summary)}: {overview.settings.words(verdict.setting)}, round {one.round}"
            choice = {**overview.settings.choice(verdict.setting), "way": overview.label(summary)}
            notes = [f"The round took {seconds(one.seconds)}; the median is {seconds(summary.seconds.median)}.", *note]
            if not one.round:
                notes.append("Round 0 does not count: in it everything happens for the first time.")
            panels.append({"title": title, "choice": choice, "unit": "s", "flame": root.to_json(), "notes": notes})
    return panels


def names(overview: Overview) -> list[str]:
    """All calls of ranks, each once."""
    rounds = (traced_round(one) for verdict in overview.verdicts for one in verdict.members)
    paths = (path for one in rounds if one is not None for path in one.stacks)
    return list(dict.fromkeys(name for path in dict.fromkeys(paths) for name in path.split(";")[1:]))


def calls(stacks: dict[str, float]) -> dict[str, tuple[float, float, float]]:
    """Path of a call without its rank -> the least, mean and most of its seconds, with its inner calls.

    A rank without the call counts as 0.
    """
    ranks = tree(stacks).children.values()
    found: dict[str, list[float]] = defaultdict(list)
    for rank in ranks:
        _collect(rank, "", found)
    missing = {path: len(ranks) - len(values) for path, values in found.items()}
    return {
        path: (0.0 if missing[path] else min(values), sum(values) / len(ranks), max(values))
        for path, values in found.items()
    }


def _collect(frame: Frame, path: str, found: dict[str, list[float]]) -> None:
    found[path or "(whole rank)"].append(frame.seconds)
    for one in frame.children.values():
        _collect(one, f"{path};{one.name}" if path else one.name, found)


def _keep_some(root: Frame) -> list[str]:
    """Keep only `MOST_RANKS` ranks, from the fastest to the slowest, so that each can be seen; returns a note."""
    ranks = sorted(root.children.values(), key=lambda one: one.seconds)
    if len(ranks) <= MOST_RANKS:
        return []
    chosen = {ranks[round(at * (len(ranks) - 1) / (MOST_RANKS - 1))].name for at in range(MOST_RANKS)}
    root.children = {name: one for name, one in root.children.items() if name in chosen}
    return [f"{MOST_RANKS} of {len(ranks)} ranks, from the fastest to the slowest."]
