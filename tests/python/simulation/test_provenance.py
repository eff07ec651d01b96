"""Every file of a run tells who made it and how, and gives its case back."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from tailrace.files.provenance import KEYS, comments, of_comments, of_program
from tailrace.io.time_series import read_provenance

ENGINES = ("raw", "hdf5", "bp4", "bp5", "sion", "adios_hdf5")
BLOCK = '[[analysis]]\nscript = "mean.py"\nevery = 4\n'
SCRIPT = "def analyse(step):\n    return {'mean': step['ux'].mean(), 'ux': step['ux']}\n"
FILES = ("out", "out.h5", "out.bp4", "out.bp", "out.sion", "out.adios_hdf5", "time_series.csv", "analysis/mean.csv")
SERIES = ("analysis/mean.h5", "checkpoints/step-00000008", "checkpoints")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = cases.write_case(tmp_path_factory.mktemp("run"), steps=8, every=4, outputs=ENGINES, extra=BLOCK)
    (case.parent / "mean.py").write_text(SCRIPT)
    assert mpi_run.tailrace("run", case, "--set=case.reynolds=77", cwd=case.parent, ranks=2).code == 0
    return case.parent


def command(directory: Path, *words: object, code: int = 0) -> str:
    result = KEPT.result(directory, *words)
    assert result.code == code, result.text
    return result.out if code == 0 else result.err


@pytest.mark.parametrize("name", [*FILES, *SERIES])
def test_the_case_comes_back(done: Path, tmp_path: Path, name: str):
    """It is the case with all its values, also those of the command line, and it runs."""
    told = command(done, "case", name)
    found = tomllib.loads(told)
    assert found["case"]["reynolds"] == 77
    assert found["grid"]["points"] == list(cases.BOXES["mixed"][0])
    assert [output["engine"] for output in found["output"]] == list(ENGINES)
    for script in ("flow.py", "mean.py"):
        (tmp_path / script).write_bytes((done / script).read_bytes())
    (tmp_path / "case.toml").write_text(told)
    assert tr.load_case(tmp_path / "case.toml").to_toml() == told


@pytest.mark.parametrize("name", [*FILES, *SERIES[:2]])
def test_who_when_and_how(done: Path, name: str):
    path = done / name
    told = read_provenance(path) if path.suffix == ".csv" else tr.open(path).attributes
    assert told["made_by"] == "run"
    assert told["version"] == tr.__version__
    assert told["date"].startswith("20") and told["date"].endswith("Z")
    assert int(told["ranks"]) == 2
    assert told["mpi"] == tr.core.build_info()["mpi"]
    assert told["host"] == MPI.Get_processor_name()
    assert told["command"].startswith("tailrace run ")
    assert "--set=case.reynolds=77" in told["command"]
    assert told.get("commit", "") == tr.core.build_info()["commit"]
    shown = command(done, "info", name)
    assert told["date"] in shown
    assert "tailrace run" in shown


def test_a_resumed_run_is_the_same_run(tmp_path: Path):
    case = cases.write_case(tmp_path, steps=4, every=2, outputs=("hdf5",))
    assert cases.run(case).code == 0
    first = tr.open(tmp_path / "out.h5").attributes["run"]
    assert read_provenance(tmp_path / "time_series.csv")["run"] == first
    assert cases.run(case, "--resume", "--set=time.steps=8").code == 0
    assert tr.open(tmp_path / "out.h5").attributes["run"] == first
    assert tr.open(tmp_path / "checkpoints/step-00000008").attributes["run"] == first
    assert cases.run(case, "--overwrite").code == 0
    assert tr.open(tmp_path / "out.h5").attributes["run"] != first


def test_checkpoints_tell_the_case_of_the_newest(tmp_path: Path):
    """A resumed run may have another end, or another Reynolds number."""
    case = cases.write_case(tmp_path, steps=1, every=1, keep=3)
    assert cases.run(case).code == 0
    assert cases.run(case, "--resume", "--set=time.steps=3").code == 0
    (tmp_path / "checkpoints" / "step-00000004.partial").mkdir()  # of a run that was killed in it
    assert cases.checkpoints(tmp_path) == [1, 2, 3]
    for name, steps in (("", 3), ("/step-00000001", 1), ("/step-00000002", 3)):
        found = tomllib.loads(command(tmp_path, "case", f"checkpoints{name}"))
        assert found["time"]["steps"] == steps, name


def test_what_does_not_know(tmp_path: Path):
    with tr.open(tmp_path / "own.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    assert "does not tell the case" in command(tmp_path, "case", "own.h5", code=2)
    (tmp_path / "old.csv").write_text("# Tailrace time series\nstep,time,x\n0,0.0,1.0\n")
    assert "does not tell the case" in command(tmp_path, "case", "old.csv", code=2)
    (tmp_path / "notes.txt").write_text("mine")
    assert "is no series" in command(tmp_path, "case", "notes.txt", code=2)


def test_comments_there_and_back():
    told = {"made_by": "run", "version": "1.2", "command": "tailrace run 'a b.toml'", "case": "[case]\n\n[a]\nx = 1\n"}
    assert of_comments(["title: of mine", *comments(told), "step, time: of the state"]) == told
    assert of_comments(["only: a title"]) == {}
    assert comments({}) == []


def test_comments_are_one_line_each_but_for_the_case():
    told = {"source": "a\n b\n", "case": "[a]\n\n x = 1\n\n", "other": "not told", "host": "", "ranks": 3}
    assert comments(told) == ["ranks: 3", "source: a b", "case:", "  [a]", "", "   x = 1"]
    assert of_comments(comments(told)) == {"ranks": "3", "source": "a b", "case": "[a]\n\n x = 1\n"}
    assert of_comments(["case:", "  [a]", "", "  x: 1", "no colon", "other: 1"]) == {"case": "[a]\n\nx: 1\n"}
    assert comments({"case": ""}) == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["/usr/bin/tailrace", "run", "a b.toml"], "tailrace run 'a b.toml'"),
        (["/x/tailrace/cli/__main__.py", "info"], "tailrace info"),
        (["./my_program.py", "3"], "./my_program.py 3"),
    ],
)
def test_the_command_as_it_was_given(monkeypatch, argv, said):
    monkeypatch.setattr("sys.argv", argv)
    assert of_program("run", 3)["command"] == said


def test_what_is_known_of_a_program():
    found = of_program("beside", 3)
    assert (found["made_by"], found["ranks"], found["version"]) == ("beside", 3, tr.__version__)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["date"])
    assert "" not in found.values()
    assert list(found) == [key for key in KEYS if key in found], "in their order"


def test_the_version():
    assert tr.__version__.count(".") == 2


def test_the_command_is_that_of_the_user(tmp_path: Path):
    """The ranks are started with other words, and in another directory."""
    case = cases.write_case(tmp_path, steps=1, every=1, outputs=("hdf5",))
    words = ("run", case.name, "-n", "2", "--directory", "there", "--set=case.reynolds=30")
    result = mpi_run.tailrace(*words, cwd=tmp_path)
    assert result.code == 0, result.text
    assert "note: files are relative to there\n" in result.err
    told = str(tr.open(tmp_path / "there/out.h5").attributes["command"])
    assert told == f"tailrace run {case.name} -n 2 --directory there --set=case.reynolds=30"
    wrong = mpi_run.tailrace("resume", case.name, "-n", "2", cwd=tmp_path)
    assert wrong.code == 2 and "tailrace run CASE --resume" in wrong.err
