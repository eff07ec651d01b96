"""The command `tailrace bench report`: its files, messages and exit codes."""

from __future__ import annotations

import contextlib
import csv
import io

import pytest
import typer

from helpers.harness.as_click import Result, as_click
from helpers.inputs.benchmarks import cell, rounds, run, small
from tailrace.bench.records.records import End
from tailrace.bench.records.results import ResultFile, write_csv
from tailrace.cli.bench.report import report

APP = typer.Typer()
APP.command()(report)
MARK = '<meta name="generator" content="Tailrace bench">'


def invoke(*words):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            as_click(APP)([str(word) for word in words], prog_name="tailrace")
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Result(code, out.getvalue(), err.getvalue())


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Files of results, of which the second is of half the speed; the program works beside them."""
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("old", 1.0), ("new", 2.0)):
        with ResultFile(tmp_path / f"{name}.jsonl") as file:
            file.add(run())
            for one in rounds(cell(), seconds):
                file.add(one)
            file.add(End("run 1", "2026-03-14T15:19:26+01:00"))
    return tmp_path


def test_a_report_and_a_table_are_written(stored):
    done = invoke("new.jsonl", "--against", "old.jsonl", "-o", "out/r.html", "--csv", "r.csv")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "out/r.html\nr.csv\n", "")
    text = (stored / "out/r.html").read_text(encoding="utf-8")
    assert MARK in text and "slower, takes 2.00 times as long" in text
    with (stored / "r.csv").open(newline="") as file:
        assert [float(row["seconds"]) for row in csv.DictReader(file)] == [one.seconds for one in rounds(cell(), 2.0)]


def test_several_files_are_one_report_and_names_have_defaults(stored):
    assert invoke("new.jsonl", "old.jsonl").stdout == "report.html\n"
    assert "14 measurements in 1 setting" in (stored / "report.html").read_text(encoding="utf-8")


def test_both_files_are_replaced_by_their_like(stored):
    for name in ("new", "old"):
        assert invoke(f"{name}.jsonl", "--csv", "r.csv").exit_code == 0
    write_csv(small(), stored / "small.csv")
    assert invoke("new.jsonl", "--csv", "small.csv").exit_code == 0


@pytest.mark.parametrize("option, name", [("-o", "report"), ("--csv", "table")])
@pytest.mark.parametrize("there", ["new.jsonl", "mine.txt", "folder"])
def test_nothing_else_is_replaced(stored, option, name, there):
    (stored / "mine.txt").write_text("mine")
    (stored / "folder").mkdir()
    before = (stored / "new.jsonl").read_bytes()
    done = invoke("new.jsonl", option, there)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{there} is there already, and is no {name} of tailrace bench" in done.stderr
    assert f"choose another name by {option}" in done.stderr
    assert (stored / "new.jsonl").read_bytes() == before and (stored / "mine.txt").read_text() == "mine"
    assert not (stored / "report.html").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["missing.jsonl"], "missing.jsonl: cannot be read as text"),
        (["new.jsonl", "--against", "missing.jsonl"], "missing.jsonl: cannot be read as text"),
        (["wrong.jsonl"], "wrong.jsonl:1: no record of a benchmark"),
        (["new.jsonl", "-o", "same", "--csv", "same"], "same: the report (-o) and the table (--csv) need two names"),
        ([], "Missing argument"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(stored, words, said):
    (stored / "wrong.jsonl").write_text("{}\n")
    done = invoke(*words)
    assert done.exit_code == 2 and said in done.stderr
    assert sorted(path.name for path in stored.iterdir()) == ["new.jsonl", "old.jsonl", "wrong.jsonl"]


def test_an_interrupted_run_is_said(stored):
    lines = (stored / "new.jsonl").read_text().splitlines()
    (stored / "cut.jsonl").write_text("\n".join([*lines[:-1], '{"kind": "meas']))
    done = invoke("cut.jsonl")
    assert done.exit_code == 0
    assert "cut.jsonl:9: the line is not whole" in done.stderr and "was interrupted" in done.stderr
