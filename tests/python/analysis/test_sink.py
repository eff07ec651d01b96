"""Where results of scripts go: rows, series and pictures, begun again or gone on with."""

from __future__ import annotations

import importlib
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.analysis.earlier_results import EarlierResults, check_free, of_analysis, refusal
from tailrace.analysis.errors import AnalysisError
from tailrace.analysis.ownership import check_results
from tailrace.analysis.results import ResultSink, last_result
from tailrace.analysis.script_results import ScriptResults, sort
from tailrace.core import FileLock, InputError, IoError
from tailrace.files.set_aside import SetAside, record_of
from tailrace.io import series
from tailrace.io.found import ExistingResult, files_of
from tailrace.io.time_series import TimeSeriesError, read_provenance, read_time_series

SELF = MPI.COMM_SELF


@pytest.fixture(scope="module")
def ops():
    return tr.Operators((8, 9, 10), (1.0, 2.0, 3.0), ("periodic", "free-slip", "periodic"), comm=SELF)


@pytest.fixture
def sink(ops, tmp_path):
    """Makes sinks in one directory, and closes them."""
    made = []

    def make(name="mean", resume_step=None, made_by="analyse", engine="hdf5"):
        made.append(
            ResultSink(tmp_path / "out", name, SELF, ops, engine=engine, attributes={"reynolds": 100.0, "other": 1},
                 provenance={"made_by": made_by}, resume_step=resume_step)
        )  # fmt: skip
        return made[-1]

    yield make
    for one in made:
        one.close()


class Picture:
    """A figure, as far as results use it."""

    def savefig(self, path, metadata):
        path.write_bytes("".join(f"{key}\0{value}" for key, value in metadata.items() if value).encode())


def results(value: float, **figures: Any) -> ScriptResults:
    found = sort({"a": value, "list": np.arange(3) * value, "flags": np.array([True, False])}, "mean")
    found.figures.update(figures)
    return found


def test_only_the_leader_draws(sink, tmp_path):
    """Other ranks may have the results of a step, too."""
    out = sink()
    out._comm = SimpleNamespace(rank=0, bcast=lambda mine, root: mine)
    out.write(1, 0.1, results(1.0, flow=Picture()), leader=1)
    out._comm = SELF
    assert not list((tmp_path / "out").glob("*.png"))
    out.write(1, 0.1, results(1.0, flow=Picture()))
    assert [path.name for path in (tmp_path / "out").glob("*.png")] == ["mean-flow-000001.png"]


def test_a_figure_of_another_library_beside_pyplot(sink, tmp_path):
    importlib.import_module("matplotlib.pyplot")
    sink().write(1, 0.1, results(1.0, flow=Picture()))
    assert (tmp_path / "out" / "mean-flow-000001.png").exists()


def test_results_of_steps(sink, ops, tmp_path):
    out = sink()
    assert out.summary() == "mean: no results"
    f = tr.Field.from_function(ops, 2.0)
    for step in (1, 2):
        found = results(float(step), line=Picture())
        found.fields.update(f=f, positive=f.like(f.data > 0))
        out.write(step, 0.5 * step, found)
    out.write(3, 1.5, ScriptResults())
    out.write(4, 2.0, ScriptResults(figures={"line": Picture()}))
    assert (out.written, out.pictures) == (2, 3)
    place = tmp_path / "out" / "mean"
    assert out.summary() == f"mean: 2 steps with results and 3 pictures -> {place}.*, {place}-*.png"
    assert out.summary(" in 3 s").startswith("mean: 2 steps with results and 3 pictures in 3 s -> ")
    out.flush()
    out.close()
    out.close()
    table = read_time_series(out.table)
    assert list(table) == ["step", "time", "a"]
    assert table["a"].tolist() == [1.0, 2.0] and table["time"].tolist() == [0.5, 1.0]
    assert read_provenance(out.table) == {"made_by": "analyse"}
    with series.open(out.path) as stored:
        assert [(step.index, step.time, step.scalars) for step in stored] == [
            (1, 0.5, {"a": 1.0}),
            (2, 1.0, {"a": 2.0}),
        ]
        assert stored[1]["list"].tolist() == [0.0, 2.0, 4.0] and stored[1]["flags"].tolist() == [1.0, 0.0]
        assert stored[0]["positive"].dtype == np.int32 and (stored[0]["f"] == 2).all()
        told = stored.attributes
    assert told["analysis"] == "mean" and told["reynolds"] == 100.0 and "other" not in told
    assert told["f/parity"] == list(f.parity)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.png")) == [
        f"mean-line-{step:06}.png" for step in (1, 2, 4)
    ]


