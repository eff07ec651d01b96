"""Requests to stop a run: all ranks leave after the same step, whichever of them was asked."""

import os
import signal
import subprocess
import sys

import pytest
from mpi4py import MPI

from helpers.inputs import cases
from helpers.programs import stop_programs
from tailrace.simulation.stop import STOPPED, EarlyRequest, StopRequest


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda one: one.name)
def test_a_signal_to_one_rank_stops_all(three, rank, number):
    assert three.results(stop_programs.asked, rank=rank, number=int(number)) == 3 * [[False, True]]


def test_signals_mean_what_they_did_before():
    """After a run, Ctrl-C is again that of the program around it."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        with StopRequest():
            assert not any(signal.getsignal(number) == handler for number, handler in before.items())
        assert {number: signal.getsignal(number) for number in numbers} == before
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("asked", [False, True])
def test_a_request_before_the_run_is_not_lost(asked):
    former = signal.getsignal(signal.SIGUSR1)
    try:
        EarlyRequest().enter()
        if asked:
            os.kill(os.getpid(), signal.SIGUSR1)
        with StopRequest() as stop:
            assert stop.agreed(MPI.COMM_SELF) == asked
        os.kill(os.getpid(), signal.SIGUSR1)  # after the run it means nothing
    finally:
        signal.signal(signal.SIGUSR1, former)


START = """
import os, signal, sys
from tailrace.cli.main import main
from tailrace.simulation import session
open_recorder = session.Recorder
def recorder(*given, **named):  # the table is there, and no handler of the run
    made = open_recorder(*given, **named)
    os.kill(os.getpid(), signal.SIGUSR1)
    return made
session.Recorder = recorder
sys.argv = ["tailrace", "run", "case.toml"]
main()
"""


def test_a_request_during_the_start_stops_the_run_after_its_first_step(tmp_path):
    cases.write_case(tmp_path, steps=500, every=500, diagnostics=1)
    done = subprocess.run([sys.executable, "-c", START], cwd=tmp_path, timeout=240, capture_output=True, text=True)
    assert done.returncode == STOPPED, done.stderr
    assert cases.checkpoints(tmp_path) == [1]
