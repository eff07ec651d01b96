"""Analyses beside a run: on other ranks, over a stream, started by one command or by two.

TAILRACE_TEST_STREAMS (0): 1 for all of the tests, before a release and after changes of the engine.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.harness import mpi_run
from helpers.harness.program import Program
from helpers.harness.streams import FOREIGN, slow
from helpers.inputs.analyses import assert_close, output, script, write_case
from tailrace import core as _core
from tailrace.cli.ranks import beside
from tailrace.core import IoError
from tailrace.io.time_series import read_time_series
from tailrace.replay import run_beside

pytestmark = pytest.mark.skipif("sst" not in _core.engine_names(), reason="there is no engine sst")

TAILRACE = (sys.executable, "-m", "tailrace.cli")


@pytest.fixture
def start(tmp_path):
    """Starts a program in the directory of the test: start(ranks or None, *command)."""
    programs = []

    def begin(ranks, *command):
        programs.append(Program(tmp_path, ranks, *command))
        return programs[-1]

    yield begin
    for one in programs:
        one.end()


def run(case, *arguments, code=0):
    result = mpi_run.tailrace("run", case, *arguments, cwd=case.parent)
    assert result.code == code, result.text
    return result


def assert_tidy(directory):
    assert not list(directory.glob(".tailrace-beside-*")), "the stream leaves nothing"


def test_one_command_starts_both(tmp_path):
    """Other ranks, another decomposition, the same numbers; then run and results are continued."""
    script(tmp_path, "def analyse(step, a=1): return {'a': a, 'ranks': step.comm.size}")
    case = write_case(tmp_path, "[checkpoint]\nevery = 2")
    beside = ("--beside=budget", "--beside=script.py", "--beside-set=a=5")
    run(case, "-n", 2, *beside, "--set=time.steps=5", "--beside-every=1")
    assert list(read_time_series(tmp_path / "analysis/budget.csv")["step"]) == [0, 1, 2, 3, 4, 5]
    shutil.rmtree(tmp_path / "checkpoints/step-00000005")  # it was killed there, and goes on from step 4
    result = run(case, *beside, "--beside-ranks=2", "--resume")
    rows = read_time_series(tmp_path / "analysis/script.csv")
    assert list(rows["step"]) == [0, 1, 2, 3, 4, 6], "those from the first step of the stream on are replaced"
    assert set(rows["a"]) == {5}
    assert list(rows["ranks"]) == [1] * 4 + [2] * 2
    assert "[analysis] budget: 2 steps with results" in result.out
    (told,) = [line for line in result.out.splitlines() if "analysis (2 ranks): 2 steps in" in line]
    assert "fetching steps" in told and not told.startswith("[analysis]"), "by the run, and once"
    assert_tidy(tmp_path)


@pytest.mark.parametrize(("ranks", "readers"), [(1, 2), pytest.param(2, 1, marks=slow)])
def test_numbers_are_those_of_the_run(tmp_path, ranks, readers):
    case = write_case(tmp_path)
    run(case, "-n", ranks, "--beside=budget", f"--beside-ranks={readers}")
    assert_close(tmp_path / "analysis/budget.csv", tmp_path / "time_series.csv")


def test_two_commands_in_any_order(tmp_path, start):
    case = write_case(tmp_path, output("stream", "sst", "run", "[output.parameters]\nwait_for_reader = 60"))
    reader = start(2, *TAILRACE, "analyse", "budget", "sst:run", "-o", "beside")
    writer = start(None, *TAILRACE, "run", case)
    told = [line for line in [*writer.finish(), *reader.finish()] if "analysis (2 ranks)" in line]
    assert len(told) == 1 and any(line.startswith("the run reports at its end") for line in reader.seen)
    assert_close(tmp_path / "beside/budget.csv", tmp_path / "time_series.csv")


def test_an_analysis_that_dies_leaves_the_run_alone(tmp_path):
    script(tmp_path, "def analyse(step):\n    return 1 // (2 - step.index)")
    case = write_case(tmp_path)
    result = run(case, "-n", 2, "--beside=script.py", code=1)
    assert "[analysis] tailrace: analysis 'script' failed at step 2" in result.err
    assert "script.py, line 2, in analyse: ZeroDivisionError" in result.err
    assert "the analysis ended with exit code 1" in result.err
    assert list(read_time_series(tmp_path / "time_series.csv")["step"]) == [0, 2, 4, 6]
    assert_tidy(tmp_path)


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=slow), 2])
def test_being_asked_to_stop(tmp_path, start, ranks):
    """The run writes a checkpoint and ends, and the analysis ends with the stream."""
    script(tmp_path, "def analyse(step):\n    print('saw', step.index, flush=True)\n    return {'x': step.time}")
    case = write_case(tmp_path)
    program = start(
        None, *TAILRACE, "run", case, "-n", ranks, "--set=time.steps=1000000", "--beside=script.py", "--beside-every=1"
    )
    program.until("[analysis] saw 5")
    program.process.send_signal(signal.SIGTERM)
    program.finish(code=143)
    assert any("go on with --resume" in line for line in program.seen)
    stored = [int(path.name[5:]) for path in (tmp_path / "checkpoints").iterdir()]
    assert list(read_time_series(tmp_path / "analysis/script.csv")["step"]) == list(range(stored[0] + 1))
    assert_tidy(tmp_path)


def test_the_wait_for_the_first_step_is_a_part_of_the_time(tmp_path, start):
    script(tmp_path, "import time\ntime.sleep(3)\ndef analyse(step): return 1.0")  # after the stream was opened
    stream = output("stream", "sst", "run", "[output.parameters]\nwait_for_reader = 60")
    case = write_case(tmp_path, stream, '[[analysis]]\nscript = "script.py"\nevery = 2\n')
    reader = start(None, *TAILRACE, "analyse", "budget", "sst:run", "-o", "beside")
    start(None, *TAILRACE, "run", case).finish()
    (said,) = [line for line in reader.finish() if line.startswith("analysed")]
    total, waited = (float(number) for number in re.findall(r"([\d.]+) s", said))
    assert 0 < waited <= total


def slow_to_start(directory, then):
    """A case whose first field takes three seconds, as the start of many ranks may."""
    (directory / "flow.py").write_text(f"import time\ndef velocity(x, y, z):\n    time.sleep(3)\n    {then}")
    case = write_case(directory)
    case.write_text(case.read_text().replace('name = "small"', 'name = "small"\nflow = "flow.py:velocity"'))
    return case


def test_a_run_may_take_long_to_open_the_stream(tmp_path, monkeypatch):
    """The analysis beside 512 ranks gave up after 60 s, before the run had begun."""
    monkeypatch.setenv("TAILRACE_PARAMETERS", "sst:OpenTimeoutSecs=1")
    run(slow_to_start(tmp_path, "return 1 + 0 * x, 0 * x, 0 * x"), "--beside=budget", "--beside-every=1")
    assert list(read_time_series(tmp_path / "analysis/budget.csv")["step"]) == list(range(7))
    assert_tidy(tmp_path)


def test_an_analysis_of_a_run_that_fails_before_it_opens_the_stream(tmp_path):
    result = run(slow_to_start(tmp_path, "raise ValueError('no flow today')"), "--beside=budget", code=1)
    assert "no flow today" in result.text
    assert "the run has ended, and its stream is not there" in result.text
    assert_tidy(tmp_path)


SAYS = "def analyse(step):\n    print('saw', step.index, flush=True)\n    return {'x': step.time}"
# As the command, with less patience.
IMPATIENT = "import tailrace.cli.ranks.beside as b; b._STOPPED = 1.0; from tailrace.cli.main import main; main()"


def test_an_analysis_that_comes_after_the_run_does_not_wait(tmp_path):
    """Its stream will not come again. One that is there is there, whatever the run has told meanwhile."""
    stream = tmp_path / "stream"
    run_beside.tell_end(stream)
    with pytest.raises(IoError, match="the run has ended, and its stream is not there"):
        run_beside.await_stream(f"sst:{stream}")
    (tmp_path / "stream.sst").touch()
    run_beside.await_stream(f"sst:{stream}")


@pytest.mark.parametrize("readers", [1, 2])
def test_an_analysis_that_is_stopped_for_good_is_ended(tmp_path, start, readers):
    """One rank of it has SIGSTOP: the run drops it and ends, and so does the command that started both."""
    script(tmp_path, SAYS)
    case = write_case(tmp_path)
    program = start(
        None, "env", "TAILRACE_PARAMETERS=sst:timeout=2", sys.executable, "-c", IMPATIENT, "run", case,
        "--set=time.steps=400", "--beside=script.py", "--beside-every=1", f"--beside-ranks={readers}",
    )  # fmt: skip
    program.until("[analysis] saw 2")
    ranks = mpi_run.rank_processes(program.process, "tailrace.cli analyse")
    os.kill(ranks[-1], signal.SIGSTOP)
    program.finish(code=1)
    said = [line for line in program.errors if line and "has been stopped by a signal" in line]
    assert said and f"process {ranks[-1]} of the analysis" in said[0]
    if readers == 1:
        # It goes on before it takes the SIGTERM, and may see first that it has lost the stream.
        assert any(f"exit code {code}" in line for code in (1, 143) for line in program.errors if line), (
            "without SIGKILL"
        )
    assert list(read_time_series(tmp_path / "time_series.csv")["step"])[-1] == 400
    assert not mpi_run.members(program.process), "nothing is left"
    assert_tidy(tmp_path)


LAST_WORD = """
import time

