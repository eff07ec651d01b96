"""The command under MPI: how its ranks are started, and how they end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import types
from pathlib import Path

import pytest

from tailrace.cli import main as cli
from tailrace.cli.ranks import launch, launcher
from tailrace.cli.ranks.launcher import Launcher

PACKAGES = str(Path(cli.__file__).parents[2])

pytestmark = pytest.mark.usefixtures("outside_mpi")


@pytest.fixture
def case_file(tmp_path):
    cli.new("tgv", tmp_path / "tgv.toml")
    return tmp_path / "tgv.toml"


def test_inside_mpi_nothing_is_started_twice(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "4")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started MPI inside MPI"))
    assert launch.start(4, ["run"]) is None
    with pytest.raises(launcher.LaunchError, match="4 ranks are started already, and -n asks for 2"):
        launch.start(2, ["run"])


def test_one_rank_needs_no_launcher(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("one rank needs no mpiexec"))
    assert launch.start(1, ["run"]) is None


class Job:
    """A job that notes the signals that it gets."""

    pid = os.getpid()

    def __init__(self):
        self.signals = []

    def send_signal(self, number):
        self.signals.append(number)


def test_a_request_is_sent_once():
    """After it, the ranks no longer take signals when they have ended their steps, and would die of a second one."""
    job = Job()
    request = launch.LaunchRequest(job, signal.SIGTERM)
    for _ in range(3):
        request.make()
    assert job.signals == [signal.SIGTERM]


def test_no_mpiexec_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TAILRACE_MPIEXEC", raising=False)
    with pytest.raises(launcher.LaunchError, match="neither is on the PATH"):
        launch.start(2, ["run"])
    monkeypatch.setenv("TAILRACE_MPIEXEC", "/nowhere/mpiexec")
    with pytest.raises(launcher.LaunchError, match="/nowhere/mpiexec does not start"):
        launch.start(2, ["run"])


@pytest.mark.parametrize(
    ("open_mpi", "ranks", "scheduler", "oversubscribe"),
    [(True, 2, False, False), (True, 3, False, True), (True, 3, True, False), (False, 3, False, False)],
)
def test_the_command_line(monkeypatch, open_mpi, ranks, scheduler, oversubscribe):
    for name in launcher._SCHEDULERS:
        monkeypatch.delenv(name, raising=False)
    if scheduler:
        monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setattr("tailrace.cli.ranks.launcher.physical_cores", lambda: 2)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    kind = "open mpi" if open_mpi else "mpich"
    command, environment = Launcher(("mpiexec",), kind).command(ranks, ["run", "a.toml"])
    assert ("--oversubscribe" in command) == oversubscribe
    assert command[:3] == ["mpiexec", "-n", str(ranks)]
    assert command[-5:] == [sys.executable, "-m", "tailrace.cli", "run", "a.toml"]
    assert (environment.get("OMPI_ALLOW_RUN_AS_ROOT") == "1") == open_mpi


@pytest.mark.parametrize(("given", "found"), [({}, "epoll"), ({"OMPI_MCA_opal_event_include": "poll"}, "poll")])
def test_how_ranks_of_open_mpi_wait(monkeypatch, given, found):
    """With poll they would look at each connection of a stranger, again and again; the setting of the user stays."""
    monkeypatch.delenv("OMPI_MCA_opal_event_include", raising=False)
    command, environment = Launcher(("mpiexec",), "open mpi").command(2, ["run"])
    assert "OMPI_MCA_opal_event_include" not in environment, "mpiexec itself may have a file, which epoll refuses"
    rank = command[command.index("sh") : command.index(sys.executable)]
    env = {"PATH": os.environ["PATH"], **given}
    told = subprocess.run([*rank, "env"], env=env, capture_output=True, text=True, timeout=240, check=True).stdout
    assert f"OMPI_MCA_opal_event_include={found}\n" in told
    assert "sh" not in Launcher(("mpiexec",), "mpich").command(2, ["run"])[0]


FAKE_SOLVER = """
import os, sys, types

def run(case, resume, change, overwrite, live):
    from mpi4py import MPI

    rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    MPI.COMM_WORLD.Barrier()
    {body}
    return 0

module = types.ModuleType("tailrace.simulation.simulation")
module.run = run
sys.modules["tailrace.simulation.simulation"] = module
from tailrace.cli.main import main
from tailrace.cli.ranks.started import rank
sys.argv[0] = "tailrace"
if str(rank()) == os.environ.get("BLIND_RANK"):
    sys.argv[2] = "not-there.toml"
main()
"""


@pytest.fixture
def parallel(tmp_path, case_file, monkeypatch):
    """Run the command on three ranks with a solver made of a few lines."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if not shutil.which("mpiexec"):
        pytest.skip("there is no mpiexec on the PATH")

    def begin(body, *options, first="pass"):
        script = tmp_path / "fake.py"
        script.write_text(FAKE_SOLVER.format(body=textwrap.indent(textwrap.dedent(body), "    ").strip()))
        # The command starts `python -m tailrace.cli`; here `python` is a program that runs the script instead.
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "{script}" "$@"\n')
        python.chmod(0o755)
        start = f"import sys; {first}; sys.executable = {str(python)!r}; from tailrace.cli.main import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", start, "run", str(case_file), "-n", "3", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": PACKAGES},
        )

    return begin


