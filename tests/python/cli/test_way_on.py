"""A run that ends early names the checkpoint to resume, if it has one."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.simulation.progress import busy_processors
from tailrace.simulation.way_on import newest, stamps

ANALYSIS = """
[[analysis]]
script = "late.py"
every = 1
"""
LATE = "def analyse(step):\n    if step.index > 5:\n        raise ValueError('no')\n    return 1.0\n"
GONE = """
import os


def analyse(step):
    if step.index == 3 and step.comm.rank == 0:
        os.rename("checkpoints", "kept")
        open("checkpoints", "w").close()
    return 1.0
"""


def test_a_flow_that_is_not_finite(tmp_path):
    cases.write_case(tmp_path, "periodic", steps=4, every=4)
    assert mpi_run.tailrace("run", "case.toml", cwd=tmp_path).code == 0
    on = ("run", "case.toml", "--resume", "--change", "--set=checkpoint.every=1000")
    wild = mpi_run.tailrace(*on, "--set=time.dt=8.0", "--set=time.steps=60", cwd=tmp_path, ranks=2)
    assert wild.code == 1 and "is not finite" in wild.err, wild.text
    told = (
        "if the flow in checkpoints/step-00000004 is still sound, go on from it with --resume --change --set time.dt="
    )
    assert told in wild.text, wild.text
    assert "the last CFL number was nan" not in wild.text
    calm = mpi_run.tailrace(*on, "--set=time.dt=0.01", "--set=time.steps=6", cwd=tmp_path)
    assert calm.code == 0, calm.text
    wrong = mpi_run.tailrace(*on, "--set=time.dt=8.0", "--set=time.steps=7", cwd=tmp_path)
    assert "step 6, t = 0.06: the time step 8 is above" in wrong.text, wrong.text  # before the step is made


def test_a_run_that_is_at_its_end(tmp_path):
    cases.write_case(tmp_path, "periodic", steps=4, every=4)
    assert mpi_run.tailrace("run", "case.toml", cwd=tmp_path).code == 0
    again = mpi_run.tailrace("run", "case.toml", "--resume", cwd=tmp_path)
    assert (
        again.code == 0
        and "is at the end of the run or behind it, so nothing is computed; give a later time.end" in again.text
    ), again.text


def test_a_flow_that_is_not_finite_before_any_checkpoint(tmp_path):
    case = cases.write_case(tmp_path, "periodic", steps=60, dt=8.0, every=100)
    result = cases.run(case, ranks=2)
    assert result.code == 1 and "is not finite" in result.err and "untouched" not in result.text, result.text
    assert "there is no checkpoint to go on from: start again, with --overwrite" in result.text, result.text


def test_an_analysis_that_fails(tmp_path):
    case = cases.write_case(tmp_path, "periodic", steps=9, every=100, extra=ANALYSIS)
    (tmp_path / "late.py").write_text(LATE)
    result = cases.run(case, ranks=2)
    told = "at step 6, t = 0.06; fix the script, then go on with --resume, from checkpoints/step-00000006"
    assert result.code == 1 and told in result.text, result.text


def test_a_checkpoint_that_cannot_be_written(tmp_path):
    case = cases.write_case(tmp_path, "periodic", steps=9, every=2, extra=ANALYSIS)
    (tmp_path / "late.py").write_text(GONE)
    result = cases.run(case, ranks=2)
    assert result.code == 1 and "checkpoint" in result.err, result.text
    assert "stopped by an error at step 4" in result.text
    assert "there is no checkpoint to go on from" in result.text  # its directory is gone


def wait_for(there, limit=60.0):
    """Until something is there."""
    end = time.monotonic() + limit
    while not there():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("every", [1, 100000])
def test_a_rank_that_is_killed(tmp_path, every):
    """Checkpoints that another run has left in its directory do not count."""
    other = cases.write_case(tmp_path / "other", "periodic", steps=2, every=1)
    assert cases.run(other).code == 0
    cases.write_case(tmp_path, "periodic", steps=100000, dt=1e-4, every=every)
    (tmp_path / "other/checkpoints").rename(tmp_path / "checkpoints")
    job = mpi_run.start(mpi_run.tailrace_command("run", "case.toml", "-n", "2", "--overwrite"), tmp_path)
    own = [f"step-{step:08d}" for step in range(3, 100000)] if every == 1 else []  # older ones are removed soon
    table, place = tmp_path / "time_series.csv", tmp_path / "checkpoints"
    wait_for(lambda: table.exists() and (not own or {path.name for path in place.glob("step-*")} & set(own)))
    os.kill(mpi_run.rank_processes(job)[-1], signal.SIGKILL)
    result = mpi_run.finish(job, 60)
    assert result.code == 137, result.text
    if every == 1:
        found = re.search(r"go on with --resume, from checkpoints/step-(\d+)", result.err)
        assert found and int(found[1]) >= 3, result.text
    else:
        assert "there is no checkpoint to go on from: start again, with --overwrite" in result.err, result.text


def test_checkpoints_of_another_run_do_not_count(tmp_path):
    case = cases.write_case(tmp_path, "periodic", steps=2, every=1)
    assert cases.run(case).code == 0
    place = tmp_path / "checkpoints"
    assert newest(place) == place / "step-00000002"
    before = stamps(place)
    assert newest(place, before) is None
    assert cases.run(case, "--overwrite").code == 0
    assert newest(place, before) == place / "step-00000002"
    (place / "step-00000002/SHA256SUMS").write_text("")  # damaged
    assert newest(place, before) == place / "step-00000001"
    assert newest(tmp_path / "none") is None


def test_a_hint_where_other_programs_take_the_processors():
    assert "waited 40.0% of the time for a processor" in busy_processors(4.0, 10.0)
    assert busy_processors(1.0, 10.0) == ""
    assert busy_processors(1.0, 2.0) == ""
