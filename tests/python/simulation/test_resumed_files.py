"""What a resumed run goes on writing: missing files are noticed, and `finish` of a class is never of nothing."""

import shutil

import numpy as np
import pytest

import tailrace as tr
from helpers.inputs import cases
from tailrace.io.time_series import read_time_series

BLOCK = '[[analysis]]\nscript = "count.py"\nevery = 2\n'
COUNT = "def analyse(step):\n    return {'x': step.time}\n"


def stopped(directory, more=""):
    """A case that was stopped at step 4 of 6."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "count.py").write_text(COUNT)
    case = cases.write_case(directory, steps=6, every=2, outputs=("hdf5", "bp5", "raw"), extra=BLOCK + more)
    assert cases.run(case, "--set=time.steps=4").code == 0
    return case


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


FILES = {
    "time_series.csv": "diagnostics.path",
    "out.h5": "path of output 'hdf5'",
    "out.bp": "path of output 'bp5'",
    "out": "path of output 'raw'",
    "analysis/count.csv": "out of analysis 'count'",
    "analysis/count.h5": "out of analysis 'count'",
}


def test_files_that_are_missing_are_named_before_anything_is_touched(tmp_path):
    case = stopped(tmp_path / "run")
    kept = shutil.copytree(case.parent, tmp_path / "kept")
    for ranks, (name, key) in zip((None, 2, None, 2, None, None), FILES.items(), strict=True):
        remove(case.parent / name)
        said = cases.message(cases.run(case, "--resume", ranks=ranks))
        assert f"{name} ({key})" in said and "not there any more" in said
        assert not (case.parent / name).exists()
        others = [other for other in FILES if other != name and other.endswith(("csv", "h5"))]
        assert all((case.parent / other).read_bytes() == (kept / other).read_bytes() for other in others)
        (shutil.copytree if (kept / name).is_dir() else shutil.copy2)(kept / name, case.parent / name)
    for name in ("time_series.csv", "out.h5"):
        remove(case.parent / name)
    for same in ((), ("--set=diagnostics.path=./time_series.csv", "--set=output[0].path=analysis/../out.h5")):
        said = cases.message(cases.run(case, "--resume", *same))
        assert "time_series.csv (diagnostics.path), out.h5 (path of output 'hdf5')" in said
    result = cases.run(case, "--resume", "--set=diagnostics.path=rest.csv", "--set=output[0].path=rest.h5")
    assert result.code == 0, result.text
    assert list(read_time_series(case.parent / "rest.csv")["step"]) == [4, 5, 6]


@pytest.mark.parametrize("name", ["out", "out.bp"])
def test_a_directory_that_was_emptied_counts_as_missing(tmp_path, name):
    """A run that found nothing there would begin the series again, without a word of the steps that are gone."""
    case = stopped(tmp_path)
    remove(tmp_path / name)
    (tmp_path / name).mkdir()
    said = cases.message(cases.run(case, "--resume"))
    assert f"{name} ({FILES[name]})" in said and "not there any more" in said
    assert not list((tmp_path / name).iterdir())


@pytest.mark.parametrize("name", FILES)
def test_results_of_another_run_are_not_gone_on_with(tmp_path, name):
    """They would be cut at the step of the checkpoint, and would then say that all of it is of this run."""
    case = stopped(tmp_path / "run")
    other = stopped(tmp_path / "other")
    remove(case.parent / name)
    (shutil.copytree if (other.parent / name).is_dir() else shutil.copy2)(other.parent / name, case.parent / name)
    before = sorted((path, path.stat().st_mtime_ns) for path in case.parent.rglob("*"))
    said = cases.message(cases.run(case, "--resume"))
    assert f"results of another run than that of the checkpoint: {name} ({FILES[name]})" in said
    assert sorted((path, path.stat().st_mtime_ns) for path in case.parent.rglob("*")) == before


def test_what_is_at_the_path_of_a_new_output_stays(tmp_path):
    """A series of the user, which says of no run that it is of it, and one of another run."""
    case = stopped(tmp_path / "run")
    new = '[[output]]\nname = "new"\nfields = ["ux"]\nevery = 2\nengine = "hdf5"\npath = "new.h5"\n'
    case.write_text(case.read_text() + new)
    with tr.open(case.parent / "new.h5", "w") as series:
        for index in range(9):
            series.write_step(float(index), index=index, ux=np.ones((8, 9, 10)))
    said = cases.message(cases.run(case, "--resume"))
    assert "results of another run than that of the checkpoint: new.h5 (path of output 'new')" in said
    with tr.open(case.parent / "new.h5") as series:
        assert len(series) == 9
    (case.parent / "new.h5").unlink()
    assert cases.run(case, "--resume").code == 0
    assert cases.run(case, "--resume", "--set=time.steps=8").code == 0, "its own results are gone on with"


def test_a_checkpoint_of_another_run_is_not_gone_on_from(tmp_path):
    case, other = stopped(tmp_path / "run"), stopped(tmp_path / "other")
    shutil.rmtree(case.parent / "checkpoints")
    shutil.copytree(other.parent / "checkpoints", case.parent / "checkpoints")
    said = cases.message(cases.run(case, "--resume"))
    assert "results of another run than that of the checkpoint: time_series.csv (diagnostics.path), out.h5" in said


def test_an_output_may_be_added_when_a_run_is_resumed(tmp_path):
    case = stopped(tmp_path)
    new = '[[output]]\nname = "new"\nfields = ["ux"]\nevery = 2\nengine = "hdf5"\npath = "new.h5"\n'
    case.write_text(case.read_text() + new)
    result = cases.run(case, "--resume")
    assert result.code == 0, result.text
    with tr.open(tmp_path / "new.h5") as series:
        assert [step.index for step in series] == [4, 6]


def test_an_output_with_another_rhythm_has_the_step_that_the_run_is_resumed_from(tmp_path):
    """It was not due before, so that it is not there."""
    case = cases.write_case(tmp_path, steps=6, every=2, outputs=("hdf5",))
    rhythm = "--set=output[0].every="
    assert cases.run(case, "--set=time.steps=4", f"{rhythm}3").code == 0
    result = cases.run(case, "--resume", f"{rhythm}2")
    assert result.code == 0, result.text
    with tr.open(tmp_path / "out.h5") as series:
        assert [step.index for step in series] == [0, 3, 4, 6]
        assert series.verify() == []


FORGETS = """
class Count:
    def __init__(self):
        self.seen = []
    def step(self, step):
        self.seen.append(step.index)
        return {"index": step.index}
    def finish(self):
        return {"first": self.seen[0], "steps": len(self.seen)}
