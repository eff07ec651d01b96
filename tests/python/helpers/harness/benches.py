"""What the tests of `tailrace bench` share: they start it as users do, and look at what it leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from helpers.harness import mpi_run
from tailrace.bench.records.records import Failure
from tailrace.bench.records.results import read_results


def start(directory: Path, *words: object) -> subprocess.Popen[str]:
    """Start `tailrace bench WORDS -o r.jsonl`."""
    command = [sys.executable, "-m", "tailrace.cli", "bench", *words, "-o", "r.jsonl"]
    return mpi_run.start(command, directory)


def bench(directory: Path, *words: object, code: int = 0, limit: float = 240) -> mpi_run.Result:
    """Run it to its end, which must be `code`."""
    done = mpi_run.finish(start(directory, *words), limit)
    assert done.code == code, done.text
    return done


def left(directory: Path) -> list[str]:
    """The directories that it has not removed."""
    return sorted(path.name for path in directory.glob("tailrace-bench-*"))


def wait_for_lines(directory: Path, count: int, process: subprocess.Popen[str], limit: float = 120) -> None:
    """Until the file of results has so many lines."""
    path = directory / "r.jsonl"
    _wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, process, limit)


def wait_for_failures(directory: Path, process: subprocess.Popen[str], limit: float = 120) -> list[Failure]:
    """Until the file of results has a failure; a busy machine may measure for a while before a killed rank is seen."""
    path = directory / "r.jsonl"
    _wait_until(lambda: bool(read_results(path).failures), process, limit)
    return read_results(path).failures


def _wait_until(there: Callable[[], bool], process: subprocess.Popen[str], limit: float) -> None:
    until = time.monotonic() + limit
    while not there():
        assert process.poll() is None, "the benchmark has ended too early"
        assert time.monotonic() < until
        time.sleep(0.02)


def ranks_of(process: subprocess.Popen[str]) -> list[int]:
    """The process numbers of all ranks, in order of their start."""
    return mpi_run.rank_processes(process, "bench ranks")


def assert_nobody_left(process: subprocess.Popen[str], limit: float = 30) -> None:
    """Nothing of it runs any more, at the latest after some seconds: ranks end after their launcher."""
    until = time.monotonic() + limit
    while there := mpi_run.members(process):
        assert time.monotonic() < until, there
        time.sleep(0.1)