class Slow:
    def step(self, step):
        print("saw", step.index, flush=True)
        self.last = step.index
    def finish(self):
        time.sleep(4)
        return {"last": self.last}
"""


def test_an_analysis_has_its_last_word_after_a_run_that_was_asked_to_stop(tmp_path, start):
    """A limited time is given to it only where the run has failed."""
    script(tmp_path, LAST_WORD)
    hasty = IMPATIENT.replace("_STOPPED", "_GRACE")
    words = ("--set=time.steps=1000000", "--beside=script.py", "--beside-every=1")
    program = start(None, sys.executable, "-c", hasty, "run", write_case(tmp_path), *words)
    program.until("[analysis] saw 3")
    program.process.send_signal(signal.SIGTERM)
    program.finish(code=143)
    rows = read_time_series(tmp_path / "analysis/script-final.csv")
    assert list(rows["last"]) == list(rows["step"])
    assert_tidy(tmp_path)


def test_the_folder_of_a_launcher_that_was_killed_goes_at_the_next_start(tmp_path, start):
    script(tmp_path, SAYS)
    case = write_case(tmp_path)
    program = start(None, *TAILRACE, "run", case, "--set=time.steps=1000000", "--beside=script.py", "--beside-every=1")
    program.until("[analysis] saw 2")
    (folder,) = [path for path in tmp_path.glob(".tailrace-beside-*") if path.is_dir()]
    beside._remove_leftovers(tmp_path)
    assert folder.exists(), "its launcher is alive"
    lock = folder.with_suffix(".lock")
    lock.write_text("1 1 2020-01-01T00:00:00Z " + socket.gethostname())
    beside._remove_leftovers(tmp_path)
    assert folder.exists(), "it may be in another namespace of processes: numbers tell nothing"
    program.process.kill()
    program.end()
    others = [tmp_path / f".tailrace-beside-{name}" for name in ("empty", "pipe.lock", "text.lock", "link")]
    others[0].mkdir()
    os.mkfifo(others[1])
    others[2].write_text("[" * 100_000)
    others[3].symlink_to(others[0])
    (others[0] / "mine").touch()
    others.append(tmp_path / ".tailrace-beside-link.lock")
    others[-1].touch()
    run(case, "--beside=budget", "--overwrite")
    assert sorted(tmp_path.glob(".tailrace-beside-*")) == sorted(others), "of others"
    assert (others[0] / "mine").exists()


@pytest.mark.parametrize("after", ["FileLock", "Path.mkdir"])
def test_a_kill_at_the_first_moment_leaves_nothing_for_ever(tmp_path, after):
    place = after.split(".")[0]
    text = f"""
