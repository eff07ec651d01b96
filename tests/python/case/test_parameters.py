"""[parameters]: values for the arguments of the functions that a case names."""

from __future__ import annotations

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs import cases
from tailrace.case.case import load_case

FLOW = """
import numpy as np


def velocity(x, y, z, width=0.5, *, speed: float = 1):
    return speed * np.tanh((y - 1) / width) + 0 * x + 0 * z, 0, 0


def stir(x, y, z, t, speed=1.0):
    return 0, 0, speed


def dye(x, y, z, level: int = 2):
    return level + 0 * (x + y + z)
"""
EXTRA = """
[parameters]
width = 1

[[scalar]]
name = "dye"
schmidt = 1.0
initial = "flow.py:dye"
"""


@pytest.fixture
def case(tmp_path):
    path = cases.write_case(tmp_path, "periodic", steps=2, every=1, extra=EXTRA)
    (tmp_path / "flow.py").write_text(FLOW)
    return path


def test_functions_get_the_parameters_that_they_have(case):
    y = np.array([0.5, 2.0])
    found = load_case(case, ["parameters.speed=3"]).initial_velocity()(0.0, y, 0.0)
    assert np.array_equal(found[0], 3.0 * np.tanh(y - 1))
    told = load_case(case, ["case.forcing=flow.py:stir", "parameters.speed=3"])
    assert told.body_force()(0, 0, 0, 0.0) == (0, 0, 3.0)
    told.check_parameters()


def test_a_run_on_two_ranks_has_them(case):
    result = cases.run(case, "--set", "parameters.level=7", ranks=2)
    assert result.code == 0, result.text
    rows = [line for line in (case.parent / "time_series.csv").read_text().splitlines() if not line.startswith("#")]
    first = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    assert float(first["dye_mean"]) == 7.0


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("parameters.wdith=2", ["parameters.wdith", "did you mean 'width'?"]),
        ("parameters.x=2", ["parameters.x", "it has width, speed, level"]),
        ("parameters.width=wide", ["parameters.width: must be a number (found 'wide')"]),
        ("parameters.level=2.5", ["parameters.level: must be a whole number (found 2.5)"]),
    ],
)
def test_a_wrong_one_is_an_error(case, override, words):
    result = cases.run(case, "--set", override, ranks=2)
    assert result.code == 2, result.text
    assert all(word in result.err for word in words), result.text
    assert not (case.parent / "time_series.csv").exists()


def test_a_case_without_functions_takes_none(tmp_path):
    result = cases.run(
        cases.write_case(tmp_path, "periodic", steps=1, flow="taylor-green", extra="[parameters]\nwidth = 1.0\n")
    )
    assert result.code == 2 and "parameters.width: no function of the case has such an argument" in result.err


def test_a_run_that_goes_on_keeps_them(case):
    run = ("run", "case.toml", "--set", "parameters.speed=2")
    assert mpi_run.tailrace(*run, cwd=case.parent).code == 0
    other = mpi_run.tailrace(
        "run", "case.toml", "--resume", "--set", "parameters.speed=3", "--set", "time.steps=3", cwd=case.parent
    )
    assert other.code != 0 and "parameters.speed" in other.err and "--change" in other.err, other.text
    typo = mpi_run.tailrace("run", "case.toml", "--resume", "--set", "parameters.sped=3", cwd=case.parent)
    assert typo.code != 0 and "did you mean 'speed'?" in typo.err and "--change" not in typo.err, typo.text
    same = mpi_run.tailrace("run", "case.toml", "--resume", "--set", "time.steps=3", cwd=case.parent)
    assert same.code == 0 and "parameters.speed=2" in same.text, same.text


def test_the_names_of_a_file_leave_imports_out(case):
    (case.parent / "flow.py").write_text(
        "import numpy as np\nfrom math import sin\n\n\ndef velocity(x, y, z):\n    ...\n"
    )
    with pytest.raises(tr.ConfigError, match=r"has no function 'velocty'; it has velocity$|it has velocity \("):
        load_case(case, ["case.flow=flow.py:velocty", "scalar[0].initial=0.0"])


def test_the_keys_of_the_case_name_the_table(tmp_path):
    result = mpi_run.tailrace("case", "--keys", "parameters", cwd=tmp_path)
    assert result.code == 0 and "NAME" in result.out, result.text
