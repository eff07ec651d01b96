"""What a run replaces is of Tailrace, and everything is checked before anything is touched."""

import shutil
from types import SimpleNamespace

import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.inputs.analyses import output, script, write_case
from tailrace.consumers.output import Output
from tailrace.io.coupling import LeftOut
from tailrace.io.time_series import TimeSeries, read_time_series
from tailrace.simulation.write_checks import check_targets

PRECIOUS = "\x89HDF\nprecious, and of another program\n"
BLOCK = '[[analysis]]\nscript = "script.py"\nevery = 2\n'
FIGURE = """
import matplotlib.pyplot as plt

def analyse(step):
    return {"line": plt.figure()}
"""


@pytest.fixture(scope="module")
def done(tailrace, tmp_path_factory):
    """A directory with a case, and what a run of it left."""
    directory = tmp_path_factory.mktemp("done")
    script(directory, FIGURE)
    tailrace(directory, "run", write_case(directory, output("h5", "hdf5", "run.h5"), BLOCK))
    return directory


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize("more", [(), ("--resume",)], ids=["new", "resumed"])
@pytest.mark.parametrize(
    "name", ["time_series.csv", "run.h5", "analysis/script.csv", "analysis/script.h5", "analysis/script-final.csv"]
)
def test_files_of_others_are_refused_before_anything_is_touched(tailrace, done, tmp_path, name, more):
    directory = tmp_path / "run"
    shutil.copytree(done, directory)
    tailrace(directory, "run", "case.toml", "--set=checkpoint.every=2")
    (directory / "analysis/script.csv").write_text("# Tailrace time series\n# analysis script\nstep,time\n")
    (directory / name).write_text(PRECIOUS)
    before = contents(directory)
    said = tailrace(directory, "run", "case.toml", "--set=checkpoint.every=2", *more, ranks=2, code=1).err
    assert f"{name} is there already" in said.replace(":", "")
    assert contents(directory) == before


def test_a_list_of_steps_left_out_is_one_of_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = tr.load_case(write_case(tmp_path, output("s", "sst", "run")))
    check_targets(case, MPI.COMM_SELF)
    (tmp_path / "s-left-out.csv").write_text(PRECIOUS)
    with pytest.raises(tr.InputError, match="is there already"):
        check_targets(case, MPI.COMM_SELF)


def test_pictures_of_others_stay(tailrace, done, tmp_path):
    """Pictures are removed when a run begins again, and only those that we drew."""
    directory = tmp_path / "run"
    shutil.copytree(done, directory)
    pictures = directory / "analysis"
    (pictures / "script-mine-000004.png").write_text(PRECIOUS)
    (pictures / "script-line-000008.png").write_bytes((pictures / "script-line-000006.png").read_bytes())
    tailrace(directory, "run", "case.toml")
    assert (pictures / "script-mine-000004.png").read_text() == PRECIOUS
    assert not (pictures / "script-line-000008.png").exists()
    (pictures / "script-line-000004.png").write_text(PRECIOUS)
    said = tailrace(directory, "run", "case.toml", code=1).err
    assert "script-line-000004.png is there already, and is no picture of analysis script" in said
    assert (pictures / "script-line-000004.png").read_text() == PRECIOUS


LOSES = """
import os
from pathlib import Path

def analyse(step, path, at):
    if step.index == at and step.comm.rank == 0:
        os.rename(path, path + ".old")
        Path(path).write_text("of somebody else")
    return step.time
"""


@pytest.mark.parametrize("at", [2, 6])
@pytest.mark.parametrize("name", ["time_series.csv", "analysis/script.csv", "analysis/budget.csv"])
def test_a_file_that_is_lost_during_a_run_is_an_error(tailrace, tmp_path, name, at):
    """Also where nothing is written to it any more, as by the step at which the run ends."""
    script(tmp_path, LOSES)
    other = '[[analysis]]\nscript = "budget"\ntimes = [0.0, 0.02]\n'
    case = write_case(tmp_path, other, BLOCK + f'[analysis.parameters]\npath = "{name}"\nat = {at}\n')
    said = tailrace(tmp_path, "run", case, ranks=2, code=1).err
    assert f"cannot write {name}: the file was replaced by somebody else while it was being written" in said
    assert "Traceback" not in said
    assert (tmp_path / name).read_text() == "of somebody else"


def test_results_that_are_lost_during_an_analysis_are_an_error(tailrace, done, tmp_path):
    path = script(tmp_path, LOSES)
    for at in (2, 6):
        out = tmp_path / str(at)
        values = (f"--set=path={out / 'script.csv'}", f"--set=at={at}")
        said = tailrace(done, "analyse", path, "run.h5", "-o", out, *values, ranks=2, code=1).err
        assert "script.csv: the file was replaced by somebody else" in said


def test_steps_that_nobody_wanted_are_not_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = Output.__new__(Output)
    output.section, output._resumed, output._recorded = SimpleNamespace(name="s", path="s", engine="sst"), None, -1
    output._comm = MPI.COMM_SELF
    output._series = SimpleNamespace(dropped=[LeftOut(1, 0.1, "unread"), LeftOut(2, 0.2, "dropped")])
    monkeypatch.setattr("tailrace.consumers.output.ENGINES", {"sst": SimpleNamespace(streams=True)})
    output._record_left_out()
    assert list(read_time_series(tmp_path / "s-left-out.csv")["step"]) == [2]


def test_a_list_of_steps_left_out_that_is_lost_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = Output.__new__(Output)
    output.section, output._resumed, output._recorded = SimpleNamespace(name="s", path="s"), None, -1
    output._append_left_out([LeftOut(1, 0.1, "dropped")])
    output._append_left_out([LeftOut(2, 0.2, "skipped")])
    path = tmp_path / "s-left-out.csv"
    assert list(read_time_series(path)["step"]) == [1, 2]
    TimeSeries(path).close()
    for why in ("it was replaced by somebody else while", "No such file or directory"):
        with pytest.raises(tr.IoError, match=rf"cannot write s-left-out\.csv: {why}"):
            output._append_left_out([LeftOut(3, 0.3, "dropped")])
        path.unlink(missing_ok=True)
