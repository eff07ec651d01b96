"""What `tailrace plot` says about the quantities of a file that its picture does not show."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run

GRID = tr.UniformGrid((9, 10, 8), boundaries=("periodic",) * 3)
TABLE = """step,time,kinetic_energy,dissipation,dissipation_laplacian,enstrophy,cfl
0,0.0,0.5,0.1,0.1,2.0,0.3
1,0.1,0.4,0.1,0.1,2.0,0.3
"""


def said(directory, *arguments):
    result = mpi_run.tailrace("plot", *arguments, cwd=directory, limit=60)
    assert result.code == 0, result.text
    return result.err


@pytest.fixture
def directory(tmp_path):
    one = np.random.default_rng(1).standard_normal((8, 10, 9))
    with tr.open(tmp_path / "flow.h5", "w", grid=GRID) as out:
        out.write_step(0.0, a=one, b=2 * one, lists={"k": np.arange(1.0, 5), "energy": np.ones(4)}, scalars={"n": 3})
    y = np.linspace(0, 1, 5)
    with tr.open(tmp_path / "lists.h5", "w") as out:
        lists = {"k": np.arange(1.0, 7), "energy": np.ones(6), "y": y, "mean_u": y**2}
        out.write_step(0.0, lists=lists, scalars={"total": 6.0})
    with tr.open(tmp_path / "one.h5", "w", grid=GRID) as out:
        out.write_step(0.0, a=one)
    (tmp_path / "time_series.csv").write_text(TABLE)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["flow.h5"], "note: flow.h5: shown is energy; not shown: a, b (--field NAME); n (--column NAME)"),
        (
            ["flow.h5", "--kind", "slice"],
            "note: flow.h5: shown is a; not shown: b (--field NAME); energy, n (--column NAME)",
        ),
        (["lists.h5"], "note: lists.h5: shown is energy; not shown: mean_u, total (--column NAME)"),
        (["lists.h5", "--kind", "time-series"], "shown is its numbers; not shown: energy, mean_u (--column NAME)"),
        (["time_series.csv"], "note: time_series.csv: shown is the picture of a run; not shown: cfl (--column NAME)"),
    ],
)
def test_a_line_says_what_is_not_shown(directory, arguments, line):
    lines = said(directory, *arguments).splitlines()
    assert len(lines) == 1 and line in lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["one.h5"],
        ["flow.h5", "--field", "b"],
        ["lists.h5", "--column", "total"],
        ["lists.h5", "--column", "mean_u"],
        ["time_series.csv", "--column", "cfl"],
    ],
)
def test_nothing_is_said_where_all_is_shown_or_chosen(directory, arguments):
    assert said(directory, *arguments) == ""


def test_of_many_names_the_first_are_told(directory):
    with tr.open(directory / "many.h5", "w", grid=GRID) as out:
        out.write_step(0.0, {f"f{number}": np.ones((8, 10, 9)) for number in range(12)})
    assert "not shown: f1, f2, f3, f4, f5, f6, f7, f8 and 3 more (--field NAME)" in said(directory, "many.h5")