import os, signal
from tailrace.cli.ranks import beside
kept = beside.{after}
def killed(*arguments, **options):
    found = kept(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
class Patched(type(beside.Path())):
    mkdir = killed
beside.{place} = Patched if {place!r} == "Path" else killed
beside._claim(beside.Path())
"""
    assert subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir())
    beside._remove_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_leaves_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(beside.secrets, "token_hex", lambda _: "taken")
    (tmp_path / ".tailrace-beside-taken").mkdir()
    with pytest.raises(FileExistsError):
        beside._claim(tmp_path)
    (tmp_path / ".tailrace-beside-taken").rmdir()
    folder, lock = beside._claim(tmp_path)
    assert folder.is_dir()
    lock.release()


def test_a_run_that_fails_takes_the_analysis_along(tmp_path):
    case = write_case(tmp_path)
    result = run(case, "--beside=enstrophy", "--set=time.dt=50.0", "--set=time.steps=300", code=1)
    assert "the flow is not finite" in result.err
    assert_tidy(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--beside=missing.py"], "--beside: there is no file"),
        (["--beside=bad.py"], "analysis 'bad' failed when it was loaded: bad.py, line 2: ZeroDivisionError"),
        (["--beside=budget", "--beside-set=a=1"], "analysis 'budget' has no parameter 'a'"),
        (["--beside=class.py", "--resume"], "analysis 'class' may keep a state"),
        (["--beside=budget", "--beside-fields=ux,uv"], "there is no field 'uv'; did you mean"),
    ],
)
def test_wrong_requests_are_reported_before_anything_starts(tmp_path, arguments, said):
    script(tmp_path, "def analyse(step): pass\n1 / 0", "bad.py")
    script(tmp_path, "class Mean:\n    def step(self, step): pass", "class.py")
    assert said in run(write_case(tmp_path), *arguments, code=2).err


def test_results_have_a_place_of_their_own(tmp_path):
    """Those of an analysis inside, and of the same one beside, go to analysis/ by default."""
    script(tmp_path, "def analyse(step): return 1.0", "time_series.py")
    case = write_case(tmp_path, '[[analysis]]\nscript = "budget"\nevery = 2\n')
    said = "--beside-out: 'analysis/budget.csv' is taken by analysis[0].name"
    assert said in run(case, "--beside=budget", code=2).err
    said = "--beside-out: 'time_series.csv' is taken by diagnostics.path"
    assert said in run(case, "--beside=time_series.py", "--beside-out=.", code=2).err
    assert not (tmp_path / "time_series.csv").exists()


GRID = """
reynolds = 10.0
[grid]
lengths = [1.0, 1.0, 1.0]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = 0.5
"""
LOOKS = """
import tailrace as tr

def analyse(step):
    u = step.vector("u")
    return {"x": tr.mean(u["x"]), "y": tr.mean(u["y"]), "z": tr.mean(u["z"]), "strain": tr.max(tr.grad(u)[2, 2])}
"""


@pytest.mark.skipif(not FOREIGN.exists(), reason="the other program was not built")
@pytest.mark.parametrize("ranks", [pytest.param(1, marks=slow), 2])
def test_a_stream_of_another_program(tmp_path, start, ranks):
    """It does not use Tailrace: the grid and the time come from a file."""
    (tmp_path / "grid.toml").write_text(GRID)
    script(tmp_path, LOOKS)
    other = start(2, FOREIGN, "flow", 5)
    start(ranks, *TAILRACE, "analyse", "script.py", "sst:flow", "--grid=grid.toml").finish()
    other.finish()
    rows = read_time_series(tmp_path / "analysis/script.csv")
    assert list(rows["time"]) == [0, 0.5, 1.0, 1.5, 2.0]
    for factor, axis in enumerate("xyz", 1):
        assert abs(rows[axis] - factor * rows["step"]).max() < 1e-12
    assert abs(rows["strain"]).max() < 1e-12


EXAMPLES = Path(__file__).parents[3] / "examples"
VORTEX = Path(__file__).parents[3] / "build/python/examples/5_stream_adios2_cpp"


@pytest.mark.skipif(not VORTEX.exists(), reason="the example was not built")
def test_the_example_of_another_program(tmp_path, start):
    """A vortex whose budget is known: enstrophy exp(-4 nu t) / 2, energy half of it, dissipation 2 nu times it."""
    other = start(2, VORTEX, "vortex", 6)
    grid = f"--grid={EXAMPLES / '5_stream_adios2.toml'}"
    start(None, *TAILRACE, "analyse", "budget", "spectrum", "sst:vortex", grid).finish()
    other.finish()
    rows = read_time_series(tmp_path / "analysis/budget.csv")
    decay = np.exp(-4 * 0.01 * rows["time"])
    assert list(rows["time"]) == [0.5 * step for step in range(6)]
    assert abs(rows["kinetic_energy"] / decay * 4 - 1).max() < 1e-14
    assert abs(rows["enstrophy"] / decay * 2 - 1).max() < 1e-4  # of sixth order on 32 x 24 x 8
    assert abs(rows["dissipation_laplacian"] / decay * 100 - 1).max() < 1e-4
    spectrum = read_time_series(tmp_path / "analysis/spectrum.csv")
    assert abs(spectrum["kinetic_energy"] / rows["kinetic_energy"] - 1).max() < 1e-12


def test_steps_left_out_are_on_record(tmp_path):
    """A slow analysis under drop_newest: every step is in its table or in that of the steps left out, none in both."""
    script(
        tmp_path,
        "import time\ndef analyse(step):\n    time.sleep(0.4)\n    return {'x': 1.0, 'missed': len(step.missed)}",
    )
    case = write_case(tmp_path)
    result = run(case, "--beside=script.py", "--beside-every=1", "--beside-policy=drop_newest", "--set=time.steps=60")
    seen = read_time_series(tmp_path / "analysis/script.csv")
    lost = read_time_series(tmp_path / "beside-left-out.csv")
    assert sorted([*seen["step"], *lost["step"]]) == list(range(61))
    assert not lost["skipped"].any()
    assert sum(seen["missed"]) == sum(lost["step"] < seen["step"][-1])
    assert f"steps left out: {len(lost['step'])} dropped" in result.text
    assert "the analysis could not keep up" in result.text
