"""Tables that grow: what was added is read, and all of it where the file is another one."""

from __future__ import annotations

import numpy as np
import pytest

import tailrace as tr
from tailrace.io.time_series import TimeSeries

pytest.importorskip("bokeh")
from tailrace.live_page.curve_panel import CurvePanel, thinned
from tailrace.live_page.growing_table import GrowingTable, NumbersOfSteps
from tailrace.live_page.watched_run import WatchedRun


def write(path, steps, resume=None):
    with TimeSeries(path, "a run", resume, columns=("step", "time", "value")) as out:
        for step in steps:
            out.append({"step": step, "time": 0.1 * step, "value": step**2})


def test_rows_that_are_added(tmp_path):
    path = tmp_path / "a.csv"
    write(path, range(3))
    table = GrowingTable(path)
    table.update()
    assert table.columns == ["step", "time", "value"] and list(table.column("value")) == [0, 1, 4]
    write(path, [3], resume=2)  # which replaces the file
    table.update()
    assert list(table.column("step")) == [0, 1, 2, 3]
    before = table.beginning
    with path.open("a") as file:
        file.write("4,0.4,")
        file.flush()
        table.update()
        assert list(table.column("step")) == [0, 1, 2, 3], "a row that is being written"
        file.write("16\n")
    table.update()
    assert list(table.column("value"))[-1] == 16 and table.beginning == before
    write(path, [2], resume=1)
    table.update()
    assert list(table.column("step")) == [0, 1, 2] and table.beginning == before + 1


def test_numbers_of_steps(tmp_path):
    with tr.open(tmp_path / "a.h5", "w") as out:
        table = NumbersOfSteps(tmp_path / "a.h5")
        for step in range(3):
            out.write_step(0.5 * step, index=step, scalars={"n": step + 1.0})
    table.update()
    assert table.columns == ["time", "n"] and list(table.column("n")) == [1, 2, 3]
    with tr.open(tmp_path / "a.h5", "a") as out:
        out.write_step(1.5, index=3, scalars={"n": 7.0})
    table.update()
    assert list(table.column("n")) == [1, 2, 3, 7] and table.beginning == 0
    with tr.open(tmp_path / "a.h5", "w") as out:
        out.write_step(9.0, index=0, scalars={"n": 5.0})
    table.update()
    assert list(table.column("time")) == [9.0] and table.beginning == 1


def test_a_long_curve_looks_the_same():
    x = np.arange(100_000.0)
    y = np.sin(x / 5000)
    y[[777, 50_001]] = 9, -9
    few, values = thinned(x, y, 1000)
    assert len(few) <= 1000 and few[0] == 0 and set(values) >= {9, -9}
    assert np.all(np.diff(few) > 0)
    noise = np.random.default_rng(3).random(100_000)
    noise[99_998], noise[5] = 7.0, np.nan
    noise[:1000] += 900
    few, values = thinned(x, noise, 1000)
    assert few[-1] == 99_999 and 7.0 in values, "the newest are there"
    assert np.nanmin(values[few < 100]) >= 900, "a hole is no zero"


def test_a_run_without_a_column_has_no_curve_of_it(tmp_path):
    runs = []
    for name, columns in (("a", ("step", "time", "one", "two")), ("b", ("step", "time", "one"))):
        with TimeSeries(tmp_path / name / "time_series.csv", columns=columns) as out:
            out.append(dict.fromkeys(columns, 3.0))
        runs.append(WatchedRun(tmp_path / name, name))
        runs[-1].update()
    panel = CurvePanel(runs, ["red", "blue"])
    panel.update()
    assert [list(source.data["y"]) for source in panel._sources] == [[3.0], [3.0]]
    panel._column.value = "time_series.csv: two"
    assert [list(source.data["y"]) for source in panel._sources] == [[3.0], []]


def test_other_files_beside_the_results_are_no_series(tmp_path):
    """Of a directory only what is a table or a series is shown; a path that is given is taken as what it is."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "other.csv").write_text("time,a\n0,1\n")
    (tmp_path / "sub").mkdir()
    for path in (tmp_path / "out.h5", tmp_path / "sub" / "more.h5"):
        with tr.open(path, "w") as out:
            out.write_step(0.5, u=np.zeros((2, 3, 4)))
    run = WatchedRun(tmp_path, "run")
    run.update()
    assert run.series == {"out.h5": tmp_path / "out.h5", "sub/more.h5": tmp_path / "sub" / "more.h5"}
    assert sorted(run.tables) == ["out.h5", "sub/more.h5"] and run.problems == {}
    alone = WatchedRun(tmp_path / "out.h5", "alone")
    alone.update()
    assert alone.series == {"out.h5": tmp_path / "out.h5"} and alone.problems == {}
