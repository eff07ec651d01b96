"""The panels of curves over ranks and over sizes. A panel is the JSON data of one chart of the page."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from tailrace.text import counted, size

from ..records.records import Cell
from ..records.summary import Summary
from .figures import figure_of, moves
from .overview import Overview
from .verdicts import Verdict
from .words import TITLES, said

Panel = dict[str, Any]
_PARTS = ("shape", "ranks", "nodes", "decomposition")  # parts of a setting that change along a curve
_SCALING = "scaling"  # the title of the choice between strong and weak


def by_ranks(overview: Overview) -> list[Panel]:
    """Curves over the number of ranks: of one whole size (strong scaling), then of one size per rank (weak scaling)."""
    strong = _families(overview, lambda setting: (_rest(setting), setting.shape))
    weak = [alike for family in _families(overview, _rest) for alike in _alike(family)]
    weak = [family for family in weak if len(_ranks(family)) > 1 and len({one.setting.shape for one in family}) > 1]
    covered = {one.setting for family in weak for one in family}
    panels = []
    for family in strong:
        # One number of ranks is no scaling: it is shown only if no other curve covers that number.
        if len(_ranks(family)) == 1 and all(one.setting in covered for one in family):
            continue
        shape = said(family[0].setting, "shape")
        panels.append(_over_ranks(overview, family, f"strong: {shape or 'one size'}"))
    return panels + [_over_ranks(overview, family, f"weak: {_share_of_rank(family)}") for family in weak]


def by_size(overview: Overview) -> list[Panel]:
    """Curves over the size, for settings with several sizes."""
    families = _families(overview, lambda setting: (_rest(setting), setting.ranks, setting.nodes))
    panels = []
    for family in families:
        if len({one.setting.shape for one in family}) < 2:
            continue
        bytes_known = all(_bytes(one) for one in family)
        place = _bytes if bytes_known else _points
        names = {
            place(one): f"{said(one.setting, 'shape')}" + (f", {size(_bytes(one))}" if bytes_known else "")
            for one in family
        }
        first = family[0].setting
        choice = overview.settings.choice(first, without=("shape", "decomposition"))
        title = overview.settings.words(first, without=("shape", "decomposition"))
        panel = _panel(overview, family, place, title, choice)
        panel["x"] = {
            "label": "bytes of the values" if bytes_known else "points",
            "places": sorted(names),
            "names": [_short(place, bytes_known) for place in sorted(names)],
            "words": [names[place] for place in sorted(names)],
        }
        panels.append(panel)
    return panels


def _over_ranks(overview: Overview, family: list[Verdict], scaling: str) -> Panel:
    first = family[0].setting
    choice = overview.settings.choice(first, without=_PARTS) | {_SCALING: scaling}
    words = overview.settings.words(first, without=_PARTS)
    panel = _panel(overview, family, lambda one: float(one.setting.ranks), f"{words}, {scaling}", choice)
    places = sorted(_ranks(family))
    panel["x"] = {
        "label": TITLES["ranks"],
        "places": places,
        "names": [str(one) for one in places],
        "words": [counted(one, "rank") for one in places],
    }
    return panel


def _panel(
    overview: Overview, family: list[Verdict], place: Callable[[Verdict], float], title: str, choice: dict[str, str]
) -> Panel:
    members = [(one, summary) for one in family for summary in one.members]
    rates = any(moves(summary) for _, summary in members)
    lines: dict[tuple[str, bool], list[dict[str, Any]]] = defaultdict(list)
    for verdict, summary in members:
        if moves(summary) == rates:  # one chart has one unit
            key = (overview.label(summary), summary.cell.role == "limit")
            lines[key].append(_point(place(verdict), verdict, summary))
    drawn = []
    places = {name: at for at, name in enumerate([*overview.variants, *overview.limits])}
    for (name, limit), points in sorted(lines.items(), key=lambda item: (item[0][1], places[item[0][0]])):
        on, beside = _best_of_each(points, rates)
        drawn.append({"name": name, "limit": limit, "points": on, "beside": beside})
    return {"title": title, "choice": choice, "unit": "GiB/s" if rates else "s", "lines": drawn}


def _point(place: float, verdict: Verdict, summary: Summary) -> dict[str, Any]:
    figure = figure_of(summary)
    rounds = counted(len(summary.rounds), "round")
    said_of_it = [f"{figure.words()}, {figure.range()} in {rounds}"]
    parts = said(verdict.setting, "decomposition")
    said_of_it += [text for text in (parts, summary.doubt) if text]
    if summary.wrong:
        said_of_it.append("wrong values")
    return {"x": place, "y": figure.median, "low": figure.low, "high": figure.high, "text": said_of_it}


def _best_of_each(points: Iterable[dict[str, Any]], most: bool) -> tuple[list[Any], list[Any]]:
    """The best point for each x, which is on the curve, and the other points: other ways to share the grid."""
    found: dict[float, list[dict[str, Any]]] = defaultdict(list)
    for point in points:
        found[point["x"]].append(point)
    on, beside = [], []
    for _, group in sorted(found.items()):
        group.sort(key=lambda point: point["y"], reverse=most)
        on.append(group[0])
        beside += group[1:]
    return on, beside


def _families(overview: Overview, key: Callable[[Cell], object]) -> list[list[Verdict]]:
    found: dict[object, list[Verdict]] = defaultdict(list)
    for one in overview.verdicts:
        if one.members:
            found[key(one.setting)].append(one)
    return list(found.values())


def _alike(family: list[Verdict]) -> list[list[Verdict]]:
    """Parts of a family whose ranks have as many points each, but for one more node of the whole in each direction: a
    direction with ends has one more than a periodic one."""
    parts: list[list[Verdict]] = []
    for one in sorted(family, key=_each):
        ends = math.prod(nodes / (nodes - 1) for nodes in one.setting.shape if nodes > 1)
        if parts and _each(one) <= _each(parts[-1][0]) * ends:
            parts[-1].append(one)
        else:
            parts.append([one])
    return parts


def _each(verdict: Verdict) -> float:
    return math.prod(verdict.setting.shape) / verdict.setting.ranks


def _rest(setting: Cell, without: Collection[str] = _PARTS) -> Cell:
    empty = {"shape": (), "ranks": 1, "nodes": 1, "decomposition": ()}
    return replace(setting, **{key: empty[key] for key in without})  # type: ignore[arg-type]


def _ranks(family: list[Verdict]) -> set[int]:
    return {one.setting.ranks for one in family}


def _share_of_rank(family: list[Verdict]) -> str:
    """The size of each rank in a weak scaling."""
    shapes = {
        tuple(whole // parts for whole, parts in zip(one.setting.shape, one.setting.decomposition, strict=False))
        for one in family
    }
    first = family[0].setting
    (shape, *others) = shapes
    if shape and not others:
        return f"{' x '.join(map(str, shape))} per rank"
    return f"{math.prod(first.shape) // first.ranks} points per rank"


def _bytes(verdict: Verdict) -> float:
    return statistics.median(one.bytes for summary in verdict.members for one in summary.rounds)


def _points(verdict: Verdict) -> float:
    return float(math.prod(verdict.setting.shape))


def _short(place: float, bytes_known: bool) -> str:
    return size(place) if bytes_known else f"{place:.3g}"
