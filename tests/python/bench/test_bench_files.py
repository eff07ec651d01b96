"""The files of `tailrace bench`: what is not ours is kept, and what is wrong is said before anything is measured."""

import sys

import pytest

from helpers.harness import mpi_run
from helpers.inputs.bench_results import Made
from tailrace.bench.records.results import ResultFile, read_results
from tailrace.cli.bench.show import report_of

TINY = {
    "io": ("--global", "8,8,8", "--engine", "raw", "--rounds", "1", "--ranks", "1"),
    "checkpoint": ("--quick",),
    "couple": ("--quick",),
    "solver": (),
    "transpose": (),
    "overlap": (),
}


def bench(directory, *words, code=2, ranks=0, **environment):
    command = [sys.executable, "-m", "tailrace.cli", "bench", *map(str, words)]
    if ranks:
        command = [*mpi_run.mpiexec(ranks), *command]
    done = mpi_run.finish(mpi_run.start(command, directory, environment or None), 60)
    assert done.code == code, done.text
    assert "Traceback" not in done.text
    return done.text


def files(directory):
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", TINY)
def test_results_are_not_replaced(tmp_path, name):
    (tmp_path / "r.jsonl").write_text("mine")
    said = bench(tmp_path, name, *TINY[name], "-o", "r.jsonl")
    assert "r.jsonl: exists" in said
    assert "--append" in said
    assert files(tmp_path) == {"r.jsonl": b"mine"}


@pytest.mark.parametrize("ranks", [0, 2])
def test_nothing_is_added_to_a_file_of_others(tmp_path, ranks):
    """Under mpiexec too: one rank knows it, and all must end."""
    (tmp_path / "notes.txt").write_text("mine\n")
    said = bench(tmp_path, "io", *TINY["io"], "--append", "-o", "notes.txt", ranks=ranks)
    assert "notes.txt:1: no record of a benchmark" in said
    assert files(tmp_path) == {"notes.txt": b"mine\n"}


def test_what_stands_beside_the_results_is_looked_at_first(tmp_path):
    (tmp_path / "r.html").write_text("mine")
    assert "r.html is there already" in bench(tmp_path, "io", *TINY["io"], "-o", "r.jsonl")
    (tmp_path / "old.jsonl").write_text("{}")
    assert "old.jsonl:1" in bench(tmp_path, "io", *TINY["io"], "--against", "old.jsonl", "-o", "new.jsonl")
    assert sorted(files(tmp_path)) == ["old.jsonl", "r.html"]


def test_a_directory_that_cannot_be_written_leaves_no_results(tmp_path):
    bench(tmp_path, "io", *TINY["io"], "--directory", "/proc", "-o", "r.jsonl")
    assert files(tmp_path) == {}


def test_ranks_that_cannot_be_started(tmp_path):
    words = ("io", *TINY["io"][:-1], "2", "-o", "r.jsonl")
    said = bench(tmp_path, *words, PATH="", TAILRACE_MPIEXEC="")
    assert "mpiexec" in said


def test_reports_of_numbered_results_have_names_of_their_own(tmp_path):
    assert [report_of(tmp_path / name).name for name in ("r.jsonl", "run.1", "run.2")] == [
        "r.html", "run.1.html", "run.2.html",
    ]  # fmt: skip


def test_an_empty_file_of_results_is_removed_and_others_are_kept(tmp_path):
    with ResultFile(tmp_path / "new.jsonl"):
        assert (tmp_path / "new.jsonl").exists()
    assert files(tmp_path) == {}
    (tmp_path / "empty.jsonl").touch()
    with ResultFile(tmp_path / "empty.jsonl", append=True):
        pass
    assert files(tmp_path) == {"empty.jsonl": b""}
    made = Made().way("raw", 0.1)
    with ResultFile(tmp_path / "full.jsonl") as out:
        for record in made.all():
            out.add(record)
    assert read_results(tmp_path / "full.jsonl").measurements
