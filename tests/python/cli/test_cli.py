"""The command: exit codes, clean messages."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from helpers.harness.as_click import invoke as tailrace
from tailrace.case import templates
from tailrace.case.case import load_case
from tailrace.cli import main as cli
from tailrace.io.time_series import COLUMNS, TimeSeries

TEMPLATES = ["channel", "cylinder", "hit", "lock-exchange", "mixing", "own-flow", "scalar", "tgv", "turbulence"]
SAMPLE = Path(__file__).parents[2] / "data" / "xcompact3d" / "tgv33"
PACKAGES = str(Path(cli.__file__).parents[2])

pytestmark = pytest.mark.usefixtures("outside_mpi")


@pytest.fixture
def case_file(tmp_path):
    assert tailrace("new", "tgv").exit_code == 0
    return tmp_path / "tgv.toml"


@pytest.fixture
def solver(monkeypatch):
    """A solver that records its arguments and returns a given answer."""
    module = types.ModuleType("tailrace.simulation.simulation")
    module.calls, module.answer = [], lambda: 0

    def run(case, resume, change, overwrite, live):
        module.calls.append((case, resume, overwrite, live))
        return module.answer()

    module.run = run
    monkeypatch.setitem(sys.modules, "tailrace.simulation.simulation", module)
    return module


def raises(error):
    def answer():
        raise error

    return answer


def test_new_writes_a_case_that_is_valid_and_commented(case_file):
    case = load_case(case_file)
    assert case.grid.points == (64, 64, 64)
    text = case_file.read_text()
    for key in (key for section in tomllib.loads(text).values() if isinstance(section, dict) for key in section):
        assert key in text
    others = set(type(case).model_fields) - set(tomllib.loads(text))
    shown = {section for name in TEMPLATES for section in tomllib.loads(templates.case_of(name))}
    assert others == {"parameters", "boundary", "forcing", "scalar", "body", "picture", "catalyst"}, (
        "the template shows every section of a box"
    )
    # A pipeline is a file of its own, which `tailrace catalyst template` writes.
    assert others - {"catalyst"} <= shown, "the other templates show those of other flows"
    for name in ("case", "grid", "time", "numerics", "parallel", "diagnostics", "checkpoint"):
        fields = type(getattr(case, name)).model_fields
        keys = {field.alias or key for key, field in fields.items()}
        missing = {key for key in keys if not re.search(rf"\b{key}\b", text)}
        assert missing <= {"parameters"}, "the template shows every key, if only in a comment"


def test_new_never_overwrites(case_file):
    case_file.write_text("mine")
    result = tailrace("new", "tgv")
    assert (result.exit_code, case_file.read_text()) == (2, "mine")
    assert "exists and is left as it is" in result.stderr
    assert tailrace("new", "tgv", "--path", "other.toml").exit_code == 0
    assert tailrace("new", "tgv", "--path", "none/other.toml").exit_code == 2


def test_new_knows_its_templates():
    known = TEMPLATES
    assert f"there is no template 'tvg'; there are: {', '.join(known)} " in tailrace("new", "tvg").stderr
    assert "which template? there are: channel, cylinder" in tailrace("new").stderr
    lines = tailrace("new", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == known
    assert all(len(line) < 120 and line.endswith(".") for line in lines), "one sentence each"


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_a_case_and_says_how_to_run_it(tmp_path, name):
    place = tmp_path / "sub"
    place.mkdir()
    said = tailrace("new", name, "--path", place / "mine.toml").stdout
    case = load_case(place / "mine.toml")
    assert case.case.name == name
    assert case.time.dt == "auto"
    assert case.warnings() == []
    assert f"  tailrace run {place / 'mine.toml'} -n 2" in said.splitlines()[-3]
    assert "tailrace live ." in said.splitlines()[-2]
    for path in place.iterdir():
        assert str(path) in said
    assert callable(case.initial_velocity()) == (name in ("channel", "mixing", "own-flow"))


def test_new_writes_all_files_or_none(tmp_path):
    (tmp_path / "my_flow.py").write_text("mine")
    result = tailrace("new", "own-flow")
    assert result.exit_code == 2
    assert "my_flow.py exists and is left as it is" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my_flow.py"]
    assert (tmp_path / "my_flow.py").read_text() == "mine"


def test_run_hands_the_case_to_the_solver(case_file, solver):
    result = tailrace("run", case_file, "--resume", "--set", "time.end=3.0", "--set", "grid.points[0]=48")
    assert result.exit_code == 0, result.stderr
    assert tailrace("run", case_file, "--overwrite").exit_code == 0
    (case, *first), (_, *second) = solver.calls
    assert (case.time.end, case.grid.points[0]) == (3.0, 48)
    assert (first, second) == ([True, False, "no"], [False, True, "no"])
    for option, shown in (("--live", "yes"), ("--live-control", "with control")):
        assert tailrace("run", case_file, option).exit_code == 0
        assert solver.calls[-1][-1] == shown


def test_run_takes_an_input_of_xcompact3d_and_says_what_it_leaves(solver):
    result = tailrace("run", SAMPLE / "input.i3d", "--set", "time.steps=7")
    assert result.exit_code == 0
    assert solver.calls[0][0].time.steps == 7
    assert "note: InOutParam.ilist" in result.stderr
    assert "warning: checkpoint.every = 4000 is more than the 7 steps" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(28, "No space left on device"), 1, "tailrace: No space left on device"),
        (RuntimeError("step 12: ux is NaN at (3, 4, 5)"), 1, "tailrace: step 12: ux is NaN at (3, 4, 5)"),
        (MemoryError(), 1, "tailrace: MemoryError"),
    ],
)
def test_failures_are_one_message(case_file, solver, capfd, error, code, message):
    solver.answer = raises(error)
    result = tailrace("run", case_file)
    assert result.exit_code == code
    assert result.stderr.strip() == message


def test_a_traceback_on_request(case_file, solver, monkeypatch):
    monkeypatch.setenv("TAILRACE_TRACEBACK", "1")
    solver.answer = raises(RuntimeError("deep"))
    assert "Traceback" in tailrace("run", case_file).stderr


def test_a_defect_shows_its_traceback(case_file, solver):
    solver.answer = raises(KeyError("x"))
    result = tailrace("run", case_file)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "please report it" in result.stderr


def test_the_exit_code_is_that_of_the_run(case_file, solver):
    solver.answer = lambda: 143
    assert tailrace("run", case_file).exit_code == 143


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.toml"], "tailrace: none.toml: there is no such file"),
        (["run", "case.txt"], "a case is a .toml file or an Xcompact3D .i3d file"),
        (
            ["run", "tgv.toml", "--set", "time.dtt=1"],
            "time.dtt: unknown key; did you mean time.dt? (found 1), by --set",
        ),
        (["run", "tgv.toml", "-n", "0"], "-n"),
        (["case", "none.i3d"], "there is no such file"),
        (["plot", "none.csv"], "none.csv"),
        (["plot", "tgv.toml"], "is no series and no table"),
        (["plot", "tgv.toml", "-o", "c.txt"], "a picture is a .png, .pdf or .svg file"),
        (["paint"], "No such command"),
    ],
)
def test_wrong_input_is_one_clean_message(case_file, solver, arguments, message):
    result = tailrace(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert solver.calls == []


@pytest.mark.parametrize("way", ["resume", "overwrite"])
def test_every_option_of_analyse_reaches_the_ranks(monkeypatch, way):
    """What `-n` starts is asked for the same as one rank is."""
    from dataclasses import fields

    from tailrace.replay.analyse import AnalysisRequest

    words = ["analyse", "budget", "spectrum", "run.h5", "--out=there", "--set=a=1", "--set=spectrum:b=2", "--every=2"]
    words += ["--steps=1:9", "--steps-at-once=2", "--grid=grid.toml", "--engine=bp5", f"--{way}", "--precision=float32"]
    words += ["--on-error=off", "--beside-run"]
    asked, started = [], []
    monkeypatch.setattr("tailrace.replay.analyse.analyse", lambda request: asked.append(request) or 0)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # the command gives up Python's handler of Ctrl-C
    monkeypatch.setattr(
        "tailrace.cli.ranks.launch.start", lambda ranks, words, **_: started.append((ranks, words)) or 0
    )
    assert tailrace(*words).exit_code == 0
    assert tailrace(*words, "-n", 2).exit_code == 0
    ((ranks, passed),) = started
    assert ranks == 2
    assert tailrace(*passed).exit_code == 0
    alone, on_ranks = asked
    assert on_ranks == alone
    plain = AnalysisRequest(["budget"], "run.bp", resume=way != "resume", overwrite=way != "overwrite")
    assert [one.name for one in fields(AnalysisRequest) if getattr(alone, one.name) == getattr(plain, one.name)] == []


def test_case_converts_and_keeps_the_notes_apart(tmp_path):
    result = tailrace("case", SAMPLE / "input.i3d")
    assert result.exit_code == 0
    (tmp_path / "case.toml").write_text(result.stdout)
    assert load_case(tmp_path / "case.toml").grid.boundaries == ("free-slip",) * 3
    assert "note: " in result.stderr
    assert "note: " not in result.stdout


def test_plot_prints_where_the_pictures_are(tmp_path):
    with TimeSeries(tmp_path / "time_series.csv") as series:
        for step in range(5):
            series.append({**dict.fromkeys(COLUMNS, 0.1), "step": step, "time": float(step)})
    result = tailrace("plot", "time_series.csv", "--reference", SAMPLE / "time_evol.dat")
    assert (result.exit_code, result.stdout.strip()) == (0, "time_series.png"), result.stderr
    assert (tmp_path / "time_series.png").stat().st_size > 10_000


def test_other_ranks_speak_only_where_the_first_has_not_ended_the_job(monkeypatch, capsys):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    said_before = []
    monkeypatch.setattr("tailrace.cli.common.time.sleep", lambda _: said_before.append(capsys.readouterr().err))
    result = tailrace("run", "none.toml")
    assert (said_before, result.exit_code) == ([""], 2)
    assert result.output == "[rank 1] tailrace: none.toml: there is no such file\n"


def test_version_and_help_are_quick_and_light():
    heavy = ["numpy", "pydantic", "mpi4py", "h5py", "matplotlib"]
    script = f"import sys; from tailrace.cli import main; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
    )
    assert answer.stdout.strip() == "[]", "heavy modules are for the commands that need them"
    assert tailrace("--version").stdout.startswith("tailrace")
    assert "doctor" in tailrace("--help").stdout


def test_completion():
    """What the shell asks with its tab key, and the script that --show-completion gives it."""
    asked = {"_TAILRACE_COMPLETE": "complete_bash", "COMP_WORDS": "tailrace ver", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from tailrace.cli.main import main; main()"]
    environment = {**os.environ, "PYTHONPATH": PACKAGES, **asked}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=True)
    assert answer.stdout.split() == ["verify"]
    assert {"--install-completion", "--show-completion"} <= set(tailrace("--help").stdout.split())


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("tailrace.render.plot", ("plot", "a.csv")),
        ("tailrace.replay.analyse", ("analyse", "enstrophy", "a.h5")),
        ("tailrace.replay.render", ("render", "a.toml", "a.h5")),
        ("tailrace.conversion.request", ("convert", "a.h5", "b.h5")),
        ("tailrace.inspection.contents", ("info", "a.h5")),
        ("tailrace.simulation.simulation", ("run", "tgv.toml")),
    ],
)
def test_a_library_that_does_not_load_is_told(outside_mpi, tmp_path, monkeypatch, lost, words):
    """As where a package is missing: no traceback, and where to look."""
    monkeypatch.chdir(tmp_path)
    assert tailrace("new", "tgv").exit_code == 0
    monkeypatch.setitem(sys.modules, lost, None)
    package, _, name = lost.rpartition(".")
    if hasattr(importlib.import_module(package), name):
        monkeypatch.delattr(importlib.import_module(package), name)
    result = tailrace(*words)
    assert result.exit_code == 1 and "tailrace doctor says what is missing" in result.stderr, result.output
