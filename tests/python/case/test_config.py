"""The case file: what it accepts, and what it says about everything else."""

import math
import tomllib

import pytest

from helpers.inputs.case_texts import FLOW, GOOD, load, output, problems
from tailrace.case.case import Case, ConfigError, load_case
from tailrace.case.document import apply_overrides
from tailrace.case.values import parse_length


def test_a_short_case_and_its_defaults(tmp_path):
    case = load(tmp_path)
    assert case.grid.points == (33, 48, 17)
    assert case.grid.lengths == (math.pi, 2 * math.pi, 1.5)
    assert case.viscosity == 1 / 1600
    assert (case.time.scheme, case.time.total_steps, case.time.end_time) == ("rk3", 100, 1.0)
    assert (case.numerics.precision, case.numerics.interpolation) == ("double", "aggressive")
    assert (case.parallel.rows, case.parallel.cols, case.parallel.transpose) == (0, 0, "auto")
    assert (case.diagnostics.every, case.diagnostics.path) == (10, "time_series.csv")
    assert (case.checkpoint.every, case.checkpoint.minutes, case.checkpoint.keep) == (0, 0.0, 2)
    assert case.output == []
    assert case.initial_velocity() is None
    assert case.warnings() == []


def test_a_byte_order_mark_is_no_part_of_the_case(tmp_path):
    (tmp_path / "case.toml").write_text(GOOD, encoding="utf-8-sig")
    assert load_case(tmp_path / "case.toml").grid.points == (33, 48, 17)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (2, 2),
        ("2", 2.0),
        ("pi", math.pi),
        ("2*pi", 2 * math.pi),
        ("pi/2", math.pi / 2),
        (" 3 * pi / 4 ", 3 * math.pi / 4),
        ("1e-3*pi", 1e-3 * math.pi),
        ("1/3", 1 / 3),
    ],
)
def test_lengths(text, value):
    assert parse_length(text) == value


@pytest.mark.parametrize("text", ["", "2pi", "pi pi", "2**pi", "pi*", "1/0", "__import__('os')", "2+1", "Pi", "pi/-"])
def test_lengths_that_are_none(text):
    with pytest.raises(ValueError, match="expression of numbers, pi"):
        parse_length(text)


def test_a_case_survives_toml(tmp_path):
    text = GOOD + output(
        'times = [0.1, 0.25]\nparameters = {NumAggregators = 2, AsyncWrite = "On", Direct = true, X = 0.5}'
    )
    case = load(tmp_path, text + output("interval = 0.3", "b", "raw") + "[checkpoint]\nminutes = 5.5\n")
    written = case.to_toml()
    assert load(tmp_path, written) == case
    assert tomllib.loads(written)["output"][0]["parameters"] == {
        "NumAggregators": 2,
        "AsyncWrite": "On",
        "Direct": True,
        "X": 0.5,
    }


