"""Wrong case files, places that cannot be written, and flow functions that fail: one clear message, on any ranks."""

from pathlib import Path

import pytest

from helpers.inputs import cases
from helpers.inputs.cases import message, run

SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"

# ---- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [None, 3])
def test_wrong_case_file(tmp_path, ranks):
    case = cases.write_case(tmp_path)
    case.write_text(case.read_text().replace("reynolds = 100.0", "reynold = 100.0").replace("dt = 0.01", "dt = -1.0"))
    text = message(run(case, ranks=ranks), code=2)
    assert "did you mean case.reynolds?" in text
    assert "time.dt" in text
    assert not (tmp_path / "time_series.csv").exists()


def test_no_toml_at_all(tmp_path):
    case = cases.write_case(tmp_path)
    case.write_text("[case\nreynolds = ")
    assert "case.toml" in message(run(case), code=2)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("itype = 2", "itype = 3", ["itype"]),
        ("nx=33", "nx=three", ["nx"]),
        ("&BasicParam", "&BasicPram", ["BasicParam"]),
        ("nclx1 = 1", "nclx1 = 3", ["nclx"]),
        ("dt = 0.005", "", ["dt"]),
    ],
)
def test_wrong_namelist(tmp_path, old, new, words):
    path = tmp_path / "input.i3d"
    text = (SAMPLE / "input.i3d").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    error = message(run(path), code=2)
    assert all(word in error for word in words), error


def test_too_many_ranks(tmp_path):
    case = cases.write_case(tmp_path, points=(8, 8, 9))
    text = message(run(case, ranks=11))
    assert "11 ranks are too many for 8 x 8 x 9 points" in text


def test_process_grid_that_does_not_fit(tmp_path):
    text = message(run(cases.write_case(tmp_path), "--set=parallel.rows=2", "--set=parallel.cols=2", ranks=3))
    assert "2 x 2 does not fit 3 ranks" in text


def test_slabs_for_devices_that_do_not_fit_the_ranks(tmp_path):
    """Both keys are named: the number of rows follows from the device."""
    text = message(run(cases.write_case(tmp_path), "--set=numerics.device=gpu", "--set=parallel.cols=2", ranks=4))
    assert "parallel.rows = 1, parallel.cols = 2" in text


# ---- places that cannot be written -----------------------------------------------------------------------------------


def make_file(path):
    path.write_text("precious")


@pytest.mark.parametrize("ranks", [None, 2])
@pytest.mark.parametrize(
    "engine, setting, prepare, words",
    [
        ("hdf5", 'output[0].path="out.h5"', lambda d: (d / "out.h5").mkdir(), ["out.h5", "directory"]),
        ("raw", 'output[0].path="out"', lambda d: make_file(d / "out"), ["out", "file"]),
        ("bp5", 'output[0].path="out.bp"', lambda d: make_file(d / "out.bp"), ["out.bp", "file"]),
        ("hdf5", 'output[0].path="/proc/no/out.h5"', None, ["/proc/no"]),
        ("raw", 'output[0].path="/proc/out"', None, ["/proc"]),
        ("bp5", 'output[0].path="blocked/out.bp"', lambda d: make_file(d / "blocked"), ["blocked"]),
        (None, 'diagnostics.path="history"', lambda d: (d / "history").mkdir(), ["history"]),
        (None, 'diagnostics.path="/proc/no/history.csv"', None, ["/proc/no"]),
        (None, 'checkpoint.path="blocked"', lambda d: make_file(d / "blocked"), ["blocked"]),
        (None, 'checkpoint.path="/proc/no"', None, ["/proc/no"]),
    ],
)
def test_places_that_cannot_be_written(tmp_path, engine, setting, prepare, words, ranks):
    case = cases.write_case(tmp_path, steps=2, every=2, outputs=(engine,) if engine else ())
    if prepare:
        prepare(tmp_path)
    text = message(run(case, f"--set={setting}", ranks=ranks))
    assert all(word in text for word in words), text
    for path in (tmp_path / "out", tmp_path / "out.bp", tmp_path / "blocked"):
        assert not path.is_file() or path.read_text() == "precious"


def test_missing_directories_are_made(tmp_path):
    case = cases.write_case(tmp_path, steps=2, every=2, outputs=("hdf5", "raw", "bp5", "sion"))
    text = case.read_text().replace('path = "out', 'path = "a/b/out').replace("keep = 2", 'keep = 2\npath = "c/d"')
    case.write_text(text.replace("[diagnostics]", '[diagnostics]\npath = "e/f/history.csv"'))
    result = run(case, ranks=2)
    assert result.code == 0, result.text
    for path in ("a/b/out.h5", "a/b/out", "a/b/out.bp", "a/b/out.sion", "c/d/step-00000002", "e/f/history.csv"):
        assert (tmp_path / path).exists()