def test_a_resumed_one_drops_what_comes_later(sink, tmp_path):
    first = sink()
    for step in (1, 2, 3):
        first.write(step, 0.5 * step, results(float(step), line=Picture()))
    first.close()
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) == 3
    second = sink(resume_step=2)
    assert read_time_series(second.table)["step"].tolist() == [1, 2]
    assert not (tmp_path / "out" / "mean-line-000003.png").exists()
    assert (tmp_path / "out" / "mean-line-000002.png").exists()
    second.write(2, 1.0, results(7.0))  # measured again, and stored already
    second.write(3, 1.5, results(8.0))
    second.close()
    assert read_time_series(second.table)["a"].tolist() == [1.0, 2.0, 8.0]
    with series.open(second.path) as stored:
        assert [step.scalars["a"] for step in stored] == [1.0, 2.0, 8.0]
    third = sink()
    assert not third.table.exists()
    assert list((tmp_path / "out").glob("*.png")) == []


def test_a_table_that_is_lost_is_an_error_at_the_next_row(sink):
    out = sink()
    out.write(1, 0.5, results(1.0))
    out.table.rename(out.table.with_suffix(".old"))
    with pytest.raises(IoError, match=r"cannot write .*mean\.csv: "):
        out.write(2, 1.0, results(2.0))
    assert out.written == 1


def test_a_step_is_stored_once(sink):
    out = sink()
    for value in (1.0, 2.0):
        out.write(4, 0.5, results(value))
    out.write(3, 0.25, sort({"list": np.arange(3)}, "mean"))
    out.close()
    assert read_time_series(out.table)["a"].tolist() == [1.0]
    with series.open(out.path) as stored:
        assert [(step.index, step.scalars["a"]) for step in stored] == [(4, 1.0)]


OTHERS = {
    "a column more": {"a": 1.0, "b": 2.0},
    "a column less": {"b": 2.0},
    "an array of more columns": {"a": 1.0, "list": np.zeros((3, 2))},
    "an array that has become a field": {"a": 1.0, "f": np.arange(3)},
    "values that are masked": {"a": 1.0, "list": np.ma.masked_array(np.zeros(3), [0, 1, 0])},
    "no columns": {"a": 1.0, "new": np.zeros((3, 0))},
}


@pytest.mark.parametrize("engine", ["hdf5", "raw"])
@pytest.mark.parametrize("returned", OTHERS.values(), ids=OTHERS)
def test_nothing_stays_of_a_step_that_cannot_be_stored(sink, ops, tmp_path, returned, engine):
    out = sink(engine=engine)
    refused = []
    out.refuse = lambda *words: refused.append(words)
    f = tr.Field.from_function(ops, 2.0)
    out.write(1, 0.5, sort({"a": 1.0, "list": np.zeros(3), "f": f}, "mean"))
    found = sort({"f": f, **returned}, "mean")
    found.figures["line"] = Picture()
    out.write(2, 1.0, found)
    assert len(refused) == 1 and refused[0][1] == "at step 2, t = 1"
    assert (out.written, out.pictures) == (1, 0) and not list((tmp_path / "out").glob("*.png"))
    out.write(3, 1.5, sort({"a": 3.0, "list": np.zeros(4, int), "f": f}, "mean"))
    out.flush()
    out.close()
    assert read_time_series(out.table)["step"].tolist() == [1, 3]
    with series.open(out.path) as stored:
        assert [step.index for step in stored] == [1, 3] and not stored.verify()
        assert stored[1]["list"].tolist() == [0.0] * 4


def test_resumed_results_have_the_columns_of_the_table(sink):
    first = sink()
    first.write(1, 0.5, sort({"a": 1.0, "b": 2.0}, "mean"))
    first.close()
    second = sink(resume_step=1)
    with pytest.raises(AnalysisError, match=r"failed at step 2, t = 1: .*mean\.csv \(missing: b; new: c\)"):
        second.write(2, 1.0, sort({"a": 1.0, "c": 2.0}, "mean"))
    second.write(3, 1.5, sort({"b": 3.0, "a": 4.0}, "mean"))
    second.close()
    found = read_time_series(second.table)
    assert (found["a"].tolist(), found["b"].tolist()) == ([1.0, 4.0], [2.0, 3.0])


def test_a_name_that_no_series_has_is_no_name_of_a_result():
    with pytest.raises(TypeError, match="words of letters, digits and _, not '\u00fc'"):
        sort({"\u00fc": 1.0}, "mean")


def test_the_last_complete_results(sink, tmp_path):
    assert last_result(tmp_path, "mean", "hdf5", SELF) is None
    out = sink()
    out.write(1, 0.5, results(1.0))
    out.close()
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) == 1
    with out.table.open("a") as file:
        file.write("2,1.0,2.0\n")
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) == 1, "the row is in one of the two files"
    with series.open(out.path, "w"):
        pass
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) is None, "a file without a step"
    out.path.unlink()
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) == 2