def test_every_problem_is_named_at_once(tmp_path):
    text = """
dt = 3
[case]
reynold = 1600
flow = "taylor_green"
[grid]
points = [64, 4, 64.5]
lengths = ["2*pi", "2pi", -1]
boundaries = ["periodic", "dirichlet", "freeslip"]
[time]
dt = true
scheme = "rk4"
steps = 3
[checkpoint]
kep = 3
keep = 0
[[output]]
name = "a"
fields = ["ux", "vortcity"]
every = 1
engine = "hdf"
[[output]]
name = "b/"
fields = []
times = [1.0, 1.0]
engine = "raw"
parameters = {a = [1]}
[outputs]
"""
    found = problems(tmp_path, text)
    expected = {
        "case.flow": "a Python function as 'file.py:function'; did you mean 'taylor-green'? (found \"taylor_green\")",
        "case.reynolds": "is missing: the Reynolds number",
        "case.reynold": "unknown key; did you mean case.reynolds? (found 1600)",
        "grid.points[1]": "must be at least 8 (found 4)",
        "grid.points[2]": "must be a whole number (found 64.5)",
        "grid.lengths[1]": 'such as "2*pi" (found "2pi")',
        "grid.lengths[2]": "must be greater than 0 (found -1)",
        "grid.boundaries[1]": "is called 'wall' here",
        "grid.boundaries[2]": "did you mean 'free-slip'? (found \"freeslip\")",
        "time.dt": "must be a number (found true)",
        "time.scheme": "must be 'euler', 'ab2', 'ab3' or 'rk3'; did you mean 'rk3'? (found \"rk4\")",
        "checkpoint.keep": "must be at least 1 (found 0)",
        "checkpoint.kep": "unknown key; did you mean checkpoint.keep?",
        "output[0] ('a').fields": "did you mean 'vorticity'?",
        "output[0] ('a').engine": (
            "must be 'adios_hdf5', 'bp4', 'bp5', 'hdf5', 'mpiio', 'null', 'raw', 'sion' or 'sst'; did you mean 'hdf5'?"
        ),
        "output[1] ('b/').name": "files are named after it",
        "output[1] ('b/').fields": "must not be empty",
        "output[1] ('b/').times": "must rise: 1 comes after 1",
        "output[1] ('b/').parameters.a": "must be text, a number or true/false",
        "dt": "it belongs to [time]",
        "outputs": "unknown key; did you mean output?",
    }
    for key, reason in expected.items():
        assert reason in found.get(key, "-"), key
    assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("reynolds = 1600", "reynolds = 0", "case.reynolds", "must be greater than 0"),
        ("reynolds = 1600", "reynolds = nan", "case.reynolds", "must be a finite number"),
        ("reynolds = 1600", "reynolds = inf", "case.reynolds", "must be a finite number"),
        ("reynolds = 1600", 'reynolds = "1600"', "case.reynolds", "must be a number"),
        (
            "points = [33, 48, 17]",
            "points = [33, 48]",
            "grid.points",
            "must have three values, for x, y and z; it has 2",
        ),
        ("points = [33, 48, 17]", "points = 33", "grid.points", "must be a list of three values"),
        ("points = [33, 48, 17]", "points = [33, 48, true]", "grid.points[2]", "must be a whole number"),
        ("dt = 0.01", "dt = -0.01", "time.dt", "must be greater than 0 (found -0.01)"),
        ("steps = 100", "steps = 1e2", "time.steps", "must be a whole number"),
        ("steps = 100", "", "time", "exactly one of steps (a number) and end (a time); found neither"),
        ("steps = 100", "steps = 100\nend = 1.0", "time", "found both"),
        ("steps = 100", "steps = 100\n[output]\nname = 'a'", "output", "write [[output]], with double brackets"),
        ("[case]", "[case]\nname = '../x'", "case.name", "must be a name of letters"),
        ("[case]", "grid_ = 1\n[case]", "grid_", "did you mean grid?"),
    ],
)
def test_single_problems(tmp_path, old, new, key, reason):
    found = problems(tmp_path, GOOD.replace(old, new))
    assert list(found) == [key]
    assert reason in found[key]


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("", "found none"),
        ("every = 1\ninterval = 0.5", "found every and interval"),
        ("every = 1\ninterval = 0.5\ntimes = [1.0]", "found every and interval and times"),
    ],
)
def test_an_output_has_one_rhythm(tmp_path, rest, reason):
    assert reason in problems(tmp_path, GOOD + output(rest))["output[0] ('a')"]


def test_an_output_names_its_place_after_itself(tmp_path):
    text = GOOD + output(name="a", engine="bp5") + output(name="b", engine="hdf5") + output(name="c", engine="raw")
    assert [each.path for each in load(tmp_path, text).output] == ["a.bp", "b.h5", "c"]


def test_names_and_places_are_used_once(tmp_path):
    text = (
        GOOD
        + output()
        + output()
        + output("every = 1\npath = 'a.h5'", "b")
        + output("every = 1\npath = 'checkpoints'", "c")
    )
    found = problems(tmp_path, text)
    assert found["output[1].name"] == "'a' is taken by output[0].name"
    assert found["output[2].path"] == "'a.h5' is taken by output[0].path"
    assert found["output[3].path"] == "'checkpoints' is taken by checkpoint.path"


def test_adams_bashforth_cannot_land_between_its_steps(tmp_path):
    text = GOOD.replace("dt = 0.01", 'dt = 0.01\nscheme = "ab3"').replace("steps = 100", "end = 1.004")
    text += output("interval = 0.1") + output("times = [0.2, 0.333]", "b")
    found = problems(tmp_path, text)
    assert "nearest multiple is 0.33" in found["output[1] ('b').times[1]"]
    assert "ab3 cannot shorten a step" in found["output[1] ('b').times[1]"]
    assert "nearest multiple is 1" in found["time.end"]
    assert len(found) == 2, "0.1 and 0.2 are multiples, up to rounding"
    assert load(tmp_path, text.replace("ab3", "rk3")).time.total_steps == 101


