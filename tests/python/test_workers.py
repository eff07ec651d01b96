"""The ranks that most tests of several ranks call: answers arrive for every output and every kind of end."""

import os
import signal
import time

import pytest

from helpers.harness.workers import CrashError, Workers

MODULE = "test_workers"


def chatter(comm):
    """A line without an end on both outputs, as a library may leave one behind."""
    for descriptor in (1, 2):
        os.write(descriptor, b"no end of line")
    return "x" * 100_000


def end_rank(comm, rank):
    if comm.rank == rank:
        print("its last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def sleep(comm):
    time.sleep(600)


def test_what_ranks_print_stays_out_of_their_answers():
    with Workers(2, MODULE) as ranks:
        for _ in range(3):
            assert ranks.results("chatter") == ["x" * 100_000] * 2
        assert ranks.starts == 1


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_end_are_reported_and_come_back(rank):
    with Workers(2, MODULE) as ranks:
        with pytest.raises(CrashError, match=r"(?s)ranks ended, code .*its last words"):
            ranks.run("end_rank", rank=rank)
        assert len(ranks.run("chatter")) == 2
        assert ranks.starts == 2


def test_ranks_that_hang_are_killed():
    with Workers(1, MODULE) as ranks:
        with pytest.raises(CrashError, match="no answer in 1 s"):
            ranks.run("sleep", limit=1)
        assert len(ranks.run("chatter")) == 1


def test_ranks_that_cannot_start_say_why():
    with Workers(1, "no_such_module") as ranks, pytest.raises(CrashError, match=r"(?s)did not start.*no_such_module"):
        ranks.run("chatter")
