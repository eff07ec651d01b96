"""The commands `tailrace bench`: measure this machine, and show what was measured."""

from __future__ import annotations

import typer

from tailrace.bench.benches import benches

from .command import command_of
from .imported import import_results
from .report import report

app = typer.Typer(
    no_args_is_help=True,
    help="Measure this machine: input and output, streams, computation; and compare.",
    epilog="To begin: tailrace bench io --quick. It writes results.jsonl and results.html.",
)
for _bench in benches():
    app.command(_bench.name)(command_of(_bench))
app.command()(report)
app.command("import")(import_results)


@app.command(hidden=True)
def ranks(word: str) -> None:
    """The program that a job of the benchmark runs on its ranks."""
    from tailrace.bench.ranks.job import run_on_ranks

    run_on_ranks(word)


@app.command(hidden=True)
def pair(word: str) -> None:
    """The program that `couple` starts: a producer and its consumer."""
    from .pair import run

    raise typer.Exit(run(word))