def test_an_interval_below_the_step_is_refused(tmp_path):
    assert "use every = 1" in problems(tmp_path, GOOD + output("interval = 0.001"))["output[0] ('a').interval"]


def test_single_precision_stores_what_it_has(tmp_path):
    text = GOOD + '[numerics]\nprecision = "single"\n' + output() + output("every = 1\nprecision = 'float64'", "b")
    assert [each.precision for each in load(tmp_path, text).output] == ["float32", "float64"]


def test_warnings_name_what_is_never_reached(tmp_path):
    text = GOOD + output("every = 101") + output("times = [0.5, 1.0, 2.0]", "b") + "[checkpoint]\nevery = 200\n"
    found = load(tmp_path, text).warnings()
    assert found[0] == "output[0] ('a'): every = 101 is more than the 100 steps of the run"
    assert found[1] == "output[1] ('b'): the run ends at 1, before 2"
    assert "checkpoint.every = 200" in found[2]


@pytest.mark.parametrize(("end", "steps"), [(20.0, 4000), (0.015, 3), (0.0151, 4), (0.3, 60), (0.001, 1)])
def test_steps_to_an_end_time(tmp_path, end, steps):
    text = GOOD.replace("dt = 0.01", "dt = 0.005").replace("steps = 100", f"end = {end}")
    assert load(tmp_path, text).time.total_steps == steps


def test_overrides_take_the_place_of_the_file(tmp_path):
    overrides = [
        "time.end=0.5",
        "time.scheme=ab2",
        "grid.points[1]=64",
        'grid.lengths=["pi", "pi", "pi"]',
        "output[0].every=3",
        "output[0].parameters.BufferSize=10",
        "checkpoint.minutes=2",
        "case.name = short",
    ]
    case = load(tmp_path, GOOD + output("times = [0.1]"), overrides)
    assert (case.time.end, case.time.steps, case.time.scheme) == (0.5, None, "ab2"), "end replaces steps"
    assert case.grid.points == (33, 64, 17)
    assert (case.output[0].every, case.output[0].times) == (3, None)
    assert case.output[0].parameters == {"BufferSize": 10}
    assert case.checkpoint.minutes == 2
    assert case.case.name == "short"


def test_overrides_of_parameters_leave_those_beside_them(tmp_path):
    block = '[[analysis]]\nscript = "enstrophy"\nevery = 1\n[analysis.parameters]\ncfl = 1\nflow = "a"\n'
    case = load(tmp_path, GOOD + block, ["analysis[0].parameters.dt=0.1", "analysis[0].parameters.from=b"])
    assert case.analysis[0].parameters == {"cfl": 1, "flow": "a", "dt": 0.1, "from": "b"}


