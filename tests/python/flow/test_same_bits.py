"""Fields are the same bits on any number of ranks and any process grid, also where lines are taken in pairs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

PROGRAM = Path(__file__).resolve().parents[2] / "fuzz" / "same_bits.py"


@pytest.mark.parametrize("seed", [0, 100])
def test_random_flows_have_the_same_bits_on_other_process_grids(tmp_path, seed):
    command = [*mpi_run.mpiexec(6), sys.executable, PROGRAM, "--cases", "30", "--seed", str(seed)]
    result = mpi_run.finish(mpi_run.start(command, tmp_path), 300)
    assert result.code == 0, result.text
    assert f"30 cases from seed {seed}: 0 differ" in result.out and "refused" not in result.out, result.text


LINEAR = """
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
# all columns of measures: means, shear at the walls, a scalar, the force on a body
CHANNEL = """
[case]
flow = "channel"
reynolds = 200.0
[grid]
points = [18, 17, 12]
lengths = [6.0, 2.0, 3.0]
boundaries = ["periodic", "wall", "periodic"]
stretching = "walls"
beta = 0.5
[body]
shape = "cylinder"
centre = [2.0, 0.9]
radius = 0.4
box = [[1.0, 3.0], [0.4, 1.5], "all"]
[[scalar]]
name = "dye"
schmidt = 0.7
initial = "dye.py:dye"
[time]
dt = 0.01
steps = 6
[diagnostics]
every = 2
"""
DYE = "import numpy as np\n\n\ndef dye(x, y, z):\n    return np.sin(x) * y + np.cos(2 * z)\n"


@pytest.mark.parametrize("ranks", [2, 3, 6])
@pytest.mark.parametrize(("text", "count"), [(LINEAR, 9), (CHANNEL, 22)], ids=["linear", "channel"])
def test_the_numbers_of_a_run_are_the_same_bits(tmp_path, ranks, text, count):
    """Those of the time series, too: sums do not depend on their order."""
    rows = []
    for size in (1, ranks):
        place = tmp_path / str(size)
        place.mkdir()
        (place / "case.toml").write_text(text)
        (place / "dye.py").write_text(DYE)
        result = mpi_run.tailrace("run", "case.toml", cwd=place, ranks=size)
        assert result.code == 0, result.text
        rows.append([line for line in (place / "time_series.csv").read_text().splitlines() if line[0] != "#"])
    assert rows[0] == rows[1]
    assert len(rows[0]) == 5 and len(rows[0][0].split(",")) >= count


def test_extremes_of_a_scalar_are_those_of_all_ranks(tmp_path):
    """Where no rank has both: they are in two corners of the box."""
    rows = []
    for ranks in (None, 3):
        scalar = '[[scalar]]\nname = "dye"\nschmidt = 1.0\ninitial = "dye.py:dye"\n'
        case = cases.write_case(tmp_path / str(ranks), "free-slip", steps=2, extra=scalar)
        (case.parent / "dye.py").write_text("def dye(x, y, z):\n    return x + y + z\n")
        result = cases.run(case, ranks=ranks)
        assert result.code == 0, result.text
        rows.append(read_time_series(case.parent / "time_series.csv"))
    for name in ("dye_min", "dye_max"):
        assert list(rows[0][name]) == list(rows[1][name])
    assert (rows[1]["dye_min"][0], rows[1]["dye_max"][0]) == (0.0, pytest.approx(6.5))
