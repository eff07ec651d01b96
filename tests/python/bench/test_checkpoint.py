"""`tailrace bench checkpoint`: lists of elements, and restarts on the same and on other ranks."""

import os
import signal
import sys

import numpy as np
import pytest
from mpi4py import MPI

from helpers.harness import mpi_run
from helpers.harness.benches import assert_nobody_left, bench, left, ranks_of, start, wait_for_failures, wait_for_lines
from helpers.inputs.small_benches import lists
from tailrace.bench.checkpoint.element_lists import ElementLists, first_rows
from tailrace.bench.ranks.driver import Driver
from tailrace.bench.records.results import ResultFile, read_results
from tailrace.bench.records.summary import summarise
from tailrace.io.series import ArrayStep

ENGINES = ("raw", "raw,strategy=dist", "mpiio", "hdf5", "bp4", "bp5", "sion")
SMALL = ("checkpoint", "--elements", 50, "--columns", 3, "--small-steps", 2, "--rounds", 1)
LONG = ("checkpoint", "--elements", 50, "--columns", 3, "--small-steps", 2, "--rounds", 300, "--ranks", 2)


@pytest.mark.parametrize("uneven", [0.0, 0.5, 1.0])
def test_every_row_has_one_rank(uneven):
    for seed in range(5):
        first = first_rows(1000, 7, uneven, seed)
        counts = np.diff(first)
        assert (first[0], first[-1], len(first)) == (0, 1000, 8)
        assert (counts >= 0).all()
        assert counts.max() - counts.min() <= 1 if uneven == 0 else counts.max() - counts.min() > 20
    assert first_rows(1000, 7, uneven, 4) == first, "seeded"


def test_rows_depend_on_their_places_alone():
    whole = ElementLists(20, 3, 0, 20)
    assert whole.bytes == 20 * 4 * 8
    assert len(np.unique(whole.lists["id"])) == 20
    for first, end in ((0, 6), (6, 6), (6, 20)):
        part = ElementLists(20, 3, first, end)
        assert part.equal([rows[first:end] for rows in whole.lists.values()])


def test_wrong_rows_are_found():
    lists = ElementLists(20, 3, 5, 15)
    right = [rows.copy() for rows in lists.lists.values()]
    assert lists.equal(right)
    assert not lists.equal(right[:1])
    assert not lists.equal([right[0].astype(np.int32), right[1]])
    assert not lists.equal([right[0], right[1][:-1]])
    for number, place in ((0, 3), (1, (9, 2))):
        wrong = [rows.copy() for rows in right]
        wrong[number][place] = np.nextafter(wrong[number][place], 9) if number else -1
        assert not lists.equal(wrong)


def test_every_engine_restarts_on_the_same_and_on_more_ranks(tmp_path):
    engines = [word for name in ENGINES for word in ("--engine", name)]
    bench(tmp_path, *SMALL, "--ranks", 2, "--restart-ranks", 3, *engines)
    found = read_results(tmp_path / "r.jsonl")
    assert not found.failures
    assert not found.interrupted
    variants = [one for one in summarise(found.measurements) if one.cell.role == "way"]
    operations = (("write", 2), ("restart same", 2), ("restart other", 3), ("metadata", 2))
    assert {(one.cell.name, one.cell.operation, one.cell.ranks) for one in variants} == {
        (name, operation, ranks) for name in ENGINES for operation, ranks in operations
    }
    for one in variants:
        [measured] = one.rounds
        assert measured.cell.bench == "checkpoint"
        assert measured.bytes == (2 * 2 * 8 if one.cell.operation == "metadata" else 50 * 4 * 8)
        assert measured.verified is True
        if one.cell.operation in ("write", "metadata"):
            assert measured.counts["files"] >= 1
            assert {"open", "write", "metadata", "sync", "close"} == measured.phases.keys()
        else:
            assert one.cell.cache == "cold"
            assert one.cell.source.endswith("written by 2")
    limits = {
        (one.cell.operation, one.cell.name, one.cell.ranks) for one in found.measurements if one.cell.role == "limit"
    }
    assert limits == {("write", "pwrite", 2), ("restart same", "pread", 2), ("restart other", "pread", 3)}
    assert left(tmp_path) == []


