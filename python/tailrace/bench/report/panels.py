"""The panels of one setting: shares of the limit, phases, files, rounds, changes. Rows with bars or points."""

from __future__ import annotations

import statistics
from typing import Any

from tailrace.text import size

from ..records.summary import Summary
from .compare import Change
from .figures import figure_of, in_unit, percent, seconds, times
from .overview import Overview
from .scaling import Panel
from .verdicts import Verdict, doubts

REST = "the rest"  # the time outside all phases


def shares(overview: Overview) -> list[Panel]:
    """The rate of each variant over that of the fastest limit, for settings with a limit."""
    panels = []
    for verdict in overview.verdicts:
        limit = verdict.limit()
        if limit is None or not verdict.ranking or not limit.rate.median:
            continue
        rows = []
        for one in verdict.ranking.variants:
            share = one.rate.median / limit.rate.median
            text = f"{percent(share)} of {overview.label(limit)}; {figure_of(one).words()}"
            bar = {"key": overview.label(one), "value": 100 * share, "text": text}
            low, high = (100 * rate / limit.rate.median for rate in (one.rate.least, one.rate.most))
            rows.append(_row(overview.label(one), parts=[bar], low=low, high=high, end=percent(share)))
        reference = [{"value": 100, "label": overview.label(limit)}]
        panels.append(_panel(overview, verdict, "%", rows) | {"references": reference})
    return panels


def split(summary: Summary) -> dict[str, float]:
    """The median seconds of each phase and of the rest."""
    phases = summary.phases
    return phases | {REST: max(0.0, summary.seconds.median - sum(phases.values()))}


def phases(overview: Overview) -> list[Panel]:
    """The time by phase, of the slowest rank."""
    panels = []
    for verdict in overview.verdicts:
        members = [one for one in verdict.members if one.phases]
        rows = []
        for one in members:
            bars = [{"key": key, "value": value, "text": seconds(value)} for key, value in split(one).items() if value]
            rows.append(_row(overview.label(one), parts=bars, end=seconds(one.seconds.median)))
        if rows:
            panels.append(_panel(overview, verdict, "s", rows) | {"keys": True})
    return panels


def stored(overview: Overview) -> list[Panel]:
    """The number of files of each variant, then their bytes, if they were counted."""
    return [*_counted(overview, "files", "files"), *_counted(overview, "stored", "stored bytes")]


def _counted(overview: Overview, count: str, shown: str) -> list[Panel]:
    panels = []
    for verdict in overview.verdicts:
        rows = []
        for one in verdict.members:
            value = count_of(one, count)
            if value is not None:
                text = f"{value:g}" if count == "files" else size(value)
                bar = {"key": overview.label(one), "value": value, "text": text}
                rows.append(_row(overview.label(one), parts=[bar], end=text))
        if rows:
            unit = "files" if count == "files" else _scale_bytes(rows)
            panel = _panel(overview, verdict, unit, rows)
            panels.append(panel | {"title": f"{shown}: {panel['title']}", "choice": {"shown": shown} | panel["choice"]})
    return panels


def count_of(summary: Summary, count: str) -> float | None:
    """The median of a count over the rounds that have it; None if no round has it."""
    values = [one.counts[count] for one in summary.rounds if count in one.counts]
    return statistics.median(values) if values else None


def rounds(overview: Overview) -> list[Panel]:
    """The time of every round; disturbed ones are marked."""
    panels = []
    for verdict in overview.verdicts:
        rows = []
        for one in verdict.members:
            row = _row(overview.label(one), limit=one.cell.role == "limit", middle=one.seconds.median)
            last = max((each.round for each in one.rounds), default=1)
            row["dots"] = [
                {
                    "value": each.seconds,
                    "text": [f"round {each.round}: {seconds(each.seconds)}", *filter(None, [each.disturbed])],
                    "marked": bool(each.disturbed) or each.verified is False,
                    "at": (each.round - 1) / max(1, last - 1) if last > 1 else 0.5,
                }
                for each in one.rounds
            ]
            rows.append(row)
        if rows:
            notes = doubts(verdict, overview.settings)
            panels.append(_panel(overview, verdict, "s", rows) | {"notes": notes})
    return panels


def changes(overview: Overview, found: list[Change]) -> list[Panel]:
    """New over old time of the cells in both files."""
    by_cell = {one.cell: one for one in found if one.ratio is not None}
    panels = []
    for verdict in overview.verdicts:
        members = [(one, by_cell[one.cell]) for one in verdict.members if one.cell in by_cell]
        rows = []
        for one, change in members:
            assert change.new is not None and change.old is not None and change.ratio is not None
            row = _row(overview.label(one), limit=one.cell.role == "limit", end=change.direction)
            before, now = change.old.seconds, change.new.seconds
            row |= {"low": now.least / before.median, "high": now.most / before.median}
            text = [f"{times(change.ratio)} as long", change.words()]
            mark = change.direction != "tie"
            row["dots"] = [{"value": change.ratio, "text": text, "marked": mark, "at": 0.5}]
            rows.append(row)
        if rows:
            panel = _panel(overview, verdict, "times as long", rows)
            panels.append(panel | {"references": [{"value": 1, "label": "as before"}], "logarithmic": True})
    return panels


def _row(label: str, **parts: Any) -> dict[str, Any]:
    return {"label": label, "parts": [], "dots": [], **parts}


def _panel(overview: Overview, verdict: Verdict, unit: str, rows: list[dict[str, Any]]) -> Panel:
    settings = overview.settings
    if unit == "s":
        unit = _scale(rows)
    return {
        "title": settings.words(verdict.setting),
        "choice": settings.choice(verdict.setting),
        "unit": unit,
        "rows": rows,
    }


def _scale_bytes(rows: list[dict[str, Any]]) -> str:
    """Convert bytes to the unit that suits the largest value."""
    most = max(part["value"] for row in rows for part in row["parts"])
    power, unit = next((pair for pair in ((3, "GiB"), (2, "MiB"), (1, "KiB")) if most >= 1024 ** pair[0]), (0, "bytes"))
    for row in rows:
        for part in row["parts"]:
            part["value"] /= 1024**power
    return unit


def _scale(rows: list[dict[str, Any]]) -> str:
    """Convert times to the unit that suits the longest one."""
    longest = [sum(part["value"] for part in row["parts"]) for row in rows]
    longest += [dot["value"] for row in rows for dot in row["dots"]]
    factor, unit = in_unit(max(longest))
    for row in rows:
        for one in (*row["parts"], *row["dots"]):
            one["value"] *= factor
        if "middle" in row:
            row["middle"] *= factor
    return unit


def shades(overview: Overview) -> list[str]:
    """All phases, each once. Their positions decide colours."""
    members = (one for verdict in overview.verdicts for one in verdict.members)
    return list(dict.fromkeys(name for one in members for name in one.phases))
