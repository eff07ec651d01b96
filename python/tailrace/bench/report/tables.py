"""Results as tables on a terminal: the ranking of each setting, with doubts and failures."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailrace.text import visible

from ..records.results import BenchResults
from ..records.summary import Summary, share
from .figures import figure_of, percent, seconds, significant
from .overview import Overview
from .panels import split
from .verdicts import Verdict, certainty, sentence, tallies, warnings

_WIDTH = 120  # characters, if the output is not a terminal


def print_tables(results: BenchResults, stream: TextIO | None = None) -> None:
    """Print the ranking of every setting.

    :param stream: the output; standard output by default.
    """
    stream = stream if stream is not None else sys.stdout
    terminal = stream.isatty()
    console = Console(file=stream, highlight=False, width=None if terminal else _WIDTH)
    overview = Overview(results)
    for verdict in overview.verdicts:
        console.print(_line(overview.settings.words(verdict.setting), style="bold"), soft_wrap=True)
        if verdict.members:
            console.print(_ranking(overview, verdict))
        words = " ".join(text for text in (sentence(verdict, overview.settings), _sure(overview, verdict)) if text)
        console.print(_line(words))
        for text in (*warnings(verdict, overview.settings), *_errors(overview, verdict)):
            console.print(_line(f"! {text}", style="yellow"))
        console.print()
    for tally in tallies(overview.verdicts, overview.settings):
        console.print(_line(tally.words(), style="bold"))
    for text in _about_runs(results):
        console.print(_line(f"! {text}", style="yellow"))


def _ranking(overview: Overview, verdict: Verdict) -> Table:
    unit = figure_of(verdict.members[0]).unit
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("way", overflow="fold", min_width=8)
    table.add_column("")
    for column in ("rounds", f"min {unit}", "median", "max", "of limit"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("phases, %", overflow="fold", style="dim")
    for one in verdict.members:
        figure = figure_of(one)
        part = share(one, verdict.limits) if one.cell.role == "way" else None
        numbers = (significant(value) for value in (figure.low, figure.median, figure.high))
        table.add_row(
            _line(overview.label(one)),
            _place(verdict, one),
            str(len(one.rounds)),
            *numbers,
            percent(part) if part is not None else "",
            seconds(one.seconds.median),
            _line(_phases(one)),
            style="dim" if one.cell.role == "limit" else "",
        )
    return table


def _place(verdict: Verdict, one: Summary) -> str:
    if one.cell.role == "limit":
        return "limit"
    if one in verdict.wrong:
        return "wrong"
    if one in verdict.best:
        return "fastest" if len(verdict.best) == 1 else "tie"
    return ""


def _phases(one: Summary) -> str:
    """The phases by their share in percent: sync 61, write 30, the rest 9."""
    whole = one.seconds.median
    if not one.phases or whole <= 0:
        return ""
    parts = sorted(split(one).items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * value / whole:.0f}" for name, value in parts if value >= 0.005 * whole)


def _sure(overview: Overview, verdict: Verdict) -> str:
    return certainty(verdict, overview.settings)


def _errors(overview: Overview, verdict: Verdict) -> Iterable[str]:
    found = {(overview.settings.label(one.cell), one.error) for one in verdict.failures}
    return (f"{name}: {' '.join(error.split())}" for name, error in sorted(found))


def _about_runs(results: BenchResults) -> Iterable[str]:
    yield from results.interrupted_words()
    yield from results.notes


def _line(text: str, style: str = "") -> Text:
    """A text as it is: markup of rich and codes for the terminal have no effect."""
    return Text(visible(text, lines=True), style=style)
