"""`tailrace analyse` in one process: what it prints, replaces, refuses and gives back."""

from __future__ import annotations

import io
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from tailrace.analysis.errors import AnalysisError
from tailrace.core import FileLock, InputError, IoError
from tailrace.io.time_series import read_provenance, read_time_series
from tailrace.replay import analyse as replay
from tailrace.replay import run_beside
from tailrace.replay.analyse import Analyse, AnalysisRequest, analyse
from tailrace.replay.source import SeriesSource

SELF = MPI.COMM_SELF
GRID = tr.UniformGrid((8, 9, 10), spacing=(1 / 8, 1 / 9, 1 / 10), boundaries=("periodic",) * 3)
MEAN = "def analyse(step):\n    return {'mean': step['ux'].mean()}\n"


def write(path: Path, *steps: int, **attributes: Any) -> Path:
    with tr.open(path, "w", grid=GRID) as out:
        for name, value in attributes.items():
            out.set_attribute(name, value)
        for index in steps:
            out.write_step(0.1 * index, index=index, ux=np.full((10, 9, 8), float(index)))
    return path


@pytest.fixture
def request_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes requests for scripts of these texts on a flow of three steps."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "run.h5", 0, 2, 4)

    def make(*texts: str, source: str = "run.h5", **how: Any) -> AnalysisRequest:
        words = []
        for name, text in zip(("mean", "other"), texts, strict=False):
            (tmp_path / f"{name}.py").write_text(text)
            words.append(f"{name}.py")
        return AnalysisRequest(words, source, **how)

    return make


def run(request: AnalysisRequest) -> int:
    return Analyse(request, SELF).run()


def rows(name: str = "mean") -> list[float]:
    return list(read_time_series(Path("analysis") / f"{name}.csv")["step"])