def test_one_program_at_a_time_has_a_name(sink, tmp_path):
    out = sink()
    with pytest.raises(IoError, match=r"mean\.results: .*is writing it|mean\.results.*is writing it"):
        sink()
    other = out.beside("other")
    other.write(1, 0.0, results(1.0))
    other.close()
    assert (tmp_path / "out" / "other.csv").exists()
    out.close()
    FileLock(str(tmp_path / "out" / "mean.results")).release()


def test_a_sink_that_cannot_begin_gives_the_name_back(sink, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mean.csv").write_text("mine")
    with pytest.raises(InputError, match=r"mean\.csv is there already, and is no result of an analysis 'mean'"):
        sink()
    assert (tmp_path / "out" / "mean.csv").read_text() == "mine"
    FileLock(str(tmp_path / "out" / "mean.results")).release()


def test_a_directory_that_cannot_be_made(sink, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(IoError, match=rf"results {tmp_path}/out/mean: File exists"):
        sink()


def test_files_of_somebody_else(sink, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()

    def check(said):
        with pytest.raises(InputError, match=rf"{said} is there already, and is no result of an analysis 'mean'"):
            check_results(folder, "mean", "hdf5", SELF)

    with series.open(folder / "mean.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    check(r"mean\.h5")
    with series.open(folder / "mean.h5", "w"):
        pass
    check(r"mean\.h5")
    (folder / "mean.csv").write_text("# Tailrace time series\n# analysis mean\nstep,time,a\n")
    check_results(folder, "mean", "hdf5", SELF)  # empty, beside a table of ours
    (folder / "mean.h5").write_bytes(b"")
    check_results(folder, "mean", "hdf5", SELF)  # of a program that was killed as it began
    (folder / "mean.h5").write_bytes(b"mine")
    check(r"mean\.h5")
    (folder / "mean.csv").write_text("# Tailrace time series\n# analysis another\nstep,time,a\n")
    check(r"mean\.csv")
    (folder / "mean.csv").unlink()
    os.mkfifo(folder / "mean.csv")
    with pytest.raises(IoError, match=r"mean\.csv cannot be read: it is a named pipe"):
        check_results(folder, "mean", "hdf5", SELF)


NUMBERS, FIELDS = {"a": 1.0, "list": np.arange(3)}, {"list": np.arange(3)}


@pytest.fixture
def failed(sink, monkeypatch):
    """Begins results whose first step fails; what they leave has no attributes."""

    def fail(found, engine):
        def full(*_):
            raise IoError("the disk is full")

        out = sink(made_by="run", engine=engine)
        with monkeypatch.context() as patched:
            patched.setattr(series.ArraySeries, "end_step", full)
            with pytest.raises(IoError, match="the disk is full"):
                out.write(0, 0.0, sort(found, "mean"))
        out._series.__exit__(IoError, None, None)
        out._series = None
        out.close()
        with series.open(out.path) as stored:
            assert len(stored) == 0 and not stored.attributes
        return out

    return fail


@pytest.mark.parametrize("engine", ["hdf5", "raw"])
@pytest.mark.parametrize("found", [NUMBERS, FIELDS])
def test_what_a_failed_first_step_leaves_may_be_replaced(failed, sink, tmp_path, found, engine):
    out = failed(found, engine)
    for _ in range(2):  # a program may be killed before it has replaced it
        with SetAside(record_of(tmp_path / "out" / "mean"), [tmp_path / "out"]) as earlier:
            earlier.set_aside(files_of(of_analysis(tmp_path / "out", "mean", engine)))
            again = sink(engine=engine)
            again.close()
            earlier.remove()
    again = sink(engine=engine)
    again.write(0, 0.0, sort(found, "mean"))
    again.close()
    with series.open(out.path) as stored:
        assert [step.index for step in stored] == [0] and stored.attributes["analysis"] == "mean"
    assert out.table.exists() == ("a" in found), "what said whose the series is has gone when the series says it"


@pytest.mark.parametrize("found", [NUMBERS, FIELDS])
def test_what_a_failed_first_step_leaves_may_be_gone_on_with(failed, sink, tmp_path, found):
    out = failed(found, "hdf5")
    assert last_result(tmp_path / "out", "mean", "hdf5", SELF) is None
    again = sink(resume_step=0)
    again.write(4, 0.5, sort(NUMBERS, "mean"))
    again.close()
    assert read_time_series(out.table)["step"].tolist() == ([0, 4] if "a" in found else [4])
    with series.open(out.path) as stored:
        assert [step.index for step in stored] == [4] and stored.attributes["analysis"] == "mean"


def test_a_table_of_another_analysis_proves_nothing(failed, sink, tmp_path):
    out = failed(FIELDS, "hdf5")
    out.table.write_text("# Tailrace time series\n# analysis another\n")
    with pytest.raises(InputError, match=r"mean\.csv is there already, and is no result of an analysis 'mean'"):
        sink()
    out.table.rename(f"{out.table}.earlier")
    with pytest.raises(InputError, match=r"mean\.csv is there already, and is no result of an analysis 'mean'"):
        sink()
    assert out.path.exists()


def test_a_table_without_columns_is_told_with_the_way_out(sink, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mean.csv").write_text("# Tailrace time series\n# analysis mean\nbroken\n")
    with pytest.raises(TimeSeriesError, match="Put back what was there; or choose another directory by -o"):
        sink(resume_step=3)


def test_a_figure_that_cannot_be_drawn_and_a_picture_of_somebody_else(sink, tmp_path):
    def fail(path, metadata):
        raise ValueError("no TeX")

    def full(path, metadata):
        raise OSError("full")

    out = sink()
    with pytest.raises(
        AnalysisError, match=r"mean failed at step 1, t = 0: .*the figure 'line' cannot be drawn: ValueError: no TeX"
    ):
        out.write(1, 0.0, results(1.0, fine=Picture(), line=SimpleNamespace(savefig=fail)))
    assert not list((tmp_path / "out").glob("*.png")), "all or none"
    with pytest.raises(IoError, match=r"cannot draw .*mean-line-000001\.png: OSError: full"):
        out.write(1, 0.0, results(1.0, line=SimpleNamespace(savefig=full)))
    path = tmp_path / "out" / "mean-line-000002.png"
    path.write_bytes(b"mine")
    with pytest.raises(
        IoError, match=r"000002\.png is there already, and is no picture of analysis mean; move it away"
    ):
        out.write(2, 0.5, results(1.0, line=Picture()))
    assert path.read_bytes() == b"mine"
    assert (out.written, out.pictures) == (0, 0)
    out.write(3, 1.0, None)
    assert out.written == 0, "this rank had no part in the step"


@pytest.mark.parametrize("made_by", ["run", "beside", "analyse"])
def test_whose_results_may_be_replaced(sink, tmp_path, made_by):
    out = sink(made_by=made_by)
    out.write(1, 0.5, results(1.0, line=Picture()))
    out.close()
    folder = tmp_path / "out"
    picture = folder / "mean-line-000001.png"
    (folder / "mean-mine-000001.png").write_bytes(b"mine")
    found = of_analysis(folder, "mean", "hdf5")
    assert [one.named for one in found] == [str(folder / "mean.csv"), str(folder / "mean.h5"), str(picture)]
    assert [one.made_by for one in found] == [made_by] * 3
    for beside in (False, True):
        theirs = made_by == "run" or (made_by == "beside" and not beside)
        for may_stay in (False, True):
            if theirs or not may_stay:
                said = "the run itself made these results" if theirs else "there are results of an earlier run: "
                with pytest.raises(InputError, match=said) as error:
                    check_free(folder, ["mean"], "hdf5", beside=beside, may_stay=may_stay)
                assert ("--beside-out DIR, to write" in str(error.value)) == (beside and not theirs)
            else:
                assert check_free(folder, ["mean"], "hdf5", beside=beside, may_stay=may_stay) == found
    assert check_free(folder, ["other"], "hdf5", beside=False, may_stay=False) == []


@pytest.mark.parametrize(
    ("how", "kept"), [({}, True), ({"resume": True}, True), ({"overwrite": True}, False), ({"overwrite": True}, True)]
)
def test_earlier_results_are_refused_kept_or_set_aside(sink, tmp_path, how, kept):
    """Those that are set aside come back where nothing has replaced them."""
    out = sink()
    out.write(1, 0.5, results(1.0))
    out.close()
    table = tmp_path / "out" / "mean.csv"
    asked = {"resume": False, "overwrite": False, "beside": False} | how
    if not how:
        with pytest.raises(InputError, match="there are results of an earlier run: "):
            EarlierResults(SELF, tmp_path / "out", ["mean"], "hdf5", **asked)
    else:
        earlier = EarlierResults(SELF, tmp_path / "out", ["mean"], "hdf5", **asked)
        assert table.exists() == ("resume" in how)
        if not kept:
            earlier.replace()
        earlier.close()
    assert table.exists() == kept and (tmp_path / "out" / "mean.h5").exists() == kept


def test_the_words_of_a_refusal():
    assert refusal([ExistingResult("a.csv", [])], "-o DIR, to write there", "--resume; ") == (
        "there are results of an earlier run: a.csv. Nothing was changed. Choose one: --resume; --overwrite "
        "(overwrite=True in Python), to replace them; -o DIR, to write there"
    )
