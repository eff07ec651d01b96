"""Requests to stop a run: all ranks leave after the same step, whichever of them was asked."""

import signal

import pytest

from helpers.workers import Workers


@pytest.fixture(scope="module")
def ranks():
    with Workers(3, "helpers.stop_programs") as found:
        yield found


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda one: one.name)
def test_a_signal_to_one_rank_stops_all(ranks, rank, number):
    assert ranks.results("asked", rank=rank, number=int(number)) == 3 * [[False, True]]