# ---- what is printed and stored --------------------------------------------------------------------------------------
def test_what_is_told_of_a_function(request_of: Any, capsys: pytest.CaptureFixture[str]):
    assert analyse(request_of(MEAN)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("mean: 3 steps with results, ") and lines[0].endswith(
        " s in the script -> analysis/mean.*"
    )
    assert lines[1].startswith("analysed run.h5 in ") and lines[1].endswith(" s")
    assert rows() == [0, 2, 4] and read_provenance(Path("analysis/mean.csv"))["made_by"] == "analyse"
    assert read_provenance(Path("analysis/mean.csv"))["source"] == "run.h5"
    assert not Path("analysis/mean-final.csv").exists()


LAST = """
class Last:
    def __init__(self, fails=-1):
        self.last, self.fails = -1, fails

    def step(self, step):
        print("saw", step.index)
        self.last = step.index
        if step.index >= self.fails >= 0:
            raise ValueError("out of luck")

    def finish(self):
        return {"last": self.last}
"""


def test_what_is_told_of_a_last_word(request_of: Any, capsys: pytest.CaptureFixture[str]):
    assert run(request_of(LAST)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["saw 0", "saw 2", "saw 4"] and lines[3].startswith("mean: no results, ")
    assert lines[4] == "mean-final: 1 step with results -> analysis/mean-final.*" and len(lines) == 6
    assert list(read_time_series(Path("analysis/mean-final.csv"))["last"]) == [4]


def test_a_script_that_is_switched_off_is_called_no_more(request_of: Any, capsys: pytest.CaptureFixture[str]):
    """Neither with the steps that follow, nor at the end; and it is told once."""
    assert run(request_of(LAST, MEAN, values=["mean:fails=2"], on_error="off")) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[:2] == ["saw 0", "saw 2"] and lines[2].startswith("mean: no results, ")
    assert lines[3].startswith("other: 3 steps with results, ") and len(lines) == 5
    assert said.err.count("out of luck") == 1 and said.err.startswith("tailrace: analysis 'mean' failed at step 2")
    assert rows("other") == [0, 2, 4] and not Path("analysis/mean-final.csv").exists()


def test_a_script_that_has_its_results_is_not_called(request_of: Any, capsys: pytest.CaptureFixture[str]):
    """While another one goes on."""
    loud = MEAN.replace("return", "print('saw', step.index); return")
    run(request_of(loud))
    request = request_of(loud, MEAN, chosen=slice(1))
    run(AnalysisRequest(request.scripts[1:], "run.h5", chosen=slice(1)))
    capsys.readouterr()
    assert run(request_of(loud, MEAN, resume=True)) == 0
    assert "saw" not in capsys.readouterr().out
    assert rows() == rows("other") == [0, 2, 4]


def test_lost_steps_are_counted(request_of: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write(tmp_path / "lost.h5", 0, 2, 6, 12, every=2)
    run(request_of(MEAN, source="lost.h5"))
    assert "missed 3 steps that the source does not have\n" in capsys.readouterr().out
    run(request_of(MEAN, source="lost.h5", chosen=slice(2), overwrite=True))
    assert "missed" not in capsys.readouterr().out


@pytest.mark.parametrize("made_by", ["run", "other"])
def test_files_cost_no_side_anything(request_of: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], made_by: str):
    write(tmp_path / "of-run.h5", 0, made_by=made_by)
    run(request_of(MEAN, source="of-run.h5"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and "waiting" not in lines[1]


def test_lines_come_at_once(request_of: Any, monkeypatch: pytest.MonkeyPatch):
    """Who reads them through a pipe waits for none."""
    seen: dict[str, list[str]] = {"stdout": [], "stderr": []}

    class Pipe(io.StringIO):
        def __init__(self, name: str) -> None:
            super().__init__()
            self._name = name

        def flush(self) -> None:
            seen[self._name].append(self.getvalue())

    for name in seen:
        monkeypatch.setattr(sys, name, Pipe(name))
    run(request_of(LAST.replace('print("saw", step.index)', "pass"), values=["fails=2"], on_error="off"))
    monkeypatch.undo()
    assert [text.splitlines()[-1].split()[0] for text in seen["stdout"]] == ["mean:", "analysed"]
    assert len(seen["stderr"]) == 1 and seen["stderr"][0].endswith("everything else continues\n")


def test_a_long_time_is_told_in_minutes(request_of: Any, capsys: pytest.CaptureFixture[str]):
    job = Analyse(request_of(MEAN), SELF)
    job._started -= 3600
    job.run()
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("analysed run.h5 in ") and not line.endswith(" s")


# ---- where results go ------------------------------------------------------------------------------------------------
def test_results_go_to_the_engine_of_the_source(request_of: Any, tmp_path: Path):
    """Unless the user chooses one, or it stores nothing of ours."""
    field = "def analyse(step):\n    return step['ux']\n"
    write(tmp_path / "run.bp", 0)
    grid = tmp_path / "grid.toml"
    grid.write_text('[grid]\nlengths = [1.0, 1.0, 1.0]\nboundaries = ["periodic", "periodic", "periodic"]\n')
    for source, engine, path in (
        ("run.h5", None, "mean.h5"),
        ("run.bp", None, "mean.bp"),
        ("run.bp", "hdf5", "mean.h5"),
        ("run.h5.xdmf2", None, "mean.h5"),
        ("run.h5", "raw", "mean"),
    ):
        out = tmp_path / f"{source}-{engine}"
        run(request_of(field, source=source, engine=engine, out=out, grid=grid if "xdmf2" in source else None))
        assert (out / path).exists(), (source, engine)


def test_what_is_there_is_looked_at_before_anything_begins(request_of: Any):
    """Also where a last word would go."""
    Path("analysis").mkdir()
    for name, said in (("mean-final.csv", "mean-final"), ("mean.csv", "mean")):
        path = Path("analysis") / name
        path.write_text("mine")
        with pytest.raises(InputError, match=f"{name} is there already, and is no result of an analysis '{said}'"):
            Analyse(request_of(MEAN), SELF)
        assert path.read_text() == "mine"
        path.unlink()
    assert not list(Path("analysis").glob("*.csv"))


def test_earlier_results_go_with_the_first_new_step(request_of: Any):
    """Also where it is the only one; and nothing of them is left beside."""
    run(request_of(MEAN))
    with pytest.raises(InputError, match=r"there are results of an earlier run: .*mean\.csv"):
        run(request_of(MEAN))
    assert run(request_of(MEAN, overwrite=True, chosen=slice(1, 2))) == 0
    assert rows() == [2] and not list(Path("analysis").glob("*.earlier*"))
    with tr.open("analysis/mean.h5") as found:
        assert [step.index for step in found] == [2]


def test_earlier_results_come_back_where_there_is_no_new_step(request_of: Any):
    run(request_of(MEAN))
    with pytest.raises(AnalysisError, match="ZeroDivisionError") as caught:
        run(request_of("def analyse(step): return 1 / 0", overwrite=True))
    assert rows() == [0, 2, 4] and not list(Path("analysis").glob("*.earlier*"))
    assert caught.value.__cause__ is not None


def test_all_is_given_back_at_the_end(request_of: Any):
    """The names of the results and the source, while the object is still there."""
    for text in (MEAN, "def analyse(step): return 1 / 0"):
        job = Analyse(request_of(text, overwrite=True), SELF)
        if text == MEAN:
            job.run()
        else:
            with pytest.raises(AnalysisError):
                job.run()
        FileLock(str(Path("analysis/mean.results"))).release()
        with pytest.raises((IoError, InputError, ValueError), match="closed"):
            job._source.read(0)["ux"]


def test_results_that_are_lost_meanwhile_are_an_error(request_of: Any):
    """Those that are stored last are looked for, too."""
    text = MEAN.replace("def analyse(step)", "class Mean:\n  def step(self, step)")
    text += "  def finish(self):\n    from pathlib import Path\n    Path('analysis/mean.csv').rename('mean.old')\n"
    job = Analyse(request_of(text), SELF)
    with pytest.raises(IoError, match=r"cannot write analysis/mean\.csv"):
        job.run()
    job._analyses[0].close()


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("streaming", "groups", "chosen", "said"),
    [
        (True, 2, slice(None), "--steps-at-once: the steps of a stream come one by one; leave it out"),
        (True, 3, slice(None), "--steps-at-once"),
        (True, 1, slice(-1, None), "--steps: the end of a stream is not known; give numbers from 0 on"),
        (True, 1, slice(None, -2), "--steps: the end of a stream is not known"),
        (True, 1, slice(0, 0), None),
        (True, 1, slice(None), None),
        (True, 1, slice(1, 5, 2), None),
        (False, 2, slice(None), None),
        (False, 1, slice(-1, None), None),
    ],
)
def test_what_a_stream_does_not_give(
    request_of: Any, monkeypatch: pytest.MonkeyPatch, streaming: bool, groups: int, chosen: slice, said: str | None
):
    class Stop(Exception):  # noqa: N818 # as far as the test goes
        pass

    def stop(*_: Any) -> None:
        raise Stop

    comm: Any = SimpleNamespace(size=groups, rank=0, Split=lambda *_: SELF)
    monkeypatch.setattr(replay, "agree", lambda _, work: work())
    monkeypatch.setattr(replay, "SeriesSource", lambda *_, **__: SimpleNamespace(streaming=streaming, engine="hdf5"))
    monkeypatch.setattr(Analyse, "_check_place", stop)
    with pytest.raises(InputError if said else Stop, match=said):
        Analyse(request_of(MEAN, groups=groups, chosen=chosen), comm)


def test_an_analysis_beside_a_run_that_has_ended(request_of: Any, tmp_path: Path):
    run_beside.tell_end(tmp_path / "live")
    with pytest.raises(IoError, match="sst:live: the run has ended, and its stream is not there"):
        Analyse(request_of(MEAN, source="sst:live", beside=True), SELF)


def test_options_of_classes(request_of: Any):
    with pytest.raises(InputError, match="--resume: analysis 'mean' may keep a state"):
        Analyse(request_of(LAST, resume=True), SELF)
    with pytest.raises(InputError, match="--steps-at-once 2: 1 ranks do not make 2 groups of equal size"):
        Analyse(request_of(MEAN, groups=2), SELF)
    request = request_of(MEAN)
    with pytest.raises(FrozenInstanceError):
        request.groups = 2
    assert request.groups == 1


# ---- groups of ranks -------------------------------------------------------------------------------------------------
FAILS = """
def analyse(step, at=2):
    if step.index >= at:
        raise ValueError("out of luck")
    return {"index": step.index}
"""


def test_an_error_in_one_of_two_groups(request_of: Any, tmp_path: Path):
    request_of(FAILS, MEAN)
    words = ("analyse", "mean.py", "other.py", "run.h5", "--steps-at-once=2")
    result = KEPT.result(tmp_path, *words, ranks=2)
    assert result.code == 1 and result.err.count("analysis 'mean' failed at step 2") == 1, result.text
    result = KEPT.result(tmp_path, *words, "--on-error=off", "--overwrite", "--set=mean:at=4", ranks=2)
    assert result.code == 1 and result.err.count("out of luck") == 1, result.text
    assert rows() == [0, 2] and rows("other") == [0, 2, 4]


def test_names_of_results_that_differ_from_rank_to_rank(request_of: Any, tmp_path: Path):
    request_of("def analyse(step): return {'ab'[step.comm.rank]: 1.0}\n")
    said = cases.message(KEPT.result(tmp_path, "analyse", "mean.py", "run.h5", ranks=2))
    assert "the ranks returned different things: rank 0 a (number); rank 1 b (number)" in said


# ---- the source ------------------------------------------------------------------------------------------------------
def test_a_source_of_one_step(tmp_path: Path):
    source = SeriesSource(str(write(tmp_path / "one.h5", 5, reynolds=10.0)), SELF)
    assert (source.streaming, source.engine, source.first_index, source.names) == (False, "hdf5", 5, ["ux"])
    assert source.attributes["reynolds"] == 10.0 and source.positions(slice(None)) == range(1)
    assert source.index(0) == 5 and source.read(0).time == 0.5 and source.coupling.role == "none"
    source.close()
    with pytest.raises((IoError, InputError, ValueError), match="closed"):
        source.read(0)["ux"]


def test_a_source_without_a_step(tmp_path: Path):
    with tr.open(tmp_path / "none.h5", "w", grid=GRID):
        pass
    with pytest.raises(InputError, match=r"none\.h5: has no steps to analyse"):
        SeriesSource(str(tmp_path / "none.h5"), SELF)


def test_a_stream_without_a_step():
    source = SeriesSource.__new__(SeriesSource)
    source.path, source.streaming = "sst:run", True
    source._series = SimpleNamespace(next_step=lambda: None)  # type: ignore[assignment]
    with pytest.raises(IoError, match="sst:run: the stream ended without a step"):
        source._first()
    source._series = SimpleNamespace(next_step=lambda: "first")  # type: ignore[assignment]
    assert source._first() == "first"


def test_the_time_of_waiting_is_that_of_one_phase():
    source = SeriesSource.__new__(SeriesSource)
    phases = [SimpleNamespace(phase=name, mean_seconds=time) for name, time in (("read", 4.0), ("wait", 2.0))]
    source._series = SimpleNamespace(summary=lambda: phases)  # type: ignore[assignment]
    assert source.waited() == 2.0


def test_groups_count_all_steps_that_the_source_has_lost(request_of: Any, tmp_path: Path):
    """Each group sees the loss before its own steps only."""
    request_of(MEAN)
    write(tmp_path / "lost.h5", 0, 2, 6, 12, every=2)
    for groups in (1, 2):
        done = KEPT.result(tmp_path, "analyse", "mean.py", "lost.h5", "--steps-at-once", groups, "--overwrite", ranks=2)
        assert done.code == 0 and "missed 3 steps that the source does not have" in done.out, done.text
