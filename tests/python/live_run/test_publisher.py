"""What a run tells and answers while it computes, on any number of ranks."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs import live_parts
from tailrace.consumers.publisher import Publisher
from tailrace.live_run.board import BoardReader, board_of
from tailrace.steps.step import Step


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("stretched", [False, True])
def test_parts_of_fields_are_those_of_the_field(ranks, stretched):
    KEPT.ranks(ranks).results(live_parts.parts, limit=60, stretched=stretched)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_page_asks_and_is_answered(ranks, tmp_path):
    difference, problem, flow, state, left, stopped = KEPT.ranks(ranks).results(
        live_parts.published, limit=120, directory=str(tmp_path)
    )[0]
    assert difference < 1e-5 and "none" in problem and "a" in problem
    seconds = 1.0 + np.arange(ranks)
    assert flow[0] <= flow[1] <= flow[2] and state == "finished" and stopped
    assert flow == pytest.approx([seconds[0]] * 3)  # the end is told by rank 0 alone
    assert left == ["now.json"], "answers are removed, and so is what the page has asked"


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_run_that_shows_itself_computes_the_same(ranks, tmp_path):
    for name, options in (("plain", ()), ("shown", ("--live",))):
        case = cases.write_case(tmp_path / name, steps=8, outputs=("hdf5",))
        assert cases.run(case, *options, ranks=ranks).code == 0
    plain, shown = (tmp_path / name for name in ("plain", "shown"))
    assert cases.table(plain / "time_series.csv") == cases.table(shown / "time_series.csv")
    with tr.open(plain / "out.h5") as first, tr.open(shown / "out.h5") as second:
        for one, other in zip(first, second, strict=True):
            for name in one.names:
                np.testing.assert_array_equal(one[name].data, other[name].data)
    assert BoardReader(board_of(shown / "time_series.csv")).facts().state == "finished"
    assert not board_of(plain / "time_series.csv").exists()


def test_a_run_goes_on_where_it_cannot_show_itself(tmp_path):
    case = cases.write_case(tmp_path, steps=3)
    mine = board_of(tmp_path / "time_series.csv")
    mine.mkdir()
    (mine / "mine.txt").write_text("mine")
    found = cases.run(case, "--live")
    assert found.code == 0 and found.text.count(f"the live page misses what the run tells: {mine.absolute()}") == 1
    assert "no board of a run" in found.text
    assert [path.name for path in mine.iterdir()] == ["mine.txt"]


def test_the_log_goes_on_after_a_restart(tmp_path):
    case = cases.write_case(tmp_path, steps=4, every=2, dt=0.3)  # too large, which the run warns of
    told = board_of(tmp_path / "time_series.csv")
    assert cases.run(case, "--live", "--set=time.steps=2").code == 0
    before = BoardReader(told).facts().log
    assert any("the time step 0.3 is above" in line for line in before)
    assert cases.run(case, "--live", "--resume").code == 0
    facts = BoardReader(told).facts()
    assert facts.log[: len(before)] == before and (facts.state, facts.step) == ("finished", 4)


def test_a_flow_that_is_not_finite_is_told(tmp_path):
    case = cases.write_case(tmp_path, steps=400, dt=50.0)
    found = cases.run(case, "--live")
    assert found.code == 1, found.text
    facts = BoardReader(board_of(tmp_path / "time_series.csv")).facts()
    assert facts.state.startswith("failed: ") and facts.step > 0


def test_a_disk_that_refuses_is_told_once(tmp_path, capsys):
    publisher = Publisher(tmp_path / "board", MPI.COMM_SELF, ["a"], seconds=dict, facts=dict, say=print)
    for again in range(2):
        for path in (tmp_path / "board").iterdir():
            path.unlink()
        (tmp_path / "board").rmdir()
        (tmp_path / "board").write_text("")  # no file can be made in it
        for index in range(1000 * again, 1000 * again + 5):
            publisher._next = index
            publisher.take(Step(index, 0.0, None, ["a"], lambda _: None, attributes={}))
        assert capsys.readouterr().out.count("the live page misses") == 1
        (tmp_path / "board").unlink()
        (tmp_path / "board").mkdir()
        publisher.take(Step(2000, 0.0, None, ["a"], lambda _: None, attributes={}))
        assert BoardReader(tmp_path / "board").facts().state == "running"
