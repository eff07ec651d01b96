"""Two analyses with the same results: the second is refused before it removes anything of the first."""

import time

import pytest

from helpers import cases, mpi_run
from tailrace.io.time_series import read_time_series

SLOW = """
import time
from pathlib import Path
import matplotlib.pyplot as plt

def analyse(step):
    end = time.monotonic() + 120
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
        end = time.monotonic() + 60
        while not table.exists() or "\n2," not in table.read_text():
            assert first.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        said = cases.message(cases.KEPT.result(tmp_path, *command, *more))
        assert "is writing it" in said and "slow.results" in said
        assert f"process {mpi_run.rank_processes(first)[0]} " in said
    finally:
        (tmp_path / "go").touch()
        result = mpi_run.finish(first, 60)
    assert result.code == 0, result.text
    assert list(read_time_series(table)["step"]) == [0, 2, 4, 6]
    assert len(list(table.parent.glob("slow-line-*.png"))) == 4
    assert not list(table.parent.glob("*.lock"))
    assert cases.KEPT.result(tmp_path, *command, "--overwrite").code == 0, "the right is given back"
