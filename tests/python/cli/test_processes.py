"""Processes of this machine, and whether a job makes progress."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from tailrace import processes
from tailrace.cli.ranks import beside, launch
from tailrace.processes import Process

RANK, OTHER = 5, 6


@pytest.fixture
def child():
    """A process with a child of its own."""
    found = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"], start_new_session=True)
    yield found
    os.killpg(found.pid, signal.SIGKILL)
    found.wait(60)


def until(condition, limit=60):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_process_with_its_descendants(child):
    # A child that was just made has its parent's program until it begins its own.
    until(lambda: [one.program for one in processes.family(child.pid)] == ["sh", "sleep"])
    first, second = processes.family(child.pid)
    assert (first.number, second.parent, first.parent) == (child.pid, child.pid, os.getpid())
    os.kill(second.number, signal.SIGSTOP)
    until(lambda: processes.find(second.number).state == "T")
    assert processes.find(os.getpid()).state in "RS"
    os.kill(second.number, signal.SIGKILL)
    until(lambda: processes.find(second.number) is None)
    assert processes.family(2**30) == []


def test_the_signals_that_a_process_takes():
    former = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        this = processes.find(os.getpid())
        assert this.ignores(signal.SIGUSR1) and not this.takes(signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda *_: None)
        assert this.takes(signal.SIGUSR1) and not this.ignores(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_a_request_waits_for_ranks_that_are_seen_and_not_for_others(monkeypatch):
    sent, now, taking, starting = [], [0.0], [False], [False]
    monkeypatch.setattr(launch.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(launch.processes, "family", lambda number: [process(), process(number=OTHER)])
    monkeypatch.setattr(Process, "takes", lambda one, number: taking[0] and one.number == OTHER)
    monkeypatch.setattr(Process, "ignores", lambda one, number: starting[0] and one.number == OTHER)
    request = launch.LaunchRequest(SimpleNamespace(pid=RANK, send_signal=sent.append), signal.SIGUSR1)

    def sent_after(seconds):
        now[0] += seconds
        request.make()
        return len(sent)

    now[0] = 1.0
    starting[0] = True
    assert sent_after(0) == sent_after(1000) == 0, "a rank that reads a large checkpoint"
    starting[0] = False
    assert sent_after(1) == sent_after(1000) == 1, "ranks on other machines"
    taking[0] = True
    assert sent_after(1) == sent_after(1000) == 2, "one that came into sight"


@pytest.fixture
def watch(monkeypatch):
    """Asks a watch over `ranks` ranks after some seconds: watch(seconds, processes...)."""
    now, there = [0.0], []
    monkeypatch.setattr(beside.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(beside.processes, "family", lambda number: there)
    monkeypatch.setattr(Process, "program", property(lambda one: sys.executable if one.number == RANK else "other"))
    watches = {}

    def ask(seconds, *found, ranks=1):
        there[:] = found
        now[0] += seconds
        return watches.setdefault(ranks, beside._Watch(RANK, ranks)).stands_still()

    return ask


def process(state="S", ticks=7, number=RANK):
    return Process(number, 1, state, ticks, 0)


def test_a_job_that_works_or_waits_is_left_alone(watch):
    for ticks in range(1000):
        assert watch(beside._IDLE / 2, process(ticks=ticks)) == ""
    assert watch(beside._IDLE - 1, process(ticks=999)) == "", "it may wait for something"
    assert watch(2, process(ticks=1000)) == ""


def test_a_job_that_is_stopped_stands_still(watch):
    assert watch(1, process(), process("T", number=OTHER)) == ""
    assert watch(beside._STOPPED - 1, process(ticks=9), process("T", number=OTHER)) == ""
    assert watch(0.5, process(), process()) == "", "it was continued"
    assert watch(beside._STOPPED - 1, process(), process("T", number=OTHER)) == ""
    assert f"process {OTHER} of the analysis has been stopped" in watch(
        2, process(ticks=20), process("T", number=OTHER)
    )


def test_a_job_without_any_processor_time_stands_still(watch):
    assert watch(1, process()) == ""
    assert "no processor time for 600 s" in watch(beside._IDLE + 1, process())


def test_a_job_with_ranks_elsewhere_may_work_there(watch):
    assert watch(1, process(), ranks=2) == ""
    assert watch(10 * beside._IDLE, process(), ranks=2) == ""


def test_a_signal_never_goes_to_a_later_process_of_the_same_number(child, monkeypatch):
    known = processes.find(child.pid)
    sent = []
    with monkeypatch.context() as patch:
        patch.setattr(processes.os, "kill", lambda *words: sent.append(words))
        gone = [known._replace(begun=known.begun - 1), known._replace(number=2**30)]
        processes.signal_all([*gone, known], signal.SIGCONT)
    assert sent == [(child.pid, signal.SIGCONT)]