"""


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_class_without_save_has_its_last_word_on_what_it_saw(tmp_path, ranks):
    (tmp_path / "forgets.py").write_text(FORGETS)
    block = '[[analysis]]\nscript = "forgets.py"\nevery = 4\n'
    case = cases.write_case(tmp_path, steps=5, every=1, keep=9, extra=block)
    final = tmp_path / "analysis/forgets-final.csv"
    first = cases.run(case, ranks=ranks)
    assert first.code == 0 and "note:" not in first.out, first.text
    assert list(read_time_series(final)["step"]) == [5]

    def resumed(end, seen):
        result = cases.run(case, "--resume", f"--set=time.steps={end}", ranks=ranks)
        assert result.code == 0, result.text
        assert f"'forgets' has no `save`: it starts without what it saw up to step {seen}, and" in result.out
        rows = read_time_series(final)
        return list(zip(rows["step"], rows["first"], rows["steps"], strict=True))

    assert resumed(6, 4) == [(5, 0, 2)]
    assert resumed(7, 4) == [(5, 0, 2)], "it saw nothing more, and its results are still those of all steps"
    assert resumed(9, 4) == [(9, 8, 1)]
    for step in range(7, 10):
        shutil.rmtree(tmp_path / f"checkpoints/step-{step:08d}")
    assert resumed(7, 4) == [], "those of step 9 were after the checkpoint"