@pytest.mark.parametrize(
    ("override", "key", "reason"),
    [
        ("time.dt=x y", "--set time.dt=x y", "'x y' is not a TOML value"),
        ("time.dt=", "--set time.dt=", "'nothing' is not a TOML value"),
        ("time.dt", "--set time.dt", "must be key=value"),
        ("=3", "--set =3", "must be key=value"),
        ("time..dt=3", "--set time..dt=3", "is not a key"),
        ("grid.points[3]=9", "--set grid.points[3]=9", "asks for entry 3, but there are 3 (counted from 0)"),
        ("output[0].every=9", "--set output[0].every=9", "asks for entry 0, but there are 0"),
        ("case.reynolds.x=9", "--set case.reynolds.x=9", "there is a single value, not a table, at 'reynolds'"),
        ("time.dt=-1", "time.dt", "must be greater than 0 (found -1), by --set"),
        ("time.steps=5.0", "time.steps", "must be a whole number (found 5.0), by --set"),
        ("time.stesp=5", "time.stesp", "unknown key; did you mean time.steps? (found 5), by --set"),
        ("time.scheme=rk4", "time.scheme", '(found "rk4"), by --set'),
        ("time.dt=1\nsteps=4", "--set time.dt=1\nsteps=4", "is not a TOML value"),
    ],
)
def test_wrong_overrides(tmp_path, override, key, reason):
    found = problems(tmp_path, GOOD, [override])
    assert reason in found[key]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("[case]\nname = 'x'\nreynolds = 1,600\n", "line 3", "in: reynolds = 1,600"),
        ("[grid]\nlengths = [2*pi, 1, 1]\n", "line 2", 'expressions stand in quotes: "2*pi"'),
        ("[grid]\nlengths = [pi, 1, 1]\n", "line 2", 'expressions stand in quotes: "2*pi"'),
        ("[case]\n[case]\n", "line 2", "in: [case]"),
        ("[case]\nname = 'x", "", "is not valid TOML"),
    ],
)
def test_broken_toml_names_the_line(tmp_path, text, key, words):
    found = problems(tmp_path, text)
    assert [each for each in found if each.startswith(key)]
    assert words in next(iter(found.values()))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "tgv.toml").write_text(GOOD)
    with pytest.raises(ConfigError, match=r"tvg.toml: there is no such file; did you mean tgv.toml\?"):
        load_case(tmp_path / "tvg.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not a text file"):
        load_case(tmp_path / "b.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_case(tmp_path)


def test_a_flow_of_ones_own(tmp_path):
    (tmp_path / "flow.py").write_text(FLOW)
    case = load(tmp_path, GOOD.replace("[case]", '[case]\nflow = "flow.py:shear"'))
    velocity = case.initial_velocity()
    assert velocity(0.0, math.pi / 2, 0.0)[0] == 2.0
    assert case.to_toml().count("flow.py:shear") == 1


@pytest.mark.parametrize(
    ("flow", "reason"),
    [
        ("flows.py:shear", "there is no file"),
        ("flow.py:sheer", "has no function 'sheer'; it has shear"),
        ("flow.py", "as 'file.py:function'"),
        ("broken.py:f", "is not valid Python"),
    ],
)
def test_flows_that_are_not_there(tmp_path, flow, reason):
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert reason in problems(tmp_path, GOOD.replace("[case]", f'[case]\nflow = "{flow}"'))["case.flow"]


def test_a_flow_file_that_fails_says_so(tmp_path):
    (tmp_path / "flow.py").write_text("import numpyy\ndef f(x, y, z): ...\ng = 3\n")
    case = load(tmp_path, GOOD.replace("[case]", '[case]\nflow = "flow.py:f"'))
    with pytest.raises(ConfigError, match="loading it failed: ModuleNotFoundError: No module named 'numpyy'"):
        case.initial_velocity()
    (tmp_path / "flow.py").write_text("g = 3\n")
    case = load(tmp_path, GOOD.replace("[case]", '[case]\nflow = "flow.py:g"'))
    with pytest.raises(ConfigError, match=r"'g' is not a function \(found 3\)"):
        case.initial_velocity()


def test_a_flow_file_that_exits_is_an_error_of_the_case(tmp_path):
    (tmp_path / "flow.py").write_text("import sys\ndef f(x, y, z): ...\nsys.exit('no')\n")
    case = load(tmp_path, GOOD.replace("[case]", '[case]\nflow = "flow.py:f"'))
    with pytest.raises(ConfigError, match="loading it failed: SystemExit: no"):
        case.initial_velocity()


def test_a_case_does_not_change_under_a_run(tmp_path):
    case = load(tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        case.time.dt = 1.0
    assert isinstance(case, Case)


@pytest.mark.parametrize("key", ["parallel.rows", "parallel.cols"])
def test_more_ranks_than_mpi_can_count(tmp_path, key):
    assert "must be at most 2.14748e+09" in problems(tmp_path, overrides=[f"{key}={2**31}"])[key]
    load(tmp_path, overrides=[f"{key}={2**31 - 1}"])


@pytest.mark.parametrize("overrides", [["time.end=5.0", "time.steps=3"], ["time.steps=3", "time.end=5.0"]])
def test_an_override_that_excludes_another_one_is_told(overrides):
    """In a file both are an error; the later one holds, and is not silent about the earlier one."""
    document = {"time": {"dt": 0.1, "end": 1.0}}
    problems, notes = apply_overrides(document, overrides)
    first = overrides[0].partition("=")[0]
    assert not problems and first.partition(".")[2] not in document["time"]
    assert len(notes) == 1 and notes[0].startswith(f"--set {overrides[1]} leaves out {first} = ")
    assert apply_overrides({"time": {"dt": 0.1, "end": 1.0}}, ["time.steps=3"]) == ([], []), "that of the file goes"


def test_steps_that_are_shortened_are_not_counted(tmp_path):
    """A run that ends steps at times of outputs makes more of them than end / dt."""
    text = GOOD.replace("steps = 100", "end = 1.0")
    case = load(tmp_path, text + output("interval = 0.015") + output("every = 101", "b"))
    assert case.time.total_steps == 100 and case.total_steps is None
    assert not any("is more than" in line for line in case.warnings())
    assert load(tmp_path, text + output("interval = 0.02") + output("every = 101", "b")).total_steps == 100
