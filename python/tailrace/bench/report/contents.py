"""The parts of a report in HTML: its heading, verdicts and tables. The page itself draws the charts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tailrace.text import counted, size

from ..records.records import Run
from ..records.summary import Summary, share
from .compare import Change
from .compare import overview as overview_of
from .figures import figure_of, percent, seconds, significant
from .flames import calls, traced_round
from .markup import Element, element, folded, listed, table
from .overview import Overview
from .panels import REST, count_of, split
from .use import use
from .verdicts import Verdict, certainty, sentence, tallies, warnings

_MOST_OPEN = 12  # verdicts that are shown unfolded


def heading(overview: Overview) -> Element:
    """Whether a run was interrupted, what to use here, machine, software, time, command."""
    results = overview.results
    made = element("header", element("h1", "Benchmark report"))
    for line in results.interrupted_words():
        made.append(element("p", line, class_="warning"))
    made.append(element("p", element("strong", use(overview)), class_="use"))
    rounds = counted(len(results.measurements), "measurement")
    settings = counted(len(overview.settings.all), "setting")
    text = f"{rounds} in {settings}, {counted(len(results.failures), 'failure')}."
    if common := overview.settings.common():
        text += f" All: {common}."
    made.append(element("p", text))
    for note in results.notes:
        made.append(element("p", note, class_="warning"))
    for run in results.runs:
        made.append(_run(run, title=len(results.runs) > 1))
    return made


def _run(run: Run, title: bool) -> Element:
    facts = [("command", run.command), ("began", run.began), ("Tailrace", run.tailrace)]
    facts.append(("machine", ", ".join(f"{key} {_value(key, value)}" for key, value in run.machine.items())))
    facts.append(("software", ", ".join(f"{name} {version}" for name, version in run.software.items())))
    for name, directory in run.directories.items():
        facts.append((f"directory {name}", ", ".join(f"{key} {_value(key, one)}" for key, one in directory.items())))
    pairs = [part for key, value in facts if value for part in (element("dt", key), element("dd", value))]
    made = element("section", element("h2", f"Run of {run.began}") if title else None, element("dl", *pairs))
    if run.notes:
        made.append(listed(run.notes, class_="notes"))
    return made


def _value(key: str, value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and key in ("memory", "free", "size", "total"):
        return size(value)
    if isinstance(value, float):
        return significant(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(name, one)}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def verdict_section(overview: Overview) -> list[Element]:
    """The verdicts: how often each variant is the fastest, then every setting."""
    lines = [one.words() for one in tallies(overview.verdicts, overview.settings)]
    found = [listed(lines, class_="tallies")] if lines else [element("p", "Nothing was measured.")]
    items = [_verdict(overview, one) for one in overview.verdicts if one.has_variants]
    if items:
        title = f"Verdicts: {counted(len(items), 'setting')}"
        found.append(folded(title, element("div", *items, class_="verdicts"), open_=len(items) <= _MOST_OPEN))
    return found


def _verdict(overview: Overview, verdict: Verdict) -> Element:
    settings = overview.settings
    sure = certainty(verdict, settings)
    made = element(
        "article",
        element("h3", settings.words(verdict.setting)),
        element("p", element("strong", sentence(verdict, settings)), f" {sure}"),
    )
    doubts = warnings(verdict, settings)
    if doubts:
        made.append(listed(doubts, class_="warning"))
    return made


CELL_COLUMNS = (
    "way", "rounds", "min", "median", "max", "unit", "seconds (median)", "spread", "share of limit", "files", "stored",
    "more",
)  # fmt: skip


def cell_table(overview: Overview) -> Element:
    """All cells with their figures."""

    def row(verdict: Verdict, one: Summary) -> list[str]:
        figure, part = figure_of(one), None if one.cell.role == "limit" else share(one, verdict.limits)
        files, stored = count_of(one, "files"), count_of(one, "stored")
        more = [one.doubt, f"{one.wrong} wrong" if one.wrong else "", _other_counts(one)]
        return [
            _variant(overview, verdict, one),
            str(len(one.rounds)),
            *(significant(value) for value in (figure.low, figure.median, figure.high)),
            figure.unit,
            significant(one.seconds.median),
            percent(one.seconds.relative) if len(one.rounds) > 1 else "",
            percent(part) if part is not None else "",
            f"{files:g}" if files is not None else "",
            size(stored) if stored is not None else "",
            "; ".join(text for text in more if text),
        ]

    return table("All cells", CELL_COLUMNS, _grouped(overview, row))


def _other_counts(one: Summary) -> str:
    names = dict.fromkeys(name for each in one.rounds for name in each.counts if name not in ("files", "stored"))
    return ", ".join(f"{name} {_count(count_of(one, name) or 0.0)}" for name in names)


def _count(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else significant(value)


def _variant(overview: Overview, verdict: Verdict, one: Summary) -> str:
    name = overview.label(one)
    if one.cell.role == "limit":
        return f"{name} (limit)"
    if one in verdict.best:
        return f"{name} (fastest)" if len(verdict.best) == 1 else f"{name} (tie, fastest)"
    return name


def _grouped(overview: Overview, row: Any) -> Iterable[tuple[str, list[list[str]]]]:
    for verdict in overview.verdicts:
        rows = [made for one in verdict.members if (made := row(verdict, one))]
        if rows:
            yield overview.settings.words(verdict.setting), rows


def round_table(overview: Overview) -> Element:
    """The seconds of every round; * marks those that were disturbed."""

    def row(_: Verdict, one: Summary) -> list[str]:
        rounds = (f"{each.round}: {seconds(each.seconds)}{'*' if each.disturbed else ''}" for each in one.rounds)
        said = dict.fromkeys(each.disturbed for each in one.rounds if each.disturbed)
        return [overview.label(one), ", ".join(rounds), "; ".join(said)]

    return table("Seconds of all rounds", ("way", "rounds (* disturbed)", "why disturbed"), _grouped(overview, row))


def phase_tables(overview: Overview) -> list[Element]:
    """The median seconds of each phase of the slowest rank, and the times of the ranks: a table for each benchmark."""
    benches: dict[str, dict[str, None]] = {}
    for verdict in overview.verdicts:
        names = (name for one in verdict.members for name in one.phases)
        benches.setdefault(verdict.setting.bench, {}).update(dict.fromkeys(names))
    several = len(benches) > 1
    return [
        _phase_table(overview, bench, list(names), f"Seconds by phase (medians){f', {bench}' if several else ''}")
        for bench, names in benches.items()
        if names
    ]


def _phase_table(overview: Overview, bench: str, names: list[str], caption: str) -> Element:
    def row(verdict: Verdict, one: Summary) -> list[str]:
        if not one.phases or verdict.setting.bench != bench:
            return []
        parts, last = split(one), one.rounds[-1].per_rank
        cells = [significant(parts[name]) if name in parts else "" for name in names]
        ranks = [significant(last[key]) if key in last else "" for key in ("min", "mean", "max")]
        return [overview.label(one), *cells, significant(parts[REST]), significant(one.seconds.median), *ranks]

    columns = ("way", *names, REST, "all", "last round, ranks: min", "mean", "max")
    return table(caption, columns, _grouped(overview, row))


def call_table(overview: Overview) -> Element:
    """The seconds of each call in the round of the flame graph, over the ranks."""

    def rows(verdict: Verdict) -> list[list[str]]:
        made = []
        for one in verdict.members:
            traced = traced_round(one)
            for path, figures in calls(traced.stacks).items() if traced else ():
                made.append([overview.label(one), path.replace(";", " > "), *map(significant, figures)])
        return made

    groups = ((overview.settings.words(one.setting), found) for one in overview.verdicts if (found := rows(one)))
    made = table("Seconds of calls, over the ranks", ("way", "call", "min", "mean", "max"), groups)
    made.set("class", "scroll narrow")
    return made


def failure_table(overview: Overview) -> Element:
    """All failures with their errors."""

    def rows(verdict: Verdict) -> list[list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for one in verdict.failures:
            found.setdefault((overview.settings.label(one.cell), one.error), []).append(str(one.round))
        return [[name, ", ".join(rounds), error] for (name, error), rounds in found.items()]

    groups = [(overview.settings.words(one.setting), found) for one in overview.verdicts if (found := rows(one))]
    return table("Failures", ("way", "rounds", "error"), groups)


def comparison(overview: Overview, found: list[Change], old: Overview) -> list[Element]:
    """The changes since an earlier file."""
    made = [element("p", overview_of(found)), *_earlier(old)]
    changed = [one for one in found if one.direction in ("slower", "faster")]
    changed.sort(key=lambda one: -abs((one.ratio or 1) - 1))
    if changed:
        lines = (f"{_cell_words(one, overview, old)}: {one.words()}." for one in changed[:_MOST_OPEN])
        made.append(listed(lines, class_="changes"))
    if len(changed) > _MOST_OPEN:
        made.append(element("p", f"The table has {len(changed) - _MOST_OPEN} more changes."))
    return made


def _earlier(old: Overview) -> list[Element]:
    runs = [f"Earlier run: {run.began}, Tailrace {run.tailrace}, {run.command}" for run in old.results.runs]
    return [listed(runs, class_="notes")] if runs else []


def change_table(overview: Overview, found: list[Change], old: Overview) -> Element:
    """All cells of both files with their ratio."""

    def row(one: Change) -> list[str]:
        medians = [significant(each.seconds.median) if each else "" for each in (one.old, one.new)]
        ratio = significant(one.ratio) if one.ratio is not None else ""
        chance = significant(one.chance, 2) if one.chance is not None else ""
        return [_cell_words(one, overview, old), *medians, ratio, chance, one.words()]

    columns = ("cell", "old, s", "new, s", "new / old", "p", "verdict")
    return table("Cells of both files", columns, [("", [row(one) for one in found])])


def _cell_words(change: Change, overview: Overview, old: Overview) -> str:
    settings = overview.settings if change.new is not None else old.settings
    return f"{settings.label(change.cell)}: {settings.words(settings.of(change.cell))}"
