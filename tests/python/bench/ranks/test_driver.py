"""Jobs that have to be ended."""

import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress

import pytest

from helpers.inputs import benchmarks
from tailrace.bench.ranks import driver as of_driver
from tailrace.bench.ranks.driver import Driver
from tailrace.bench.ranks.events import Begin, line_of
from tailrace.bench.ranks.job import Job
from tailrace.bench.records.results import ResultFile

# A launcher that takes no requests, with a rank that writes on.
STUBBORN = 'trap "" TERM; (while :; do date > data; sleep 0.02; done) & echo "$1"; wait'


@pytest.fixture
def kept():
    """Start a program in a group of its own, of which nothing is left after the test."""
    with ExitStack() as stack:

        def begin(*words, cwd):
            pipe = subprocess.PIPE
            process = subprocess.Popen(words, cwd=cwd, stdout=pipe, stderr=pipe, text=True, process_group=0)
            stack.enter_context(process.stdout)
            stack.enter_context(process.stderr)
            stack.callback(end, process)
            return process

        yield begin


def end(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def test_ranks_do_not_outlive_a_launcher_that_must_be_killed(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(of_driver, "_START", 0.5)
    monkeypatch.setattr(of_driver, "_PATIENCE", 0.5)
    begin = line_of(Begin(benchmarks.cell(), 1, 0, "raw"))
    scripts = [STUBBORN, "true"]

    def start(ranks, words):
        command = ["sh", "-c", scripts.pop(0), "sh", begin]
        return kept(*command, cwd=tmp_path)

    with ResultFile(tmp_path / "r.jsonl") as file:
        driver = Driver(file, "one", 0.5)
        driver.run(Job(1, None, {"here": tmp_path}), start)
    assert driver.failures == 1
    assert not scripts
    data = tmp_path / "data"
    assert data.exists()
    data.unlink()
    time.sleep(0.3)
    assert not data.exists()
