"""The ranks that most tests of several ranks call: answers arrive for every output and every kind of end."""

import signal

import pytest

from helpers.harness.workers import CrashError, Workers
from helpers.programs import ends_of_ranks, stop_programs


def test_what_ranks_print_stays_out_of_their_answers():
    with Workers(2) as ranks:
        for _ in range(3):
            assert ranks.results(ends_of_ranks.chatter) == ["x" * 100_000] * 2
        assert ranks.starts == 1


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_end_are_reported_and_come_back(rank):
    with Workers(2) as ranks:
        with pytest.raises(CrashError, match=r"(?s)ranks ended, code .*its last words"):
            ranks.run(ends_of_ranks.end_rank, rank=rank)
        assert len(ranks.run(ends_of_ranks.chatter)) == 2
        assert ranks.starts == 2


def test_ranks_that_hang_are_killed():
    with Workers(1) as ranks:
        with pytest.raises(CrashError, match="no answer in 1 s"):
            ranks.run(ends_of_ranks.sleep, limit=1)
        assert len(ranks.run(ends_of_ranks.chatter)) == 1


def test_ranks_that_cannot_start_say_why(monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/no/such/python")
    with Workers(1) as ranks, pytest.raises(CrashError, match=r"(?s)did not start.*/no/such/python"):
        ranks.run(ends_of_ranks.chatter)


def test_functions_of_any_module_run_on_the_same_ranks(monkeypatch):
    with Workers(2) as ranks:
        assert ranks.results(ends_of_ranks.chatter) == ["x" * 100_000] * 2
        assert ranks.results(stop_programs.asked, rank=0, number=int(signal.SIGTERM)) == [[False, True]] * 2
        monkeypatch.setattr(ends_of_ranks.chatter, "__module__", "no_such_module")
        assert [one.error for one in ranks.run(ends_of_ranks.chatter)] == ["ModuleNotFoundError"] * 2
        assert ranks.starts == 1
