"""What a run tells and answers while it computes, on any number of ranks."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from helpers.harness.kept import KEPT
from helpers.inputs import cases
from helpers.programs import live_parts
from tailrace.consumers import publisher as publishers
from tailrace.consumers.publisher import Publisher
from tailrace.fields.derived import DERIVED
from tailrace.live_run.board import BoardReader, board_of
from tailrace.live_run.wanted import Wanted
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


# ---- on one rank, without a run --------------------------------------------------------------------------------------


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(publishers, "clock", SimpleNamespace(monotonic=lambda: self.now))


def made(path: Path, **more: Any) -> Publisher:
    given = {"seconds": lambda: {"flow": 2.0}, "facts": lambda: {"step": 3}, "say": print, **more}
    return Publisher(path / "board", MPI.COMM_SELF, given.pop("fields", ["a"]), **given)


@functools.cache
def operators() -> tr.Operators:
    return tr.Operators((8, 9, 10), (1.0, 1.0, 1.0), ("periodic",) * 3, comm=MPI.COMM_SELF)


def at(index: int) -> Step:
    """A step with a field of ones."""
    return Step(index, 0.5 * index, operators(), ["a"], lambda _: np.ones((10, 9, 8)), attributes={})


def told(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "board" / "now.json").read_text())
    return found


def test_what_is_told_of_a_step_and_of_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(publishers.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=7))
    clock = Clock(monkeypatch)
    publisher = made(tmp_path)
    assert (publisher.phase, publisher.wants(0, 0.0)) == ("live", True)
    clock.now += 2.5
    publisher.take(at(0))
    found = told(tmp_path)
    assert (found["state"], found["ranks"], found["elapsed"], found["step"]) == ("running", 1, 2.5, 3)
    assert (found["names"], found["log"], found["control"]) == (["a"], [], False)
    assert found["phases"] == {"flow": [2.0] * 3}
    assert found["memory"] == [7 * 1024.0] * 3
    publisher.end("stopped")
    found = told(tmp_path)
    assert (found["state"], found["phases"], found["memory"]) == ("stopped", {"flow": [2.0] * 3}, [7 * 1024.0] * 3)


def test_the_times_of_ranks_are_the_least_the_mean_and_the_largest(tmp_path, monkeypatch):
    monkeypatch.setattr(publishers.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=1))

    def reduce(mine, found, op):  # the two others have a half and four times as much
        found[:] = mine * (0.5 if op == MPI.MIN else 5.5 if op == MPI.SUM else 4.0)

    publisher = made(tmp_path)
    publisher._comm = SimpleNamespace(size=3, Reduce=reduce)
    assert publisher._spread(["flow"]) == {"flow": [1.0, 11 / 3, 8.0], "memory": [512.0, 5632 / 3, 4096.0]}


@pytest.mark.parametrize(
    ("fields", "more"), [(["ux", "uy", "uz"], True), (["ux", "uy", "uz", "dye", "q"], True), (["ux", "uy"], False)]
)
def test_what_follows_from_a_velocity_can_be_asked_for(tmp_path, fields, more):
    publisher = made(tmp_path, fields=fields)
    publisher.take(at(0))
    names = told(tmp_path)["names"]
    assert names[: len(fields)] == fields and len(set(names)) == len(names)
    assert set(names) == {*fields, *((*DERIVED, "u", "vorticity") if more else ())}


def test_the_log_keeps_the_last_lines_and_goes_on_where_the_run_does(tmp_path):
    publisher = made(tmp_path)
    for number in range(405):
        publisher.note(f"line {number}")
    publisher.take(at(0))
    assert told(tmp_path)["log"] == [f"line {number}" for number in range(5, 405)]
    for goes_on, log in ((True, ["line 404", "more"]), (False, ["more"])):
        again = made(tmp_path, goes_on=goes_on)
        again.note("more")
        again.take(at(0))
        assert told(tmp_path)["log"][-2:] == log
    shutil.rmtree(tmp_path / "board")
    made(tmp_path, goes_on=True).take(at(0))
    assert told(tmp_path)["log"] == [], "a run that goes on and had no board"


def test_looks_are_a_second_apart_by_the_speed_of_the_run(tmp_path, monkeypatch):
    """At first it doubles the steps between two looks, for it does not know how long steps will take."""
    clock = Clock(monkeypatch)
    publisher, looks = made(tmp_path), []
    for index in range(200):
        if publisher.wants(index, 0.0):
            looks.append(index)
            publisher.take(at(index))
        clock.now += 0.05  # twenty steps in a second
    assert looks == [0, 1, 3, 7, 15, 31, 51, 71, 91, 111, 131, 151, 171, 191]


def test_a_look_that_was_dear_comes_seldom(tmp_path, monkeypatch):
    """It takes a two-hundredth of the time at most."""
    clock = Clock(monkeypatch)
    publisher = made(tmp_path, facts=lambda: setattr(clock, "now", clock.now + 0.5) or {})
    publisher.take(at(0))
    clock.now += 1.5
    publisher.take(at(2))  # a step in a second, and a look costs half of one
    assert not publisher.wants(101, 0.0) and publisher.wants(102, 0.0)


def test_steps_that_take_longer_than_a_second_are_all_looked_at(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    publisher = made(tmp_path)
    for index in range(4):
        assert publisher.wants(index, 0.0)
        publisher.take(at(index))
        clock.now += 3.0


def test_parts_are_answered_until_nobody_asks(tmp_path):
    publisher, page = made(tmp_path), BoardReader(tmp_path / "board")
    plane, none = Wanted("plane", "a", "y", 4), Wanted("box", "none")
    for one in (plane, none):
        page.want(one)
    publisher.take(at(5))
    part, problem = page.answer(plane), page.answer(none)
    assert part is not None and not isinstance(part, str)
    assert (part.step, part.time, part.values.shape) == (5, 2.5, (10, 1, 8)) and (part.values == 1).all()
    assert isinstance(problem, str) and "none" in problem
    page.close()
    publisher.take(at(6))
    assert page.answer(plane) is None and page.answer(none) is None, "the answers are removed"
    page.renew()
    publisher.take(at(7))
    assert page.answer(plane) is not None
    publisher.close()
    assert page.answer(plane) is None
    publisher.close()
    page.close()


@pytest.mark.parametrize("control", [False, True])
def test_a_page_stops_a_run_that_lets_it(tmp_path, control):
    stopped: list[int] = []
    publisher = made(tmp_path, stop=(lambda: stopped.append(1)) if control else None)
    publisher.take(at(0))
    assert told(tmp_path)["control"] is control
    assert stopped == [], "no page has asked"
    page = BoardReader(tmp_path / "board")
    page.stop()
    publisher.take(at(1))
    assert stopped == [1] * control
    page.close()


def test_a_place_where_no_board_can_be_is_told_once_and_the_run_goes_on(tmp_path, capsys):
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "mine.txt").write_text("mine")
    publisher = made(tmp_path)
    assert capsys.readouterr().out.startswith("warning: the live page misses what the run tells: ")
    publisher.take(at(0))
    publisher.end("finished")
    publisher.close()
    assert capsys.readouterr().out == ""
    assert [path.name for path in (tmp_path / "board").iterdir()] == ["mine.txt"]


def test_a_failure_is_told_with_the_place_of_the_board(tmp_path, capsys):
    publisher = made(tmp_path)
    shutil.rmtree(tmp_path / "board")
    (tmp_path / "board").write_text("")
    publisher.take(at(0))
    said = capsys.readouterr().out
    assert said == f"warning: the live page misses what the run tells: {tmp_path / 'board'}: Not a directory\n"
