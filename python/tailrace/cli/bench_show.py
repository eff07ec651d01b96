"""What a command of `tailrace bench` says at its end: tables, and the report beside the file of results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailrace.text import counted

from .common import say


def show(out: Path, against: Path | None, failures: int, notes: Iterable[str]) -> int:
    """Print the tables of a file of results and write its report. Returns 1 where something failed. Local.

    A report that is not ours is kept, and a note says so.

    :param failures: how many cells and jobs have failed.
    """
    from tailrace.bench.report import ReportError, check_report, write_report
    from tailrace.bench.results import ResultError, read_results
    from tailrace.bench.tables import print_tables

    results = read_results(out)
    print_tables(results)
    report = out.with_suffix(".html")
    code = 1 if failures else 0
    try:
        old = read_results(against) if against is not None else None
        check_report(report)
        write_report(results, report, against=old)
        print(f"records: {out}\nreport:  {report}")
    except (ReportError, ResultError, OSError) as error:
        say(f"tailrace: {error}")
        code = 1
    for note in notes:
        say(f"tailrace: {note}")
    if failures:
        say(f"tailrace: {counted(failures, 'failure')}; the records say what failed and why")
    return code
