"""Scripts: how they are found, what is wrong with them, and how their parameters are set."""

from pathlib import Path

import matplotlib
import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.pictures import pictures
from tailrace.analysis.script import load
from tailrace.analysis.script_results import sort
from tailrace.analysis.script_runner import ScriptRunner
from tailrace.case.scripts import check_analysis, ready_made
from tailrace.replay.analyse import load_scripts
from tailrace.steps.step import Step

FUNCTION = """
def analyse(step, *, alpha=1.0, count: int = 3, name="x", flag=False, free=None, many=(1, 2)):
    return {"alpha": alpha}
"""
CLASS = """
class Base:
    def step(self, step):
        return None

class _Hidden:
    def step(self, step):
        return None

class Mean(Base):
    def __init__(self, width: float, *, depth: int = 2):
        self.width, self.depth = width, depth
"""


@pytest.fixture
def write(tmp_path):
    def put(text, name="script.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return put


def test_ready_made_ones_are_found_by_name():
    assert {"enstrophy", "budget", "qcriterion"} <= set(ready_made())
    for name in ready_made():
        check_analysis(name, Path())
        assert load(name).name == name


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("enstropy", "did you mean 'enstrophy'"),
        ("nothing", "ready-made: budget"),
        ("scirpt.py", "did you mean script.py"),
        ("other/no.py", "there is no file"),
    ],
)
def test_what_is_not_there_is_named(write, tmp_path, word, said):
    write(FUNCTION)
    for find in (check_analysis, load):
        with pytest.raises(ValueError, match=said):
            find(word, tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def analyse(step)\n    return 1\n", "line 1"),
        ("def analyze(step):\n    return 1\n", "neither a function 'analyse' nor a class with 'step'; it has analyze"),
        ("", "no functions and classes"),
    ],
)
def test_what_cannot_run_is_reported_without_running_it(write, tmp_path, text, said):
    path = write(text)
    with pytest.raises(ValueError, match=said):
        check_analysis(path, tmp_path)
    with pytest.raises((ValueError, AnalysisError), match=said):
        load(path)


def test_a_script_that_fails_when_loaded_names_its_line(write):
    path = write("import math\n\nx = math.sqrt(-1)\ndef analyse(step): pass\n")
    with pytest.raises(AnalysisError, match=r"script.py, line 3.*ValueError: math domain error"):
        load(path)


def test_several_candidates_are_listed_and_one_is_chosen(write, tmp_path):
    path = write(FUNCTION + "class Other:\n    def step(self, step): return None\n")
    check_analysis(path, tmp_path)
    with pytest.raises(tr.InputError, match="several functions or classes to run: Other, analyse"):
        load(path)
    assert load(f"{path}:analyse").parameters()["alpha"].default == 1.0
    assert load(f"{path}:Other").is_class
    with pytest.raises(tr.InputError, match="no 'Missing'"):
        load(f"{path}:Missing")


def test_a_class_is_found_with_its_inherited_step(write):
    with pytest.raises(tr.InputError, match="several functions or classes to run: Base, Mean"):
        load(write(CLASS))
    script = load(f"{write(CLASS)}:Mean")
    assert list(script.parameters()) == ["width", "depth"]
    with pytest.raises(tr.InputError, match="'width' has no default"):
        script.check_complete()
    script.set("width", 2)
    script.check_complete()
    assert script.make().width == 2.0


def test_parameters_take_the_type_of_their_default(write):
    values = ["alpha=2", "count=5", "name=7", "flag=true", "free=[1, 2]", "many=[3]"]
    (script,) = load_scripts([write(FUNCTION)], values)
    assert script.values == {"alpha": 2.0, "count": 5, "name": "7", "flag": True, "free": [1, 2], "many": (3,)}
    assert isinstance(script.values["alpha"], float)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("alpa=1", "has no parameter 'alpa'; did you mean 'alpha'"),
        ("alpha=much", "must be a number"),
        ("count=1.5", "must be a whole number"),
        ("flag=1", "must be true or false"),
        ("other:alpha=1", "there is no script 'other'; there are script"),
        ("alpha", "must be NAME=VALUE"),
    ],
)
def test_wrong_parameters_are_reported(write, value, said):
    with pytest.raises(tr.InputError, match=said):
        load_scripts([write(FUNCTION)], [value])


def test_parameters_go_to_those_who_have_them(write):
    one, two = write(FUNCTION), write("def analyse(step, alpha=0): return alpha", "two.py")
    first, second = load_scripts([one, two], ["alpha=2", "two:alpha=3", "count=4"])
    assert first.values == {"alpha": 2.0, "count": 4}
    assert second.values == {"alpha": 3}
    with pytest.raises(tr.InputError, match="two scripts have the name 'script'"):
        load_scripts([one, one], [])


# ---- results ---------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def ops():
    return tr.Operators((8, 9, 10), (1.0, 2.0, 3.0), ("periodic", "free-slip", "periodic"))


