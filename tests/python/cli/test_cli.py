"""The command: exit codes, clean messages, starting under MPI."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
import tomllib
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailrace.case.case import load_case
from tailrace.cli import launch
from tailrace.cli import main as cli
from tailrace.io.time_series import COLUMNS, TimeSeries

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"
PACKAGES = str(Path(cli.__file__).parents[2])
MPI_MARKS = ("OMPI_", "PMI_", "PMIX_", "MPI_LOCALNRANKS")


@pytest.fixture(autouse=True)
def outside_mpi(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith(MPI_MARKS)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("TAILRACE_TRACEBACK", raising=False)
    monkeypatch.chdir(tmp_path)


def tailrace(*arguments):
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], prog_name="tailrace")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def case_file(tmp_path):
    assert tailrace("new", "tgv").exit_code == 0
    return tmp_path / "tgv.toml"


@pytest.fixture
def solver(monkeypatch):
    """A solver that records its arguments and returns a given answer."""
    module = types.ModuleType("tailrace.run.simulation")
    module.calls, module.answer = [], lambda: 0

    def run(case, resume):
        module.calls.append((case, resume))
        return module.answer()

    module.run = run
    monkeypatch.setitem(sys.modules, "tailrace.run.simulation", module)
    return module


def raises(error):
    def answer():
        raise error

    return answer


def test_new_writes_a_case_that_is_valid_and_commented(case_file):
    case = load_case(case_file)
    assert case.grid.points == (64, 64, 64)
    text = case_file.read_text()
    for key in (key for section in tomllib.loads(text).values() if isinstance(section, dict) for key in section):
        assert key in text
    sections = set(type(case).model_fields)
    assert sections == set(tomllib.loads(text)), "the template shows every section"
    for name in ("case", "grid", "time", "numerics", "parallel", "diagnostics", "checkpoint"):
        missing = set(type(getattr(case, name)).model_fields) - set(tomllib.loads(text)[name])
        assert missing <= {"steps"}, "the template shows every key"


def test_new_never_overwrites(case_file):
    case_file.write_text("mine")
    result = tailrace("new", "tgv")
    assert (result.exit_code, case_file.read_text()) == (2, "mine")
    assert "exists and is left as it is" in result.stderr
    assert tailrace("new", "tgv", "--path", "other.toml").exit_code == 0
    assert tailrace("new", "tgv", "--path", "none/other.toml").exit_code == 2


def test_new_knows_its_templates():
    assert "there is no template 'tvg'; there are: tgv" in tailrace("new", "tvg").stderr


def test_run_hands_the_case_to_the_solver(case_file, solver):
    result = tailrace("run", case_file, "--resume", "--set", "time.end=3.0", "--set", "grid.points[0]=48")
    assert result.exit_code == 0, result.stderr
    ((case, resume),) = solver.calls
    assert (case.time.end, case.grid.points[0], resume) == (3.0, 48, True)


def test_run_takes_an_input_of_xcompact3d_and_says_what_it_leaves(solver):
    result = tailrace("run", SAMPLE / "input.i3d", "--set", "time.steps=7")
    assert result.exit_code == 0
    assert solver.calls[0][0].time.steps == 7
    assert "note: InOutParam.ilist" in result.stderr
    assert "warning: checkpoint.every = 4000 is more than the 7 steps" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(28, "No space left on device"), 1, "tailrace: [Errno 28] No space left on device"),
        (RuntimeError("step 12: ux is NaN at (3, 4, 5)"), 1, "tailrace: step 12: ux is NaN at (3, 4, 5)"),
        (MemoryError(), 1, "tailrace: MemoryError"),
    ],
)
def test_failures_are_one_message(case_file, solver, capfd, error, code, message):
    solver.answer = raises(error)
    result = tailrace("run", case_file)
    assert result.exit_code == code
    assert result.stderr.strip() == message


def test_a_traceback_on_request(case_file, solver, monkeypatch):
    monkeypatch.setenv("TAILRACE_TRACEBACK", "1")
    solver.answer = raises(RuntimeError("deep"))
    assert "Traceback" in tailrace("run", case_file).stderr


def test_a_defect_shows_its_traceback(case_file, solver):
    solver.answer = raises(KeyError("x"))
    result = tailrace("run", case_file)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "please report it" in result.stderr


def test_the_exit_code_is_that_of_the_run(case_file, solver):
    solver.answer = lambda: 143
    assert tailrace("run", case_file).exit_code == 143


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.toml"], "tailrace: none.toml: there is no such file"),
        (["run", "case.txt"], "a case is a .toml file or an Xcompact3D .i3d file"),
        (
            ["run", "tgv.toml", "--set", "time.dtt=1"],
            "time.dtt: unknown key; did you mean time.dt? (found 1), by --set",
        ),
        (["run", "tgv.toml", "-n", "0"], "-n"),
        (["case", "none.i3d"], "there is no such file"),
        (["plot", "none.csv"], "none.csv"),
        (["plot", "tgv.toml"], "slices are drawn from .h5"),
        (["plot", "a.csv", "b.h5", "-o", "c.png"], "-o names one picture"),
        (["paint"], "No such command"),
    ],
)
def test_wrong_input_is_one_clean_message(case_file, solver, arguments, message):
    result = tailrace(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert solver.calls == []


def test_case_converts_and_keeps_the_notes_apart(tmp_path):
    result = tailrace("case", SAMPLE / "input.i3d")
    assert result.exit_code == 0
    (tmp_path / "case.toml").write_text(result.stdout)
    assert load_case(tmp_path / "case.toml").grid.boundaries == ("free-slip",) * 3
    assert "note: " in result.stderr
    assert "note: " not in result.stdout


def test_plot_prints_where_the_pictures_are(tmp_path):
    with TimeSeries(tmp_path / "time_series.csv") as series:
        for step in range(5):
            series.append({**dict.fromkeys(COLUMNS, 0.1), "step": step, "time": float(step)})
    result = tailrace("plot", "time_series.csv", "--reference", SAMPLE / "time_evol.dat")
    assert (result.exit_code, result.stdout.strip()) == (0, "time_series.png"), result.stderr
    assert (tmp_path / "time_series.png").stat().st_size > 10_000


def test_only_the_first_rank_speaks(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    result = tailrace("run", "none.toml")
    assert (result.exit_code, result.output) == (2, "")


def test_version_and_help_are_quick_and_light():
    heavy = ["numpy", "pydantic", "mpi4py", "h5py", "matplotlib"]
    script = f"import sys; from tailrace.cli import main; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
    )
    assert answer.stdout.strip() == "[]", "heavy modules are for the commands that need them"
    assert tailrace("--version").stdout.startswith("tailrace")
    assert "doctor" in tailrace("--help").stdout


# ---- starting under MPI


def test_inside_mpi_nothing_is_started_twice(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "4")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started MPI inside MPI"))
    assert launch.start(4, ["run"]) is None
    with pytest.raises(launch.LaunchError, match="mpiexec started 4 ranks already, and -n asks for 2"):
        launch.start(2, ["run"])


def test_one_rank_needs_no_launcher(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("one rank needs no mpiexec"))
    assert launch.start(1, ["run"]) is None


def test_no_mpiexec_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("TAILRACE_MPIEXEC", raising=False)
    with pytest.raises(launch.LaunchError, match="there is none on the PATH"):
        launch.start(2, ["run"])
    monkeypatch.setenv("TAILRACE_MPIEXEC", "/nowhere/mpiexec")
    with pytest.raises(launch.LaunchError, match="/nowhere/mpiexec does not start"):
        launch.start(2, ["run"])


@pytest.mark.parametrize(
    ("open_mpi", "ranks", "scheduler", "oversubscribe"),
    [(True, 2, False, False), (True, 3, False, True), (True, 3, True, False), (False, 3, False, False)],
)
def test_the_command_line(monkeypatch, open_mpi, ranks, scheduler, oversubscribe):
    for name in launch._SCHEDULERS:
        monkeypatch.delenv(name, raising=False)
    if scheduler:
        monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setattr("tailrace.cli.doctor.physical_cores", lambda: 2)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    command, environment = launch.command_line("mpiexec", ranks, ["run", "a.toml"], open_mpi=open_mpi)
    assert ("--oversubscribe" in command) == oversubscribe
    assert command[:3] == ["mpiexec", "-n", str(ranks)]
    assert command[-5:] == [sys.executable, "-m", "tailrace.cli", "run", "a.toml"]
    assert (environment.get("OMPI_ALLOW_RUN_AS_ROOT") == "1") == open_mpi


FAKE_SOLVER = """
import sys, types
from mpi4py import MPI