def finish(process):
    out, err = process.communicate(timeout=240)
    return types.SimpleNamespace(returncode=process.returncode, stdout=out, stderr=err)


def test_ranks_are_started_with_all_options(parallel):
    tell = 'print(f"{rank}/{size} {case.time.dt} {resume}", flush=True)'
    result = finish(parallel(tell, "--resume", "--set", "time.dt=0.25"))
    told = re.findall(r"\d/\d [\d.]+ (?:True|False)", result.stdout)  # mpiexec may join the lines of ranks
    assert sorted(told) == [f"{r}/3 0.25 True" for r in range(3)], result.stdout
    assert result.returncode == 0, result.stderr


def test_warnings_come_once(parallel):
    result = finish(parallel("pass", "--set", "output[0].interval=1000"))
    assert result.stderr.count("interval = 1000 is more than the run's 20") == 1


def test_an_error_of_all_ranks_is_reported_once(parallel):
    result = finish(parallel('raise RuntimeError("the disk is full")'))
    assert result.returncode == 1
    assert result.stderr.count("tailrace: the disk is full") == 1
    assert "Traceback" not in result.stderr


def test_an_error_of_one_rank_leaves_no_rank_waiting(parallel):
    result = finish(
        parallel(
            """
        if rank == 1:
            raise RuntimeError("only here")
        MPI.COMM_WORLD.recv(source=MPI.ANY_SOURCE)
        """
        )
    )
    assert result.returncode == 1
    assert "[rank 1] tailrace: only here" in result.stderr


def test_a_case_that_one_rank_cannot_read_is_reported(parallel, monkeypatch):
    monkeypatch.setenv("BLIND_RANK", "2")
    result = finish(parallel("MPI.COMM_WORLD.recv(source=MPI.ANY_SOURCE)"))
    assert result.returncode == 2
    assert "[rank 2] tailrace: not-there.toml: there is no such file" in result.stderr


def test_a_wrong_case_is_reported_before_mpi_starts(parallel):
    result = finish(parallel("pass", "--set", "time.dt=-1"))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1, "one line, and none from mpiexec"


def test_exit_code_of_the_ranks(parallel):
    assert finish(parallel("sys.exit(7)")).returncode == 7


WAIT_TO_BE_ASKED = """
import pathlib, signal, time
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append("asked"))
signal.signal(signal.SIGTERM, lambda *_: asked.append("asked"))
pathlib.Path(f"up{rank}").touch()
end = time.monotonic() + 240
while not asked and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(2.5)
print(f"rank {rank} was {asked[:1]} and had its time", flush=True)
return 3
"""


def wait_for(condition, what):
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about in a minute"
        time.sleep(0.05)


def test_a_request_to_stop_leaves_the_ranks_their_time(parallel, tmp_path):
    process = parallel(WAIT_TO_BE_ASKED)
    wait_for(lambda: len(list(tmp_path.glob("up*"))) == 3, "the start of three ranks")
    process.terminate()
    result = finish(process)
    assert result.stdout.count("was ['asked'] and had its time") == 3, result
    assert result.returncode == 3


LATE = """
import pathlib, signal, time
asked = []
if rank:
    time.sleep(4)
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
pathlib.Path(f"up{rank}").touch()
end = time.monotonic() + 240
while rank == 0 and not asked and time.monotonic() < end:
    time.sleep(0.05)
return 3 + MPI.COMM_WORLD.allreduce(len(asked[:1]))
"""


def test_a_request_leaves_ranks_alone_that_do_not_take_it_yet(parallel, tmp_path):
    process = parallel(LATE)
    wait_for((tmp_path / "up0").exists, "the first rank")
    process.terminate()
    result = finish(process)
    assert result.returncode == 4, result


ALL_LATE = """
import pathlib, signal, time
from tailrace.simulation.stop import StopRequest
pathlib.Path(f"up{rank}").touch()
time.sleep(4)
end = time.monotonic() + 240
with StopRequest() as stop:
    while not (asked := stop.agreed(MPI.COMM_WORLD)) and not MPI.COMM_WORLD.allreduce(time.monotonic() > end):
        time.sleep(0.05)
return 3 if asked else 4
"""


def test_a_request_is_not_lost_while_all_ranks_are_busy(parallel, tmp_path):
    process = parallel(ALL_LATE, first="from tailrace.cli.ranks import launch; launch._UNSEEN = 0.2")
    wait_for(lambda: len(list(tmp_path.glob("up*"))) == 3, "the start of three ranks")
    process.terminate()
    result = finish(process)
    assert result.returncode == 3, result


def test_ranks_do_not_outlive_a_killed_parent(parallel, tmp_path):
    body = "import pathlib, time\npathlib.Path(f'up{rank}-{os.getpid()}').touch()\ntime.sleep(100)"
    process = parallel("import os\n" + body)
    wait_for(lambda: len(list(tmp_path.glob("up*"))) == 3, "the start of three ranks")
    pids = [int(path.name.split("-")[1]) for path in tmp_path.glob("up*")]
    process.kill()
    process.communicate(timeout=240)
    wait_for(lambda: not any(alive(pid) for pid in pids), "the end of the ranks")


def alive(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