def test_results_are_sorted_by_kind(ops):
    f = tr.Field.from_function(ops, 1.0)
    v = tr.Vector.from_function(ops, lambda x, y, z: (x, y, z))
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    found = sort(
        {"a": 1, "b": np.float32(2), "c": np.array(3.0), "d": True, "e": None, "f": f, "w": v, "vort": v,
         "p": np.arange(3), "q": np.zeros((2, 3)), "fig": Figure()},
        "name",
    )  # fmt: skip
    assert found.numbers == {"a": 1.0, "b": 2.0, "c": 3.0, "d": 1.0}
    assert list(found.fields) == ["f", "wx", "wy", "wz", "vort_x", "vort_y", "vort_z"]
    assert list(found.arrays) == ["p", "q"]
    assert list(found.figures) == ["fig"]
    assert sort(2.0, "my-name").numbers == {"my_name": 2.0}
    assert list(sort(f, "name").fields) == ["name"]
    assert list(sort(f.like(f.data, name="own"), "name").fields) == ["own"]
    assert list(sort(Figure(), "name").figures) == ["figure"]
    assert sort(None, "name").signature() == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": "text"}, "'a' is of type str"),
        ({"a": 1j}, "'a' is of type complex"),
        ({"a": np.zeros((2, 2, 2))}, r"'a' is an array of shape \(2, 2, 2\)"),
        ({"a": np.zeros(2, complex)}, "complex128"),
        ({"a b": 1}, "not 'a b'"),
        ({3: 1}, "not 3"),
        ({"step": 1}, "give this result another name"),
        ([1, 2], "'name' is of type list"),
    ],
)
def test_what_cannot_be_stored_is_named(value, said):
    with pytest.raises(TypeError, match=said):
        sort(value, "name")


def test_fields_that_cannot_be_stored_are_named(ops):
    f = tr.Field.from_function(ops, 1.0)
    for value, said in (
        (tr.interpolate(f, "x", "centre"), "'a' is a field on cell centres; tr.interpolate"),
        (f.like(f.data + 1j), "'a' is a field of complex128; expected one of"),
        (tr.grad(tr.Vector(f, f, f)), "'a' is a Tensor, of which components are stored"),
    ):
        with pytest.raises(TypeError, match=said):
            sort({"a": value}, "name")
    assert list(sort({"a": f > 0.5}, "name").fields) == ["a"]


def test_figures_of_one_script_are_not_those_of_another(tmp_path):
    for name in ("a-figure-000001.png", "a-b-figure-000002.png", "a-x-000003.png", "a-x-3.png"):
        (tmp_path / name).touch()
    assert sorted(step for _, step in pictures(tmp_path, "a")) == [1, 3]
    assert [step for _, step in pictures(tmp_path, "a-b")] == [2]


# ---- steps -----------------------------------------------------------------------------------------------------------
def make_step(ops, names, **attributes):
    return Step(4, 0.5, ops, names, lambda name: ops.empty(), attributes=attributes)


def test_parities_are_known_or_given(ops):
    names = [
        "ux",
        "uy",
        "uz",
        "vorticity_x",
        "vorticity_y",
        "vorticity_z",
        "pressure",
        "new",
        "odd",
        "a_1",
        "a_2",
        "a_3",
    ]
    step = make_step(ops, names, **{"odd/parity": [1, -1, 1]})
    assert step["uy"].parity == (1, -1, 1)
    assert step["ux"].parity == step["pressure"].parity == step["vorticity_y"].parity == (1, 1, 1)
    assert step["vorticity_x"].parity == (1, -1, 1)
    assert step["new"].parity == (1, 0, 1)
    assert step["odd"].parity == (1, -1, 1)
    assert step["ux"] is step.vector("u")["x"]
    assert step.vector("vorticity")["z"] is step["vorticity_z"]
    assert step.vector("a")["z"] is step["a_3"]
    with pytest.raises(ValueError, match="read-only"):
        step["ux"][...] = 0.0


def test_what_a_step_has_not_is_named(ops):
    step = make_step(ops, ["ux", "uy", "pressure"])
    with pytest.raises(tr.InputError, match="no field 'presure'; did you mean 'pressure'"):
        step["presure"]
    with pytest.raises(tr.InputError, match="vector 'u': step 4 has no field 'uz'"):
        step.vector("u")
    with pytest.raises(tr.InputError, match=r"no attribute 'reynolds'.*--grid"):
        _ = step.viscosity
    assert step.dt is None
    assert "ux" in step and "uz" not in step


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 1 / 0", "script.py, line 3, in analyse: ZeroDivisionError"),
        ("return step['uX']", "line 3, in analyse: InputError: step 4 has no field 'uX'; did you mean 'ux'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return {'a': 'text'}", "'a' is of type str"),
        (
            "return {'a': tr.Field.from_function(tr.Operators((9, 9, 9), (1, 1, 1), ['periodic'] * 3), 1.0)}",
            "'a' is a field on another grid",
        ),
    ],
)
def test_errors_name_file_and_line(write, ops, body, said):
    running = ScriptRunner(load(write(f"import tailrace as tr\ndef analyse(step):\n    {body}\n")), MPI.COMM_SELF)
    with pytest.raises(AnalysisError, match=said) as caught:
        running.step(make_step(ops, ["ux"]))
    assert "analysis 'script' failed at step 4, t = 0.5" in str(caught.value)
