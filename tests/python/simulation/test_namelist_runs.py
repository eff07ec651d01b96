"""Inputs of Xcompact3D as they are run: on other numbers of ranks, and with values of `--set`."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.inputs.case_texts import GOOD
from tailrace.case.case import ConfigError
from tailrace.case.xcompact3d.input import read_input
from tailrace.case.xcompact3d.process_grid import fitted

FLOW = """
import numpy as np

def velocity(x, y, z):
    return np.sin(y) + 0 * x, 0 * x, 0 * z

def begin(x, y, z):
    return 0.25 + 0 * x
"""


def write_input(path, *, more="", case="", scalar="", **basic):
    keys = {"itype": 2, "iin": 1, "nx": 16, "ny": 9, "nz": 12, "re": 200.0, "dt": 0.01, "ifirst": 1, "ilast": 2}
    keys |= {f"ncl{axis}{end}": 0 for axis in "xyz" for end in "1n"}
    keys |= {"xlx": 6.28, "yly": 3.0, "zlz": 3.14, "ncly1": 2, "nclyn": 2, **basic}
    lines = [
        "&BasicParam",
        *(f"{key}={value}" for key, value in keys.items()),
        "/",
        "&NumOptions",
        "itimescheme=5",
        "/",
    ]
    lines += ["&InOutParam", "icheckpoint=0", "ioutput=1", "/", "&ScalarParam", scalar, "/", "&CASE", case, "/"]
    path.write_text("\n".join(lines) + "\n")
    (path.parent / "my.py").write_text(FLOW)
    return path


def current(path):
    """A gravity current whose scalar has everything that only one word of another key takes."""
    scalar = "sc=1.0\nri=0.5\nuset=0.02\ncp=1.0\nnclyS1=2\nnclySn=2"
    ends = {"itype": 1, "nclx1": 1, "nclxn": 1, "istret": 3, "beta": 0.3, "gravy": -1.0, "numscalar": 1}
    return write_input(path, scalar=scalar, case="pfront=1.0", **ends)


@pytest.mark.parametrize(("rows", "cols"), [(4, 4), (0, 3), (5, 0)])
def test_a_process_grid_of_other_ranks_is_chosen_and_told(tmp_path, rows, cols):
    path = write_input(tmp_path / "input.i3d", p_row=rows, p_col=cols)
    result = mpi_run.tailrace("run", path.name, cwd=tmp_path, ranks=2, limit=60)
    assert result.code == 0, result.text
    said = f"note: BasicParam.p_row = {rows} and p_col = {cols} do not fit 2 rank(s): the process grid is chosen"
    assert said in result.err
    assert said in result.out.splitlines()[-1]  # and once more where the run ends
    assert "2 rank(s) as 1 x 2" in result.out or "2 rank(s) as 2 x 1" in result.out


def test_a_process_grid_that_fits_is_taken(tmp_path):
    path = write_input(tmp_path / "input.i3d", p_row=2, p_col=1)
    case, _ = read_input(path)
    assert fitted(case, 2, []) == (case, [])
    result = mpi_run.tailrace("run", path.name, cwd=tmp_path, ranks=2, limit=60)
    assert "2 rank(s) as 2 x 1" in result.out
    assert "p_row" not in result.text


def test_a_process_grid_of_the_user_that_does_not_fit_is_an_error_with_its_keys(tmp_path):
    path = write_input(tmp_path / "input.i3d", p_row=4, p_col=4)
    (tmp_path / "case.toml").write_text(GOOD + "[parallel]\nrows = 3\ncols = 4\n")
    for name in (path.name, "case.toml"):
        result = mpi_run.tailrace("run", name, "--set", "parallel.rows=3", cwd=tmp_path, ranks=2, limit=60)
        assert result.code == 1
        assert (
            "tailrace: parallel.rows = 3, parallel.cols = 4: process grid 3 x 4 does not fit 2 ranks; rows * cols must "
            "be the number of ranks, or 0 to have them chosen (--set parallel.rows=0 --set parallel.cols=0)"
        ) in result.err


def test_flow_and_scalar_of_an_input_are_set_together(tmp_path):
    path = current(tmp_path / "input.i3d")
    given = ["case.flow=my.py:velocity", "scalar[0].schmidt=0.7", "scalar[0].initial=my.py:begin"]
    given += ['scalar[0].boundaries=["no-flux", "no-flux", "periodic"]', "scalar[0].name=dye"]
    arguments = [word for text in given for word in ("--set", text)]
    result = mpi_run.tailrace("run", path.name, *arguments, cwd=tmp_path, limit=60)
    assert result.code == 0, result.text
    dye = np.fromfile(tmp_path / "data" / "dye-0.bin")
    assert (dye == 0.25).all()
    with tr.open(tmp_path / "data") as series:
        assert series[0]["ux"].max() > 0.9


@pytest.mark.parametrize(
    ("text", "initial"), [("scalar[0].initial=0.5", 0.5), ("scalar[0].initial=my.py:begin", "my.py:begin")]
)
def test_another_beginning_of_a_scalar_takes_nothing_of_the_front(tmp_path, text, initial):
    case, _ = read_input(current(tmp_path / "input.i3d"), [text])
    (scalar,) = case.scalar
    assert (scalar.initial, scalar.front, scalar.thickness, scalar.level) == (initial, None, None, None)
    case, _ = read_input(current(tmp_path / "input.i3d"), ["scalar[0].schmidt=0.7"])
    assert (case.scalar[0].schmidt, case.scalar[0].initial, case.scalar[0].front) == (0.7, "front", 1.0)


def test_a_front_of_the_user_still_needs_all_of_its_keys(tmp_path):
    path = write_input(tmp_path / "input.i3d", numscalar=1, scalar="sc=1.0")
    with pytest.raises(ConfigError, match="front and thickness go with initial = 'front', which needs both"):
        read_input(path, ["scalar[0].initial=front"])


def test_the_note_about_a_flow_at_rest_ends_with_another_flow(tmp_path):
    path = write_input(tmp_path / "input.i3d", iin=0, ncly1=1, nclyn=1)
    assert any("begins at rest" in note for note in read_input(path)[1])
    assert not any("begins at rest" in note for note in read_input(path, ["case.flow=my.py:velocity"])[1])
