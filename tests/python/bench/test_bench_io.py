"""`tailrace bench io` as users run it: complete records, right values, and what happens when something goes wrong."""

import json
import os
import re
import signal
import sys
import time

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.benches import ranks_of
from tailrace.bench.ranks.eviction import Device
from tailrace.bench.records.results import read_results
from tailrace.bench.records.summary import summarise

SMALL = ("--global", "20,18,16", "--rounds", "2", "-o", "r.jsonl")
ENGINES = ("raw", "raw,aggregators=node", "mpiio", "hdf5", "bp4", "bp5", "sion")


def command(*words):
    return [sys.executable, "-m", "tailrace.cli", "bench", "io", *words]


def bench(directory, *words, code=0, limit=200):
    done = mpi_run.finish(mpi_run.start(command(*words), directory), limit)
    assert done.code == code, done.text
    return done


def left(directory):
    return sorted(path.name for path in directory.glob("tailrace-bench-*"))


def test_every_engine_on_one_and_two_ranks(tmp_path):
    engines = [word for name in ENGINES for word in ("--engine", name)]
    bench(tmp_path, *SMALL, "--ranks", "1,2", "--variables", "2", "--steps", "2", "--halo", "1", *engines)
    found = read_results(tmp_path / "r.jsonl")
    assert not found.failures
    assert not found.interrupted
    variants = [one for one in summarise(found.measurements) if one.cell.role == "way"]
    assert {(one.cell.name, one.cell.ranks, one.cell.operation, one.cell.cache) for one in variants} == {
        (name, ranks, operation, cache)
        for name in ENGINES
        for ranks in (1, 2)
        for operation, cache in (("write", "page cache"), ("write", "synced"), ("read", "cold"), ("read", "warm"))
    }
    for one in variants:
        assert [m.round for m in one.rounds] == [1, 2]
        assert one.wrong == 0
        assert all(m.bytes == 20 * 18 * 16 * 8 * 2 * 2 and m.seconds > 0 for m in one.rounds)
        assert all(sum(m.phases.values()) < 1.5 * m.seconds + 0.05 for m in one.rounds)
        for m in one.rounds:  # each phase has its own slowest rank
            assert max(m.phases.values()) <= m.seconds, one.cell
            assert sum(m.phases.values()) <= one.cell.ranks * m.seconds, one.cell
        if one.cell.operation == "write":
            assert all(m.counts["stored"] >= m.bytes and m.counts["files"] >= 1 for m in one.rounds)
            assert (one.phases["sync"] > 0) == (one.cell.cache == "synced"), one.cell
        assert any(stack.startswith(f"rank {one.cell.ranks - 1};") for stack in one.stacks), one.cell
    assert all(m.verified for one in variants for m in one.rounds if one.cell.operation == "read")
    assert left(tmp_path) == []


def test_cold_reads_come_from_the_device(tmp_path):
    if Device(tmp_path).bytes_read() is None:
        pytest.skip("the kernel does not count what the device of this directory reads")
    bench(
        tmp_path, "--global", "64,64,64", "--rounds", "2", "-o", "r.jsonl", "--ranks", "2", "--engine", "raw",
        "--engine", "hdf5", "--operations", "read",
    )  # fmt: skip
    reads = [one for one in summarise(read_results(tmp_path / "r.jsonl").measurements) if one.cell.operation == "read"]
    assert {one.cell.name for one in reads} == {"raw", "hdf5", "pread"}
    for one in reads:
        for m in one.rounds:
            share = m.counts["device_bytes"] / m.bytes
            assert share > 0.95 if one.cell.cache == "cold" else share < 0.5, one.cell
            assert m.verified is True, one.cell


def test_warm_reads_are_warm_after_direct_writes(tmp_path):
    """The limit once read the file that had been written past the page cache."""
    if Device(tmp_path).bytes_read() is None:
        pytest.skip("the kernel does not count what the device of this directory reads")
    words = ("--global", "64,64,64", "--rounds", "2", "-o", "r.jsonl", "--ranks", "1", "--engine", "raw")
    bench(tmp_path, *words, "--caches", "synced,warm")
    found = summarise(read_results(tmp_path / "r.jsonl").measurements)
    [limit] = [one for one in found if one.cell.name == "pread"]
    assert all(m.counts["device_bytes"] < 0.5 * m.bytes for m in limit.rounds)


def test_values_of_a_file(tmp_path):
    values = {"a": np.random.default_rng(1).random((6, 5, 7)), "b": np.zeros((6, 5, 7))}
    with tr.open(tmp_path / "mine.h5", "w") as series:
        series.write_step(0.0, **values)
    bench(
        tmp_path, "--from", "mine.h5", "--ranks", "2", "--engine", "raw", "--rounds", "1", "-o", "r.jsonl",
        "--caches", "page cache,warm",
    )  # fmt: skip
    [write] = [one for one in read_results(tmp_path / "r.jsonl").measurements if one.cell.name == "raw" and one.round][
        :1
    ]
    assert (write.cell.shape, write.cell.variables, write.bytes) == ((7, 5, 6), 2, 2 * 6 * 5 * 7 * 8)
    assert write.cell.source.endswith("mine.h5")
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith("mine")}
    assert left - {"mine.h5.lock"} == {"mine.h5", "mine.h5.xdmf2"}