def test_one_rank_restarts_on_two_and_the_mean_of_a_rank_is_given(tmp_path):
    bench(
        tmp_path, "checkpoint", "--local", 20, "--columns", 2, "--columns", 5, "--uneven", 1, "--rounds", 1, "--ranks",
        "1", "--engine", "hdf5", "--small-steps", 0,
    )  # fmt: skip
    variants = [
        one.cell for one in summarise(read_results(tmp_path / "r.jsonl").measurements) if one.cell.role == "way"
    ]
    assert {(cell.operation, cell.ranks, cell.shape) for cell in variants} == {
        (operation, ranks, (columns, 20))
        for operation, ranks in (("write", 1), ("restart same", 1), ("restart other", 2))
        for columns in (2, 5)
    }


def test_inside_a_job_of_mpi(tmp_path):
    words = ["mpiexec", "-n", "3", sys.executable, "-m", "tailrace.cli", "bench", *SMALL]
    more = ["--ranks", "3", "--engine", "raw", "-o", "r.jsonl"]
    done = mpi_run.finish(mpi_run.start([*words, *more], tmp_path), 200)
    assert done.code == 0, done.text
    found = read_results(tmp_path / "r.jsonl")
    assert {(one.cell.operation, one.cell.ranks) for one in found.measurements if one.cell.role == "way"} == {
        ("write", 3), ("restart same", 3), ("metadata", 3), ("restart other", 1)
    }  # fmt: skip
    assert left(tmp_path) == []


@pytest.mark.parametrize("wrong", [("restart same", 0), ("restart other", 1)])
def test_wrong_values_are_found(tmp_path, monkeypatch, wrong):
    """An engine that reads a wrong last value, in one of the two jobs."""
    read = ArrayStep.read

    def read_wrong(self, name, *arguments, **more):
        values = read(self, name, *arguments, **more)
        if name == "coefficients":
            values[-1, -1] += 1
        return values

    with ResultFile(tmp_path / "r.jsonl") as file:
        driver = Driver(file, "one", 60)
        for number, job in enumerate(lists().jobs({"here": tmp_path})):
            with monkeypatch.context() as context:
                if number == wrong[1]:
                    context.setattr(ArrayStep, "read", read_wrong)
                job.program.run(MPI.COMM_SELF, job, driver.take)
    # Once, as a way with wrong values is not tried again; what reads it first also says that of the write.
    assert driver.failures == len(driver.notes) == (2 if wrong[1] == 0 else 1)
    assert wrong[0] in driver.notes[0]
    assert "are not those that were written" in driver.notes[0]


def test_a_dead_rank_is_a_failed_cell_and_its_file_is_not_read(tmp_path):
    process = start(tmp_path, *LONG, "--engine", "raw", "--engine", "hdf5")
    wait_for_lines(tmp_path, 8, process)
    os.kill(ranks_of(process)[-1], signal.SIGKILL)
    [failure] = wait_for_failures(tmp_path, process)
    assert failure.cell.bench == "checkpoint"
    assert "signal 9" in failure.error or "ended with code" in failure.error
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=240)
    assert left(tmp_path) == []
    assert_nobody_left(process)


def test_a_full_disk_is_a_failed_cell_without_a_restart(tmp_path, small_disk):
    disk = small_disk("2m")
    bench(
        tmp_path, "checkpoint", "--directory", disk, "--elements", 20_000, "--columns", 16, "--ranks", 1, "--rounds", 1,
        "--engine", "raw", code=1,
    )  # fmt: skip
    found = read_results(tmp_path / "r.jsonl")
    variants = [one.cell.operation for one in found.failures if one.cell.role == "way"]
    assert variants == ["write"]
    assert all("are free in the directory" in one.error for one in found.failures)
    assert left(disk) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "hdf6"], "--engine hdf6: expected one of"),
        (["--restart-ranks", "two"], "--restart-ranks two: expected numbers as 1,2,4"),
        (["--ranks", "1,2", "--restart-ranks", "2"], "expected a number for each of --ranks 1,2"),
        (["--uneven", "2"], "uneven"),
        (["--elements", "0"], "elements"),
        (["--directory", "nowhere"], "--directory nowhere: is no directory"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    assert said in bench(tmp_path, "checkpoint", *words, code=2).text
    assert list(tmp_path.iterdir()) == []
