"""The command `tailrace bench import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.text import visible

from ..common import fail

if TYPE_CHECKING:
    from tailrace.bench.records.records import Record


def import_results(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="JSON of IOR, a text of benchio, or a log of Darshan; told by content."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="RESULTS", help="A new file of results, such as results.jsonl.")
    ],
    append: Annotated[bool, typer.Option("--append", help="Add to RESULTS where it exists.")] = False,
) -> None:
    """Import results of IOR, benchio and Darshan, so that reports show them with those of Tailrace.

    For example: tailrace bench import ior.json benchio.txt -o results.jsonl

    Nothing is written unless all files can be read.
    """
    from tailrace.bench.imported.foreign import ForeignError
    from tailrace.bench.imported.recognise import read_foreign
    from tailrace.bench.records.results import ResultError, ResultFile, read_results

    try:
        there = output.exists()
        if there and not append:
            fail(f"{output}: exists; expected a new file. To add to it, use --append")
        known = {run.run for run in read_results(output).runs} if there and output.stat().st_size else set()
        imported = [(path, read_foreign(path)) for path in files]
        for path, records in imported:
            name = getattr(records[0], "run", "")
            if name in known:
                fail(f"{path}: is imported twice, or {output} contains its records; leave it out")
            known.add(name)
        with ResultFile(output, append=append) as file:
            for _, records in imported:
                for record in records:
                    file.add(record)
    except (ForeignError, ResultError) as error:
        fail(error)
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror or error}", 1)
    for path, records in imported:
        print(visible(_told(path, records)))


def _told(path: Path, records: list[Record]) -> str:
    from tailrace.bench.records.records import Failure, Measurement
    from tailrace.text import counted

    measured = [one for one in records if isinstance(one, Measurement)]
    cells = counted(len({one.cell for one in measured}), "cell")
    failed = sum(isinstance(one, Failure) for one in records)
    without = f", {failed} without a time" if failed else ""
    return f"{path}: {counted(len(measured), 'measurement')} of {cells}{without}"