# ---- the user's own flow ---------------------------------------------------------------------------------------------

FLOWS = {
    "raises": ("    return undefined_name, 0 * x, 0 * x", ["NameError", "undefined_name"]),
    "exits": ("    raise SystemExit('enough')", ["SystemExit", "enough"]),
    "two arrays": ("    return 0 * x, 0 * y", ["three arrays", "2 values"]),
    "nothing": ("    pass", ["three arrays", "NoneType"]),
    "another shape": ("    return np.zeros((3, 4, 5)), 0 * y, 0 * z", ["ux of own.py:", "shape (3, 4, 5); expected ("]),
    "text": ("    return 'fast', 0 * y, 0 * z", ["ux of own.py:", "must be numbers; found str"]),
    "not finite": ("    return 1 / (x - x), 0 * y, 0 * z", ["ux = inf", "x = 0"]),
    "complex": ("    return np.exp(1j * x), 0 * y, 0 * z", ["complex", "ux"]),
    "through a wall": ("    return 0 * x, np.cos(np.pi * y / 3) + 0 * x, 0 * z", ["uy is 1 on the first y boundary"]),
}


@pytest.mark.parametrize("what", list(FLOWS))
def test_flow_functions_that_fail(tmp_path, what):
    body, words = FLOWS[what]
    case = cases.write_case(tmp_path, "mixed", flow="own.py:velocity")
    (tmp_path / "own.py").write_text(
        f"import numpy as np\nnp.seterr(all='ignore')\ndef velocity(x, y, z):\n    x = x.astype(float)\n"
        f"{body.replace('1 / (x - x)', 'np.float64(1) / abs(x)')}\n"
    )
    case.write_text(case.read_text().replace('flow = "flow.py', 'flow = "own.py'))
    text = message(run(case))
    assert all(word in text for word in words), text


ON_ONE_RANK = {
    "function": "def velocity(x, y, z):\n    if y.max() < 2.9: return 0 * x, 0 * y, 0 * z\n"
    "    raise ArithmeticError('high')\n",
    "exit": "def velocity(x, y, z):\n    if y.max() < 2.9: return 0 * x, 0 * y, 0 * z\n    raise SystemExit('high')\n",
    "nan": "def velocity(x, y, z):\n    return 0 * x, 0 * y, np.where(y > 2.9, np.nan, 1.0) + 0 * x\n",
    "wall": "def velocity(x, y, z):\n    return 0 * x, np.where(y > 2.9, 0.5, 0.0) + 0 * x, 0 * z\n",
    "import": "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 2: raise ArithmeticError('high')\n"
    "def velocity(x, y, z):\n    return 0 * x, 0 * y, 0 * z\n",
}


@pytest.mark.parametrize("what", list(ON_ONE_RANK))
def test_flow_functions_that_fail_on_one_rank(tmp_path, what):
    case = cases.write_case(tmp_path, "mixed", flow="own.py:velocity")
    (tmp_path / "own.py").write_text("import numpy as np\n" + ON_ONE_RANK[what])
    result = run(case, "--set=parallel.rows=4", "--set=parallel.cols=1", ranks=4)
    code = 2 if what == "import" else 1  # a file that does not load is wrong input
    assert {"nan": "uz = nan", "wall": "last y boundary"}.get(what, "high") in message(result, code)


def test_flow_at_rest_on_a_whole_rank_is_no_flow_through_a_wall(tmp_path):
    """On the plane z = 0.75 this flow is 1e-17: rounding, which must not be compared with itself."""
    case = cases.write_case(tmp_path, "free-slip", steps=1, points=(9, 9, 9), flow="own.py:velocity")
    (tmp_path / "own.py").write_text(
        "import numpy as np\n\n\ndef velocity(x, y, z):\n"
        "    c = np.cos(np.pi * z / 1.5)\n"
        "    return np.sin(np.pi * x / 2) * c + 0 * y, 0 * x, 1e-3 * np.sin(np.pi * z / 1.5) * np.abs(c)\n"
    )
    result = run(case, "--set=parallel.rows=1", "--set=parallel.cols=9", ranks=9)
    assert result.code == 0, result.text
