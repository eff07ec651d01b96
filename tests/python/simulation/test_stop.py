"""Requests to stop a run: all ranks leave after the same step, whichever of them was asked."""

import signal

import pytest

from helpers.programs import stop_programs
from tailrace.simulation.stop import StopRequest


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