def test_inside_a_job_of_mpi(tmp_path):
    words = command(*SMALL, "--ranks", "1,3", "--engine", "raw", "--engine", "hdf5")
    done = mpi_run.finish(mpi_run.start(["mpiexec", "-n", "3", *words], tmp_path), 200)
    assert done.code == 0, done.text
    found = read_results(tmp_path / "r.jsonl")
    assert {one.cell.ranks for one in found.measurements} == {1, 3}
    assert not found.interrupted
    assert all(m.verified for m in found.measurements if m.cell.operation == "read" and m.cell.role == "way")
    assert left(tmp_path) == []


def test_ranks_with_parts_of_different_size_stay_together(tmp_path):
    """How often memory is taken before a write once depended on a rank's own part: the ranks waited for each other."""
    words = ("--global", "20,18,16", "--rounds", "6", "--operations", "write", "-o", "r.jsonl", "--engine", "raw")
    bench(tmp_path, *words, "--ranks", "3", "--limit", "60")
    [variant, _] = [
        one for one in summarise(read_results(tmp_path / "r.jsonl").measurements) if one.cell.engine == "raw"
    ]
    assert len(variant.rounds) == 6


def wait_for(path, count, process, limit=100):
    """Until the file of results has so many lines."""
    until = time.monotonic() + limit
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, "the benchmark has ended too early"
        assert time.monotonic() < until
        time.sleep(0.02)


