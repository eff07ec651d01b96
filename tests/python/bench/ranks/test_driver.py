"""Jobs that have to be ended."""

import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from types import SimpleNamespace

import pytest

from helpers.inputs import benchmarks
from tailrace.bench.ranks import driver as of_driver
from tailrace.bench.ranks.driver import Driver
from tailrace.bench.ranks.events import Begin, line_of
from tailrace.bench.ranks.job import Job
from tailrace.bench.ranks.session import BenchSession
from tailrace.bench.records.results import ResultFile, read_results

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


@pytest.fixture
def signals():
    """The handlers of signals are the former ones after the test."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_a_signal_while_a_job_starts_ends_the_job(tmp_path, kept):
    """Its process is known only when it has been started."""
    jobs = []

    def start(ranks, words):
        os.kill(os.getpid(), signal.SIGTERM)
        jobs.append(kept("sleep", "60", cwd=tmp_path))
        return jobs[0]

    with (
        pytest.raises(SystemExit) as ended,
        BenchSession({"here": tmp_path}, tmp_path / "r.jsonl") as session,
    ):
        session.run(Job(1, SimpleNamespace(tasks=1), session.directories), start)
    assert ended.value.code == 128 + signal.SIGTERM
    assert jobs[0].poll() is not None
    assert read_results(tmp_path / "r.jsonl").interruptions
