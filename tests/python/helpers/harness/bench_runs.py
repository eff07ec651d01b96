"""`tailrace bench` as users run it, and what it leaves."""

import os
import signal
import sys
import time
from dataclasses import replace

from mpi4py import MPI

from helpers.harness import mpi_run
from tailrace.bench.ranks.description import describe
from tailrace.bench.ranks.driver import Driver
from tailrace.bench.ranks.driver import run_here as measure
from tailrace.bench.records.results import BenchResults, ResultFile, read_results
from tailrace.bench.records.summary import Summary, summarise

FILE = "r.jsonl"


def command(*words):
    return [sys.executable, "-m", "tailrace.cli", "bench", *map(str, words), "-o", FILE]


def run(directory, *words, code=0, limit=250) -> BenchResults:
    """Run a benchmark to its end; what it has stored. It must leave nothing else."""
    done = mpi_run.finish(mpi_run.start(command(*words), directory), limit)
    assert done.code == code, done.text
    found = read_results(directory / FILE)
    assert not found.interrupted
    assert not list(directory.glob("tailrace-bench-*"))
    return found


def run_here(directory, bench) -> BenchResults:
    """Measure all jobs of a bench on this process alone, without a command; what they have stored."""
    with ResultFile(directory / FILE) as file:
        file.add(replace(describe({"here": directory}, 1), run="one"))
        driver = Driver(file, "one", 60)
        for job in bench.jobs({"here": directory}):
            measure(job, MPI.COMM_SELF, driver.take)
    return read_results(directory / FILE)


def refused(directory, *words) -> str:
    """Run a benchmark whose words are wrong; what it says. It must not begin."""
    done = mpi_run.finish(mpi_run.start(command(*words), directory), 60)
    assert done.code == 2, done.text
    assert not list(directory.iterdir())
    return done.text


def interrupted(directory, *words, records=2, limit=200) -> BenchResults:
    """Interrupt a benchmark when it has stored so many records; what it has stored by then."""
    process = mpi_run.start(command(*words), directory)
    path, until = directory / FILE, time.monotonic() + limit
    while not path.exists() or path.read_bytes().count(b"\n") <= records:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    done = mpi_run.finish(process, 60)
    assert done.code == 128 + signal.SIGTERM, done.text
    found = read_results(path)
    assert [one.run for one in found.interrupted] == [found.runs[0].run]
    assert len(found.measurements) >= records
    assert not list(directory.glob("tailrace-bench-*"))
    assert not mpi_run.members(process)
    [line] = found.interrupted_words()
    assert "interrupted by SIGTERM. Missing: " in line
    assert line in done.text
    assert line in path.with_suffix(".html").read_text()
    return found


def cells(found: BenchResults, role: str = "way") -> list[Summary]:
    """The cells of ways or limits; each has all its rounds, and times that can be."""
    chosen = [one for one in summarise(found.measurements) if one.cell.role == role]
    for one in chosen:
        assert [m.round for m in one.rounds] == list(range(1, len(one.rounds) + 1)), one.cell
        for m in one.rounds:
            assert m.seconds > 0, m
            assert m.verified is None
    return chosen