LONG = (
    "--global",
    "20,18,16",
    "--rounds",
    "500",
    "--ranks",
    "2",
    "-o",
    "r.jsonl",
    "--engine",
    "raw",
    "--engine",
    "hdf5",
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted(tmp_path, number):
    process = mpi_run.start(command(*LONG), tmp_path)
    wait_for(tmp_path / "r.jsonl", 8, process)
    os.kill(process.pid, number)
    done = mpi_run.finish(process, 60)
    assert done.code == 128 + number
    assert "Traceback" not in done.text
    assert "the records go to r.jsonl, the report to r.html" in done.text
    found = read_results(tmp_path / "r.jsonl")
    assert len(found.measurements) >= 6
    assert [run.run for run in found.interrupted] == [found.runs[0].run]
    assert left(tmp_path) == []
    assert not mpi_run.members(process)
    check_interrupted_report(tmp_path, "Ctrl-C" if number == signal.SIGINT else "SIGTERM", done.text)


def check_interrupted_report(directory, by, said):
    """The report is there, and begins with what interrupted the run and what is missing; the command says the same."""
    [line] = read_results(directory / "r.jsonl").interrupted_words()
    assert re.search(rf"was interrupted by {by}\. Missing: \d+ of \d+ measurements \(\d+ of \d+ on 2 ranks\)\.$", line)
    assert line in said
    header = (directory / "r.html").read_text().partition("<header>")[2]
    assert header.partition("</h1>")[2].lstrip().startswith(f'<p class="warning">{line}</p>')


def test_a_second_signal_at_once_is_the_same_request(tmp_path):
    """timeout(1) sends its signal twice."""
    process = mpi_run.start(command(*LONG), tmp_path)
    wait_for(tmp_path / "r.jsonl", 8, process)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    done = mpi_run.finish(process, 60)
    assert "Traceback" not in done.text
    assert left(tmp_path) == []
    assert not mpi_run.members(process)
    check_interrupted_report(tmp_path, "Ctrl-C", done.text)


def test_a_job_of_mpi_that_is_ended_leaves_a_report(tmp_path):
    process = mpi_run.start([*mpi_run.mpiexec(2), *command(*LONG)], tmp_path)
    wait_for(tmp_path / "r.jsonl", 8, process)
    for number in mpi_run.rank_processes(process):  # as a scheduler does at the end of the time
        os.kill(number, signal.SIGTERM)
    done = mpi_run.finish(process, 60)
    assert done.code != 0
    assert "Traceback" not in done.text
    assert left(tmp_path) == []
    check_interrupted_report(tmp_path, "SIGTERM", done.text)


def test_killed_and_run_again(tmp_path):
    process = mpi_run.start(command(*LONG), tmp_path)
    wait_for(tmp_path / "r.jsonl", 8, process)
    process.kill()
    process.communicate(timeout=240)
    assert read_results(tmp_path / "r.jsonl").interrupted
    assert len(left(tmp_path)) == 1
    until = time.monotonic() + 240
    while mpi_run.members(process):  # ranks end with their launcher
        assert time.monotonic() < until
        time.sleep(0.1)
    bench(tmp_path, *SMALL, "--ranks", "1", "--engine", "raw", "--append")
    assert left(tmp_path) == []
    found = read_results(tmp_path / "r.jsonl")
    assert len(found.runs) == 2
    assert len(found.interrupted) == 1


def test_a_dead_rank_is_a_failed_cell_and_the_rest_goes_on(tmp_path):
    words = (
        "--global",
        "20,18,16",
        "--rounds",
        "3",
        "--ranks",
        "2",
        "-o",
        "r.jsonl",
        "--engine",
        "raw",
        "--engine",
        "hdf5",
    )
    process = mpi_run.start(command(*words), tmp_path)
    wait_for(tmp_path / "r.jsonl", 4, process)
    os.kill(ranks_of(process)[-1], signal.SIGKILL)
    done = mpi_run.finish(process, 200)
    assert done.code == 1, done.text
    found = read_results(tmp_path / "r.jsonl")
    [failure] = found.failures
    assert "signal 9" in failure.error or "ended with code" in failure.error
    whole = {one.cell.name for one in summarise(found.measurements) if len(one.rounds) == 3 and one.cell.role == "way"}
    assert len({"raw", "hdf5"} - {failure.cell.name} & whole) >= 1
    assert not found.interrupted
    assert left(tmp_path) == []


def test_full_disk(tmp_path, small_disk):
    disk = small_disk("3m")
    done = bench(
        tmp_path, "--directory", f"small={disk}", "--directory", f"large={tmp_path}", "--global", "64,64,64", "--ranks",
        "1", "--rounds", "2", "-o", "r.jsonl", "--engine", "raw", "--engine", "sion", code=1,
    )  # fmt: skip
    found = read_results(tmp_path / "r.jsonl")
    assert {one.cell.directory for one in found.failures} == {"small"}
    assert all("are free in the directory, and" in one.error or "space" in one.error for one in found.failures)
    whole = [one for one in summarise(found.measurements) if one.cell.directory == "large" and one.cell.role == "way"]
    assert {(one.cell.name, len(one.rounds)) for one in whole} == {("raw", 2), ("sion", 2)}
    assert "failure" in done.text
    assert left(tmp_path) == left(disk) == []


def test_an_engine_that_hangs_is_ended(tmp_path):
    """A file in the way of a rank of the job that stops itself."""
    words = ("--global", "8,8,8", "--rounds", "500", "--ranks", "2", "-o", "r.jsonl", "--engine", "raw", "--limit", "3")
    process = mpi_run.start(command(*words), tmp_path)
    wait_for(tmp_path / "r.jsonl", 6, process)
    os.kill(ranks_of(process)[-1], signal.SIGSTOP)
    until = time.monotonic() + 240
    while '"failure"' not in (tmp_path / "r.jsonl").read_text():
        assert time.monotonic() < until
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGTERM)
    mpi_run.finish(process, 60)
    assert "the ranks hang: nothing happened for 3 s" in read_results(tmp_path / "r.jsonl").failures[0].error
    assert left(tmp_path) == []
    assert not mpi_run.members(process)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "hdf6"], "--engine hdf6: expected one of"),
        (["--engine", "raw,node"], "'node' is no parameter; expected KEY=VALUE"),
        (["--ranks", "two"], "--ranks two: expected numbers as 1,2,4"),
        (["--global", "10,10"], "10,10: expected three numbers"),
        (["--global", "2,2,1", "--ranks", "2", "--decomposition", "slabs"], "every part needs a point"),
        (["--decomposition", "1,1,3", "--ranks", "2"], "expected one for each of 2 ranks"),
        (["--operations", "delete"], "'delete' is not known; expected some of read, write"),
        (["--operations", "read", "--caches", "synced"], "leave nothing to measure"),
        (["--directory", "nowhere"], "--directory nowhere: is no directory"),
        (["--from", "nothing.h5"], "nothing.h5"),
        (["--from", "nothing.h5", "--local", "8,8,8"], "--local: the file of --from has its own"),
        (["--precision", "float16"], "expected float64 or float32"),
    ],
)
def test_wrong_words(tmp_path, words, said):
    done = bench(tmp_path, *words, "-o", "r.jsonl", code=2)
    assert said in done.text
    assert list(tmp_path.iterdir()) == []


def test_results_are_not_overwritten(tmp_path):
    (tmp_path / "r.jsonl").write_text("mine")
    done = bench(tmp_path, *SMALL, code=2)
    assert "r.jsonl" in done.text
    assert (tmp_path / "r.jsonl").read_text() == "mine"


def test_a_parameter_that_the_engine_does_not_know_is_a_failed_cell(tmp_path):
    bench(tmp_path, *SMALL, "--ranks", "1", "--engine", "raw,colour=red", "--engine", "raw", code=1)
    found = read_results(tmp_path / "r.jsonl")
    assert {one.cell.name for one in found.failures} == {"raw,colour=red"}
    assert "colour" in found.failures[0].error
    assert json.dumps(found.failures[0].to_json())
    assert any(one.cell.name == "raw" for one in found.measurements)
