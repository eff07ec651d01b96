"""Fields are the same bits on any number of ranks and any process grid, also where lines are taken in pairs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.harness import mpi_run

PROGRAM = Path(__file__).resolve().parents[2] / "fuzz" / "same_bits.py"


@pytest.mark.parametrize("seed", [0, 100])
def test_random_flows_have_the_same_bits_on_other_process_grids(tmp_path, seed):
    command = [*mpi_run.mpiexec(6), sys.executable, PROGRAM, "--cases", "30", "--seed", str(seed)]
    result = mpi_run.finish(mpi_run.start(command, tmp_path), 300)
    assert result.code == 0, result.text
    assert f"30 cases from seed {seed}: 0 differ" in result.out and "refused" not in result.out, result.text


@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_the_numbers_of_a_run_are_the_same_bits(tmp_path, ranks):
    """Those of the time series, too: sums do not depend on their order."""
    text = """
[case]
flow = "taylor-green"
reynolds = 100.0
[grid]
points = [17, 15, 13]
lengths = ["pi", "pi", "pi"]
boundaries = ["free-slip", "free-slip", "free-slip"]
[forcing]
linear = 0.2
[time]
dt = 0.01
steps = 6
[diagnostics]
every = 2
"""
    rows = []
    for size in (1, ranks):
        place = tmp_path / str(size)
        place.mkdir()
        (place / "case.toml").write_text(text)
        result = mpi_run.tailrace("run", "case.toml", cwd=place, ranks=size)
        assert result.code == 0, result.text
        rows.append([line for line in (place / "time_series.csv").read_text().splitlines() if line[0] != "#"])
    assert rows[0] == rows[1]
    assert len(rows[0]) == 5
