"""What starts the ranks: which launcher is taken, and how a rank knows that one has started it."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from helpers.harness import mpi_run
from helpers.harness import srun as stand_in
from tailrace.cli import main as cli
from tailrace.cli.ranks import launch, launcher, started
from tailrace.cli.ranks.launcher import Launcher

pytestmark = pytest.mark.usefixtures("outside_mpi")


@pytest.mark.parametrize(
    ("environment", "size", "rank"),
    [
        ({}, None, 0),
        ({"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3", "PMIX_RANK": "3"}, 8, 3),
        ({"PMI_SIZE": "8", "PMI_RANK": "3"}, 8, 3),  # MPICH's hydra, PALS, Flux, srun --mpi=pmi2
        ({"PMIX_RANK": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}, 8, 3),  # srun --mpi=pmix
        ({"PALS_RANKID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}, 8, 3),  # srun on a Cray
        ({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}, 2, 1),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}, None, 0),  # the script of a batch job
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}, None, 0),  # the shell of salloc
        ({"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}, None, 0),  # srun -n 1 --pty bash
        ({"PMI_SIZE": "1", "PMI_RANK": "0", "SLURM_STEP_NUM_TASKS": "1"}, None, 0),  # the same by --mpi=pmi2
        # mpiexec in a shell that srun has opened
        ({"PMIX_RANK": "2", "SLURM_STEP_NUM_TASKS": "4", "PMI_SIZE": "3", "PMI_RANK": "2"}, 3, 2),
    ],
)
def test_how_many_ranks_there_are(monkeypatch, environment, size, rank):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (started.size(), started.rank()) == (size, rank)


def test_ranks_of_srun_are_not_started_again(monkeypatch):
    monkeypatch.setenv("PALS_RANKID", "1")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started MPI inside MPI"))
    assert launch.start(4, ["run"]) is None
    with pytest.raises(launcher.LaunchError, match="4 ranks are started already, and -n asks for 2; leave -n out"):
        launch.start(2, ["run"])


def program(folder, name, text="#!/bin/sh\n"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(stat.S_IRWXU)
    return str(folder / name)


def test_which_launcher_is_taken(monkeypatch, tmp_path):
    monkeypatch.delenv("TAILRACE_MPIEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    srun = program(tmp_path / "bin", "srun")
    with pytest.raises(launcher.LaunchError, match="neither is on the PATH"):  # on a login node
        launcher.find()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert launcher.find() == Launcher((srun,), "srun")
    mpich = program(tmp_path / "bin", "mpiexec", "#!/bin/sh\necho HYDRA build details:\n")
    assert launcher.find() == Launcher((mpich,), "mpich")
    open_mpi = program(tmp_path / "a folder", "mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.3'\n")
    monkeypatch.setenv("TAILRACE_MPIEXEC", open_mpi)
    assert launcher.find() == Launcher((open_mpi,), "open mpi")
    monkeypatch.setenv("TAILRACE_MPIEXEC", "srun --hint=nomultithread --distribution='block:block'")
    found = launcher.find()
    assert found == Launcher(("srun", "--hint=nomultithread", "--distribution=block:block"), "srun")
    command, _ = found.command(8, ["run", "a.toml"])
    assert command[:5] == ["srun", "--hint=nomultithread", "--distribution=block:block", "-n", "8"]
    assert "--exact" not in command and "--exact" in found.command(8, ["run"], alone=False)[0]


def test_two_steps_of_slurm_share_the_memory_of_their_job():
    """A step takes all memory that the job has asked for, and the next one waits, unless each says 0."""
    command, _ = Launcher(("srun",), "srun").command(2, ["run"], alone=False)
    assert command[command.index("--exact") + 1] == "--mem=0"
    for words in (("srun", "--mem-per-cpu=500"), ("srun", "--mem", "2G")):
        command, _ = Launcher(words, "srun").command(2, ["run"], alone=False)
        assert "--mem=0" not in command, "as the user wants it"
    assert "--mem=0" not in Launcher(("srun",), "srun").command(2, ["run"])[0]


def test_two_jobs_of_one_allocation(monkeypatch):
    """They share each node, and the second one does not wait until the first has ended."""
    for name in [name for name in os.environ if "mapping_policy" in name]:
        monkeypatch.delenv(name)
    alone, _ = Launcher(("mpiexec",), "open mpi").command(2, ["run"])
    command, environment = Launcher(("mpiexec",), "open mpi").command(2, ["run"], alone=False)
    assert "--map-by" not in alone and command[command.index("--map-by") + 1] == "node"
    assert command[command.index("--rank-by") + 1] == "slot", "neighbours stay on a node"
    assert environment["SLURM_OVERLAP"] == "1"
    assert Launcher(("mpiexec",), "mpich").command(2, ["run"], alone=False)[1]["SLURM_OVERLAP"] == "1"
    placed, _ = Launcher(("mpiexec", "--map-by", "numa"), "open mpi").command(2, ["run"], alone=False)
    assert placed.count("--map-by") == 1, "as the user wants it"
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    assert "--map-by" not in Launcher(("mpiexec",), "open mpi").command(2, ["run"], alone=False)[0]


def test_the_mpich_of_intel_hands_signals_on(monkeypatch):
    name = "I_MPI_JOB_SIGNAL_PROPAGATION"
    monkeypatch.delenv(name, raising=False)
    assert Launcher(("mpiexec",), "mpich").command(2, ["run"])[1][name] == "enable"
    monkeypatch.setenv(name, "disable")
    assert Launcher(("mpiexec",), "mpich").command(2, ["run"])[1][name] == "disable", "as the user wants it"


@pytest.mark.parametrize(("kind", "ask"), [("open mpi", "SIGUSR1"), ("mpich", "SIGTERM"), ("srun", "SIGUSR1")])
def test_how_ranks_are_asked_to_end(kind, ask):
    assert Launcher(("it",), kind).ask == getattr(signal, ask)


@pytest.mark.parametrize(
    ("kind", "given", "sent", "code"),
    [
        ("open mpi", 137, None, 137),
        ("open mpi", 9, None, 9),
        ("open mpi", 0, signal.SIGUSR1, 0),
        ("srun", -signal.SIGKILL, None, 137),
        ("none", 143, signal.SIGTERM, 143),
        ("mpich", 9, None, 137),
        ("mpich", 11, signal.SIGTERM, 139),
        ("mpich", 0, signal.SIGTERM, 143),  # seen of MPICH 4.0.2, whose ranks had given 143
        ("mpich", 0, None, 0),
        ("mpich", 1, signal.SIGTERM, 1),
        ("mpich", 2, None, 2),
        ("mpich", -signal.SIGTERM, signal.SIGTERM, 143),
    ],
)
def test_the_exit_code_of_a_job(kind, given, sent, code):
    assert Launcher(("it",), kind).exit_code(given, sent) == code


def test_ranks_that_cannot_be_seen_are_asked_at_once_and_again(monkeypatch):
    sent, now = [], [1.0]
    monkeypatch.setattr(launch.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(launch.processes, "family", lambda number: [])
    job = type("Job", (), {"pid": os.getpid(), "send_signal": staticmethod(sent.append)})
    request = launch.LaunchRequest(job, signal.SIGUSR1, shows_ranks=False)
    for seconds, times in ((0, 1), (launch._AGAIN - 1, 1), (1, 2), (1, 2)):
        now[0] += seconds
        request.make()
        assert len(sent) == times


def test_a_launcher_is_called_where_it_is(monkeypatch, tmp_path):
    """Open MPI refuses to be called as /bin/mpiexec where /bin leads to /usr/bin: it has no folder above."""
    program(tmp_path / "usr" / "bin", "mpiexec", "#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    (tmp_path / "bin").symlink_to("usr/bin")
    monkeypatch.delenv("TAILRACE_MPIEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert launcher.find().words == (str(tmp_path / "usr" / "bin" / "mpiexec"),)


def test_a_rank_outlives_a_request_that_comes_too_early_or_too_late(tmp_path):
    """The solver is a few lines, which end at once; a batch system signals ranks that no sh has started for us."""
    text = """
        import os, signal, sys, types
        from tailrace.cli.main import main
        module = types.ModuleType("tailrace.simulation.simulation")
        module.run = lambda *_, **__: os.kill(os.getpid(), signal.SIGUSR1) or 0
        sys.modules["tailrace.simulation.simulation"] = module
        sys.argv = ["tailrace", "run", "tgv.toml"]
        main()
    """
    cli.new("tgv", tmp_path / "tgv.toml")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], timeout=240, check=False)
    assert done.returncode == 0


@pytest.fixture
def slurm(outside_mpi, monkeypatch, tmp_path):
    """An allocation of Slurm without mpiexec; see the stand-in."""
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec on the PATH")
    program(tmp_path / "bin", "srun", f'#!/bin/sh\nexec "{sys.executable}" "{stand_in.__file__}" "$@"\n')
    for tool in ("sh", "env"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    monkeypatch.delenv("TAILRACE_MPIEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("TAILRACE_TEST_MPIEXEC", mpiexec)
    for name, value in mpi_run.OPTIONS.items():
        monkeypatch.setenv(name, value)
    cli.new("tgv", tmp_path / "tgv.toml")


def run(*words):
    command = [sys.executable, "-m", "tailrace.cli", "run", "tgv.toml", "-n", "3", *words]
    environment = dict(os.environ)  # without what MPI in this process has added
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.usefixtures("slurm")
def test_a_run_by_srun(tmp_path):
    process = run("--set", "time.end=0.05")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert out.count("3 rank(s)") == 1, out
    assert (tmp_path / "time_series.csv").exists()


@pytest.mark.usefixtures("slurm")
def test_a_run_by_srun_that_is_stopped_writes_a_checkpoint(tmp_path):
    process = run("--set", "time.end=1000")
    end = time.monotonic() + 240
    while len(read(tmp_path / "time_series.csv")) < 3:
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.1)
    process.terminate()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM, out + err
    assert list(tmp_path.glob("checkpoints/step-*")), out + err


def read(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.usefixtures("slurm")
def test_an_analysis_beside_by_srun(tmp_path):
    process = run("--beside", "budget", "--beside-ranks", "2", "--set", "time.end=0.25", "--beside-every", "1")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert out.count("3 rank(s)") == 1, out
    assert list((tmp_path / "analysis").iterdir()), out + err
