"""A report of results: one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from tailrace.files.regular import open_regular
from tailrace.files.whole import write_text

from ..records.results import COLUMNS, BenchResults
from . import contents, flames, panels, scaling
from .compare import Change
from .compare import against as compare
from .markup import Element, data_block, element, folded, text_of
from .overview import Overview

_MARK = '<meta name="generator" content="Tailrace bench">'  # identifies reports that may be replaced
_SCRIPTS = ("figures.js", "charts.js", "report.js")
_WORDS = {  # what a section shows
    "ranks": "The median of the rounds, with the least and the most. Dashed: limits, what the machine can do at best. "
    "Strong: the whole has one size; weak: each rank has one size.",
    "share": "The rate of each way over that of the fastest limit of its setting. More than 100 % is possible where a "
    "limit and a way were measured at different times, or differ in what they leave to the system.",
    "phases": "Median seconds of the slowest rank in each phase; the rest is the time that no phase has. As each "
    "phase has its own slowest rank, the phases may be longer than the whole, which is the figure at the end.",
    "flames": "The time of the calls of each rank in one round, as areas: a call lies below the call that it is part "
    "of. Choose an area to enlarge it, and the first line to return.",
    "rounds": "Every round, the first at the upper edge of its row; the line is the median. A cross was disturbed, or "
    "its values were wrong.",
}


class ReportError(ValueError):
    """A report cannot be written. The message says what exists at its path and what to do."""


def check_report(path: Path) -> Path:
    """Check that a report can be written to a path, before anything is computed.

    :raises ReportError: the path exists, and is not a report of ours.
    :raises OSError: the existing file cannot be read.
    """
    if path.is_dir() or (path.exists() and not _is_ours(path)):
        raise ReportError(
            f"{path} is there already, and is no report of tailrace bench; choose another name by -o, or move it away"
        )
    return path


def check_table(path: Path) -> Path:
    """Check that a table can be written to a path by `write_csv`.

    :raises ReportError: the path exists, and is not a table of ours.
    :raises OSError: the existing file cannot be read.
    """
    if path.is_dir() or (path.exists() and not _begins(path, ",".join(COLUMNS))):
        raise ReportError(
            f"{path} is there already, and is no table of tailrace bench; choose another name by --csv, or move it away"
        )
    return path


def _is_ours(path: Path) -> bool:
    with open_regular(path, "rb") as file:
        return _MARK.encode() in file.read(4096)


def _begins(path: Path, text: str) -> bool:
    with open_regular(path, "rb") as file:
        return bool(file.read(len(text)) == text.encode())


def write_report(results: BenchResults, path: Path, *, against: BenchResults | None = None) -> None:
    """Write a report. Missing directories are created; an earlier report is replaced when the new one is whole.

    :param against: earlier results to compare with.
    :raises ReportError: see `check_report`.
    """
    check_report(path)
    text = page(results, against)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def page(results: BenchResults, against: BenchResults | None = None) -> str:
    """The text of the HTML file."""
    overview = Overview(results)
    old = Overview(against) if against is not None else None
    found = compare(results, against) if against is not None else []
    style = _file("report.css")
    script = "\n".join(_file(name) for name in _SCRIPTS)
    body = [contents.heading(overview), *_sections(overview, found, old)]
    return Template(_file("report.html")).substitute(
        mark=_MARK,
        title=_title(results),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=data_block(page_data(overview, found)),
        body="\n".join(text_of(one) for one in body),
    )


def page_data(overview: Overview, found: list[Change]) -> dict[str, Any]:
    """The data of the page: the names in the order of their colours, and the panels of each section."""
    data = {
        "compare": panels.changes(overview, found),
        "ranks": scaling.by_ranks(overview),
        "size": scaling.by_size(overview),
        "share": panels.shares(overview),
        "phases": panels.phases(overview),
        "files": panels.stored(overview),
        "flames": flames.flames(overview),
        "rounds": panels.rounds(overview),
    }
    shades = list(dict.fromkeys([*panels.shades(overview), *flames.names(overview)]))
    names = {"ways": overview.variants, "limits": overview.limits, "shades": shades, "rest": panels.REST}
    return {**names, "sections": data}


def _sections(overview: Overview, found: list[Change], old: Overview | None) -> list[Element]:
    """The sections, with a list of them in front. Only measured things have a section."""
    made = [("verdict", "Verdict", contents.verdict_section(overview))]
    if old is not None:
        table = folded("Table of all compared cells", contents.change_table(overview, found, old))
        made.append(
            ("compare", "Compared with the earlier file",
             [*contents.comparison(overview, found, old), _charts("compare"), table])
        )  # fmt: skip
    if overview.results.measurements:
        made += _measured(overview)
    if overview.results.failures:
        made.append(("failures", "Failures", [contents.failure_table(overview)]))
    links = (element("a", title, href=f"#{name}") for name, title, _ in made)
    return [
        element("nav", *links, aria_label="Sections"),
        *(element("section", element("h2", title), *parts, id=name) for name, title, parts in made),
    ]


def _measured(overview: Overview) -> list[tuple[str, str, list[Element]]]:
    """The sections with charts: name, title, and charts with their tables."""
    members = [one for verdict in overview.verdicts for one in verdict.members]
    made: list[tuple[str, str, list[Element]]] = [("ranks", "Over the number of ranks", [_charts("ranks")])]
    if scaling.by_size(overview):
        made.append(("size", "Over the size", [_charts("size")]))
    if panels.shares(overview):
        made.append(("share", "Share of the limit", [_charts("share")]))
    if any(one.phases for one in members):
        table = folded("Table of phases", *contents.phase_tables(overview))
        made.append(("phases", "Time by phase", [_charts("phases"), table]))
    if panels.stored(overview):
        made.append(("files", "Files and stored bytes", [_charts("files")]))
    if any(one.stacks for one in overview.results.measurements):
        table = folded("Table of calls", contents.call_table(overview))
        made.append(("flames", "Where the time went: flame graphs", [_charts("flames"), table]))
    made.append(("rounds", "Rounds", [_charts("rounds"), folded("Table of rounds", contents.round_table(overview))]))
    made.append(("cells", "All cells", [contents.cell_table(overview)]))
    return [(name, title, [*_explained(name), *parts]) for name, title, parts in made]


def _explained(name: str) -> list[Element]:
    return [element("p", _WORDS[name])] if name in _WORDS else []


def _charts(name: str) -> Element:
    return element("div", class_="charts", data_section=name)


def _title(results: BenchResults) -> str:
    began = f" of {results.runs[0].began[:10]}" if results.runs else ""
    return text_of(element("title", f"Benchmark report{began}"))


def _hash(text: str) -> str:
    """The hash that names a script in a content security policy, so that the browser runs no other script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _file(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")
