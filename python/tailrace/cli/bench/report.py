"""The command `tailrace bench report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import fail, say


def report(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Files that tailrace bench wrote; read as one.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The report; an earlier report is replaced.")
    ] = Path("report.html"),
    against: Annotated[
        Path | None, typer.Option("--against", metavar="OLD", help="Earlier results to compare with.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every measurement as a row of a table too.")
    ] = None,
) -> None:
    """Show results of benchmarks: one HTML file with charts, which needs no network and can be printed.

    For example: tailrace bench report results.jsonl --against last-week.jsonl

    The report says for each setting which way is the fastest, with which others it ties, and how sure that is.
    """
    from tailrace.bench.records.results import ResultError, read_results, write_csv
    from tailrace.bench.report.report import ReportError, check_report, check_table, write_report

    try:
        if table is not None and table.absolute() == out.absolute():
            fail(f"{out}: the report (-o) and the table (--csv) need two names")
        check_report(out)
        if table is not None:
            check_table(table)
        results = read_results(*paths)
        old = read_results(against) if against is not None else None
        write_report(results, out, against=old)
        if table is not None:
            write_csv(results, table)
    except (ReportError, ResultError) as error:
        fail(error)
    except OSError as error:
        fail(error, 1)
    for note in [*results.notes, *(old.notes if old is not None else ())]:
        say(f"note: {note}")
    for line in results.interrupted_words():
        say(f"note: {line}")
    for path in (out, table):
        if path is not None:
            print(path)
