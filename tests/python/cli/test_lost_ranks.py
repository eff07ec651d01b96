"""A job that has lost a rank, and whose mpiexec does not end it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tailrace import processes
from tailrace.cli.ranks import beside, launch, lost_ranks
from tailrace.cli.ranks.launcher import Launcher
from tailrace.processes import Process

MPIEXEC, FIRST, SECOND, CHILD = 3, 5, 6, 7
# It takes no request to end, and starts two ranks, which do nothing.
NEVER_ENDS = (
    f'trap "" TERM; for rank in 0 1; do {sys.executable} -S -c "import time; time.sleep(1000)" & done; wait; cat'
)


@pytest.fixture
def killed(monkeypatch):
    """As soon as both ranks are seen, one is killed; returns a list of those that were there."""
    there, look = [], lost_ranks._ranks_of

    def see_and_kill(number):
        found = look(number)
        if len(found) == 2 and not there:
            there.extend(found)
            os.kill(found[0].number, signal.SIGKILL)
        return found

    monkeypatch.setattr(lost_ranks, "_ranks_of", see_and_kill)
    monkeypatch.setattr(lost_ranks, "_PATIENCE", 0.2)
    monkeypatch.setattr(lost_ranks, "_PAUSE", 0.05)
    for module in (launch, beside):
        monkeypatch.setattr(module, "_GRACE", 0.3)
    return there


@pytest.fixture
def mpiexec(monkeypatch):
    """A pipe that keeps the launcher: mpiexec(command) is what `launch.job` gives."""
    reading, writing = os.pipe()
    start = subprocess.Popen

    def begin(command, **options):
        return start(command, **{**options, "stdin": reading})

    monkeypatch.setattr(subprocess, "Popen", begin)
    yield launch.LaunchCommand(["sh", "-c", NEVER_ENDS], dict(os.environ), Launcher(("it",), "open mpi"))
    os.close(reading)
    os.close(writing)


def all_gone(there):
    """After a moment, in which the system ends them."""
    end = time.monotonic() + 240
    while any(processes.find(one.number) for one in there) and time.monotonic() < end:
        time.sleep(0.01)
    return len(there) == 2 and time.monotonic() < end


def test_an_mpiexec_that_does_not_end_is_ended(killed, mpiexec, capfd):
    assert launch._supervise(mpiexec, 2, stops_itself=True) == launch.LOST
    said = capfd.readouterr().err
    assert f"rank process {killed[0].number} has ended, and mpiexec has not ended the job" in said
    assert all_gone(killed)


@pytest.mark.parametrize("stuck", ["simulation", "analysis"])
def test_beside_one_job_that_does_not_end(killed, mpiexec, capfd, monkeypatch, tmp_path, stuck):
    def job(ranks, arguments, **_):
        if arguments[0] == stuck:
            return mpiexec
        return mpiexec._replace(words=[sys.executable, "-S", "-c", "import time; time.sleep(1)"])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "job", job)
    assert beside.start(["simulation"], 2, ["analysis"], 2) == 1
    said = capfd.readouterr().err
    assert f"mpiexec has not ended the job for 0.2 s, and the {stuck} is stopped" in said
    assert all_gone(killed)


@pytest.fixture
def watch(monkeypatch):
    """Whether a job on three ranks is stuck after some seconds: watch(seconds, processes...)."""
    now, there, waits = [0.0], {}, [False]
    monkeypatch.setattr(lost_ranks.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(processes, "family", lambda number: list(there.values()))
    monkeypatch.setattr(processes, "find", lambda number: there.get(number))
    monkeypatch.setattr(lost_ranks, "_output_waits", lambda: waits[0])
    monkeypatch.setattr(
        Process, "program", property(lambda one: "mpiexec" if one.number == MPIEXEC else sys.executable)
    )
    job = lost_ranks.LostRanks(MPIEXEC, 3)

    def ask(seconds, *found, waiting=False):
        there.clear()
        there.update((one.number, one) for one in found)
        waits[0] = waiting
        now[0] += seconds
        return job.stuck()

    return ask


def one(number, parent=MPIEXEC, begun=0, state="S"):
    return Process(number, parent, state, 7, begun)


ALL = (one(MPIEXEC, 1), one(FIRST), one(SECOND))


def test_a_job_with_all_its_ranks_is_left_alone(watch):
    """Those that are on another machine are never seen."""
    for _ in range(5):
        assert watch(1000, *ALL) == ""


@pytest.mark.parametrize("left", [ALL[:2], ALL[:1], (*ALL[:2], one(SECOND, begun=9))])
def test_a_job_that_has_lost_a_rank_is_stuck_after_a_while(watch, left):
    assert watch(2, *ALL) == ""
    assert watch(lost_ranks._PATIENCE, *left) == ""
    assert "has ended, and mpiexec has not ended the job for 30 s" in watch(2, *left)


def test_what_a_rank_has_started_may_end(watch):
    assert watch(2, *ALL, one(CHILD, FIRST)) == ""
    for _ in range(5):
        assert watch(1000, *ALL) == ""


def test_an_mpiexec_that_cannot_end_the_job_now(watch):
    """It is stopped by a signal, or waits until its output is taken, as by a pager."""
    assert watch(2, *ALL) == ""
    for _ in range(5):
        assert watch(1000, one(MPIEXEC, 1, state="T"), one(FIRST)) == ""
        assert watch(1000, *ALL[:1], waiting=True) == ""
    assert watch(lost_ranks._PATIENCE + 1, *ALL[:1]) != ""


def test_one_rank_has_no_mpiexec(monkeypatch):
    monkeypatch.setattr(processes, "family", lambda number: pytest.fail("there is nothing to watch"))
    monkeypatch.setattr(lost_ranks, "_PAUSE", 0.0)
    assert lost_ranks.LostRanks(os.getpid(), 1).stuck() == ""


def test_an_output_that_nobody_takes(capfd):
    """In a child, whose output is a pipe."""
    program = """if True:
        import os
        from tailrace.cli.ranks import lost_ranks
        before = lost_ranks._output_waits()
        os.set_blocking(1, False)
        try:
            while os.write(1, b"x" * 4096):
                pass
        except BlockingIOError:
            os._exit(0 if (before, lost_ranks._output_waits()) == (False, True) else 1)
    """
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.wait(60) == 0
