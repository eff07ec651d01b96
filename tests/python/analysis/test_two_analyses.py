"""Two analyses with the same results: the second is refused before it removes anything of the first."""

import sys
import time

import pytest

from helpers.harness import mpi_run, recorded_calls
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

SLOW = """
import time
from pathlib import Path
import matplotlib.pyplot as plt

def analyse(step):
    end = time.monotonic() + 240
    while step.index == 4 and not Path("go").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return {"index": step.index, "line": plt.figure()}
"""


@pytest.mark.parametrize(("engine", "more"), [("hdf5", ()), ("raw", ()), ("hdf5", ("--resume",))])
def test_a_second_analysis_is_refused(tmp_path, engine, more):
    case = cases.write_case(tmp_path, steps=6, outputs=("hdf5",))
    assert cases.run(case).code == 0
    (tmp_path / "slow.py").write_text(SLOW)
    command = ("analyse", "slow.py", "out.h5", f"--engine={engine}")
    first = mpi_run.start(mpi_run.tailrace_command(*command, ranks=2), tmp_path)
    table = tmp_path / "analysis/slow.csv"
    try:
        end = time.monotonic() + 240
        while not table.exists() or "\n2," not in table.read_text():
            assert first.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        said = cases.message(KEPT.result(tmp_path, *command, *more))
        assert "is writing it" in said and "slow.results" in said
        assert f"process {mpi_run.rank_processes(first)[0]} " in said
    finally:
        (tmp_path / "go").touch()
        result = mpi_run.finish(first, 60)
    assert result.code == 0, result.text
    assert list(read_time_series(table)["step"]) == [0, 2, 4, 6]
    assert len(list(table.parent.glob("slow-line-*.png"))) == 4
    assert not list(table.parent.glob("*.lock"))
    assert KEPT.result(tmp_path, *command, "--overwrite").code == 0, "the right is given back"


def test_earlier_results_go_when_the_new_ones_are_on_the_disk(tmp_path):
    """Else a power cut leaves neither."""
    case = cases.write_case(tmp_path, steps=6, outputs=("hdf5",))
    assert cases.run(case).code == 0
    (tmp_path / "mean.py").write_text("def analyse(step):\n    return step.time\n")
    words, folder, log = ("analyse", "mean.py", "out.h5"), tmp_path / "analysis", tmp_path / "calls"
    assert KEPT.result(tmp_path, *words).code == 0
    command = [sys.executable, "-m", "tailrace.cli", *words, "--overwrite"]
    result = mpi_run.finish(mpi_run.start(command, tmp_path, recorded_calls.environment(folder, log)), 120)
    assert result.code == 0, result.text
    calls = [call for call in recorded_calls.calls(log) if call.path.name.startswith("mean.csv")]
    gone = next(k for k, call in enumerate(calls) if str(call) == "unlink mean.csv.earlier")
    new = [call.name for call in calls[:gone] if call.path.name == "mean.csv" and call.name in ("write", "sync")]
    assert new[-1] == "sync" and "write" in new
