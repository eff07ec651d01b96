"""The end of a command of `tailrace bench`: tables, and the report beside the file of results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.text import counted, visible

from ..common import say

if TYPE_CHECKING:
    from tailrace.bench.bench import Bench
    from tailrace.bench.records.results import BenchResults


def report_of(out: Path) -> Path:
    """The report beside a file of results: run.jsonl has run.html, run.1 has run.1.html."""
    return out.with_suffix(".html") if out.suffix in (".json", ".jsonl") else out.with_name(f"{out.name}.html")


def check_files(bench: Bench) -> None:
    """Check the files of a command before minutes are spent.

    :raises ValueError: the results exist without --append, or a file has other content than expected.
    :raises OSError: a file cannot be read.
    """
    from tailrace.bench.records.results import check_place, read_results
    from tailrace.bench.report.report import check_report

    check_place(bench.results.out, append=bench.results.append)
    if bench.against is not None:
        read_results(bench.against)
    check_report(report_of(bench.results.out))


def show(bench: Bench, run: str, failures: int, notes: Iterable[str]) -> int:
    """Print the tables of a file of results and write its report. Returns 1 if something failed.

    A report that is not ours is kept, and a note says so.

    :param run: the name of the run that ends.
    :param failures: how many cells and jobs have failed.
    """
    from tailrace.bench.records.results import read_results
    from tailrace.bench.report.overview import Overview
    from tailrace.bench.report.tables import print_tables
    from tailrace.bench.report.use import use

    results = read_results(bench.results.out)
    written = _write(bench, results)  # first: who reads the tables may end before their end
    for line in bench.conclusions(one for one in results.measurements if one.run == run):
        say(line)
    print_tables(results)
    print(visible(use(Overview(results))))
    if written:
        _tell_places(bench)
    code = 0 if written and not failures else 1
    for note in notes:
        say(f"tailrace: {note}")
    if failures:
        say(f"tailrace: {counted(failures, 'failure')}; the records say what failed and why")
    return code


def announce(bench: Bench) -> None:
    """Say, before anything is measured, where the results will be."""
    out = bench.results.out
    say(f"tailrace: the records go to {out}, the report to {report_of(out)}, also after an interruption")


def show_interrupted(bench: Bench) -> None:
    """Write the report of what was measured before an interruption, and say what is missing."""
    from tailrace.bench.records.results import ResultError, read_results

    try:
        results = read_results(bench.results.out)
    except ResultError as error:
        say(f"tailrace: no report: {error}")
        return
    if _write(bench, results):
        _tell_places(bench)
    for line in results.interrupted_words()[-1:]:
        say(f"tailrace: {line}")


def _write(bench: Bench, results: BenchResults) -> bool:
    """Write the report beside the file of results. Returns whether that was possible; else a line says why not."""
    from tailrace.bench.records.results import ResultError, read_results
    from tailrace.bench.report.report import ReportError, check_report, write_report

    out, against = bench.results.out, bench.against
    report = report_of(out)
    try:
        old = read_results(against) if against is not None else None
        check_report(report)
        write_report(results, report, against=old)
    except (ReportError, ResultError, OSError) as error:
        say(f"tailrace: {error}")
        return False
    return True


def _tell_places(bench: Bench) -> None:
    print(f"records: {bench.results.out}\nreport:  {report_of(bench.results.out)}", flush=True)