def run(case, resume):
    rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    MPI.COMM_WORLD.Barrier()
    {body}
    return 0

module = types.ModuleType("tailrace.run.simulation")
module.run = run
sys.modules["tailrace.run.simulation"] = module
from tailrace.cli.main import main
sys.argv[0] = "tailrace"
main()
"""


@pytest.fixture
def parallel(tmp_path, case_file, monkeypatch):
    """Run the command on three ranks with a solver made of a few lines."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if not shutil.which("mpiexec"):
        pytest.skip("there is no mpiexec on the PATH")

    def begin(body, *options):
        script = tmp_path / "fake.py"
        script.write_text(FAKE_SOLVER.format(body=textwrap.indent(textwrap.dedent(body), "    ").strip()))
        # The command starts `python -m tailrace.cli`; here `python` is a program that runs the script instead.
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "{script}" "$@"\n')
        python.chmod(0o755)
        start = f"import sys; sys.executable = {str(python)!r}; from tailrace.cli.main import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", start, "run", str(case_file), "-n", "3", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": PACKAGES},
        )

    return begin


def finish(process):
    out, err = process.communicate(timeout=120)
    return types.SimpleNamespace(returncode=process.returncode, stdout=out, stderr=err)


def test_ranks_are_started_with_all_options(parallel):
    tell = 'print(f"{rank}/{size} {case.time.dt} {resume}", flush=True)'
    result = finish(parallel(tell, "--resume", "--set", "time.dt=0.25"))
    told = re.findall(r"\d/\d [\d.]+ (?:True|False)", result.stdout)  # mpiexec may join the lines of ranks
    assert sorted(told) == [f"{r}/3 0.25 True" for r in range(3)], result.stdout
    assert result.returncode == 0, result.stderr


def test_warnings_come_once(parallel):
    result = finish(parallel("pass", "--set", "checkpoint.every=99999"))
    assert result.stderr.count("warning: checkpoint.every") == 1


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
end = time.monotonic() + 60
while not asked and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(2.5)
print(f"rank {rank} was {asked[:1]} and had its time", flush=True)
return 3
"""


def wait_for(condition, what):
    end = time.monotonic() + 60
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


def test_ranks_do_not_outlive_a_killed_parent(parallel, tmp_path):
    body = "import pathlib, time\npathlib.Path(f'up{rank}-{os.getpid()}').touch()\ntime.sleep(100)"
    process = parallel("import os\n" + body)
    wait_for(lambda: len(list(tmp_path.glob("up*"))) == 3, "the start of three ranks")
    pids = [int(path.name.split("-")[1]) for path in tmp_path.glob("up*")]
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not any(alive(pid) for pid in pids), "the end of the ranks")


def alive(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
