"""What works with which format: the table of docs/formats.md is the result of this test.

TAILRACE_UPDATE_DOCS=1 writes the table anew.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.as_click import invoke as tailrace
from helpers.harness.snippets import ROOT
from helpers.inputs.other_programs import KINDS
from tailrace.io import guard

PAGE = ROOT / "docs" / "formats.md"
BEGIN, END = "<!-- matrix: begin -->\n", "<!-- matrix: end -->\n"
COLUMNS = ("info", "open", "xarray", "plot", "convert", "verify", "3 ranks")
READ = """
import sys
import numpy as np
from mpi4py import MPI
import tailrace as tr
comm = MPI.COMM_WORLD
for path in sys.argv[1:]:
    with tr.open(path, comm=comm) as series, tr.open(path) as alone:
        for step, whole in zip(series, alone, strict=True):
            for name, one in step.variables.items():
                x, y, z = one.shape
                d = 1 if one.is_list else int(np.argmax((x, y, z)))
                ends = [one.shape[d] * rank // comm.size for rank in range(comm.size + 1)]
                start, count = [0, 0, 0], [x, y, z]
                start[d], count[d] = ends[comm.rank], ends[comm.rank + 1] - ends[comm.rank]
                part = step.read(name, (start, count))
                cut = slice(start[d], start[d] + count[d])
                full = whole.read(name)
                expected = full[cut] if one.is_list else full[(slice(None),) * (2 - d) + (cut,)]
                assert np.array_equal(part, expected, equal_nan=True), (path, name)
sys.stdout.write("equal" + chr(10))
"""


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def refusal(text):
    """The reason in a message, without the path."""
    line = text.strip().splitlines()[-1]
    words = line.removeprefix("tailrace: ").split(": ", 1)[-1].split(";")[0].split(". ")[0]
    return f"refused: {words.split(' which is not read')[0].rstrip(',')}"


def rows_of(path: Path, folder: Path) -> dict[str, str]:
    """The cells of a format, but the last."""
    told = tailrace("info", path)
    if told.exit_code:
        why = refusal(told.stderr)
        with pytest.raises((tr.InputError, tr.IoError)):
            tr.open(path)
        assert tailrace("verify", path).exit_code == 2 and tailrace("convert", path, folder / "c.h5").exit_code
        return dict.fromkeys(COLUMNS[:-1], why)
    with tr.open(path) as series:
        first = series[0].variables
        cells = {"info": plural(len(series), "step"), "open": plural(len(first), "variable")}
        for step in series:
            for name in step.variables:
                step.read(name)
        with xr.open_dataset(path, engine="tailrace") as data:
            cells["xarray"] = plural(len(data.data_vars), "variable")
            for name in data.data_vars:
                data[name].load()
        plotted = tailrace("plot", path, "--kind", "slice", "--field", next(iter(first)), "-o", folder / "p.png")
        cells["plot"] = "a slice" if plotted.exit_code == 0 else refusal(plotted.stderr)
        done = tailrace("convert", path, folder / "c.h5")
        if done.exit_code:
            cells["convert"] = refusal(done.stderr)
        else:
            with tr.open(folder / "c.h5") as copy:
                for step, same in zip(series, copy, strict=True):
                    for name in step.variables:
                        np.testing.assert_array_equal(step.read(name), same.read(name))
            cells["convert"] = "equal"
    sound = tailrace("verify", path)
    cells["verify"] = {0: "no damage", 1: "damaged"}[sound.exit_code]
    return cells


def in_process(path, engine, function, *arguments):
    """What a child process would do: the files here are sound, and other tests have damaged ones."""
    module, name = function.split(":")
    return getattr(import_module(module), name)(*arguments)


def test_the_table_in_the_docs(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "call", in_process)
    table, readable = {}, {}
    for number, (kind, make) in enumerate(KINDS.items()):
        (tmp_path / f"out{number}").mkdir()
        path = make(tmp_path / f"in{number}")
        table[kind] = rows_of(path, tmp_path / f"out{number}")
        if not table[kind]["info"].startswith("refused"):
            readable[kind] = path
    (tmp_path / "read.py").write_text(READ)
    command = [*mpi_run.mpiexec(3), sys.executable, tmp_path / "read.py", *readable.values()]
    result = mpi_run.finish(mpi_run.start(command, tmp_path), 300)
    assert result.out.count("equal") == 3, result.text
    lines = [f"| format | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for kind, cells in table.items():
        if kind in readable:
            lines.append(f"| {kind} | {' | '.join([*(cells[column] for column in COLUMNS[:-1]), 'equal'])} |")
        else:
            lines.append(f"| {kind} | {cells['info']} |" + " |" * (len(COLUMNS) - 1))
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    made = before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1]
    if os.environ.get("TAILRACE_UPDATE_DOCS"):
        PAGE.write_text(made)
    assert PAGE.read_text() == made, (
        "docs/formats.md: run this test with TAILRACE_UPDATE_DOCS=1, and look at the change"
    )
