"""The directory by which a run and its pages talk."""

from __future__ import annotations

import json
import os
import stat
import time

import numpy as np
import pytest

from tailrace.live_run import board as board_module
from tailrace.live_run.board import Board, BoardReader, board_of
from tailrace.live_run.part import Part, chosen
from tailrace.live_run.wanted import Wanted

PLANE = Wanted("plane", "ux", "y", 3)
PART = Part(np.ones((2, 1, 4), np.float32), (np.arange(4.0), np.array([0.5]), np.arange(2.0)), 3, 9, 12, 0.25)


@pytest.fixture
def place(tmp_path):
    return board_of(tmp_path / "time_series.csv")


def test_questions_and_answers(place):
    run = Board(place, control=False)
    page = BoardReader(place)
    assert page.facts() is None and run.asked() == [] and page.answer(PLANE) is None
    run.tell({"state": "running", "step": 4, "time": None})
    assert page.facts().step == 4 and not page.facts().control and page.facts().time is None
    page.want(PLANE)
    page.want(Wanted("box", "q"))
    assert run.asked() == [PLANE, Wanted("box", "q")]
    run.answer(PLANE, PART)
    run.answer(Wanted("box", "q"), "there is no q")
    found = page.answer(PLANE)
    assert (found.step, found.time, found.node, found.count) == (12, 0.25, 3, 9)
    np.testing.assert_array_equal(found.values, PART.values)
    assert page.answer(Wanted("box", "q")) == "there is no q"
    run.keep([PLANE])
    assert page.answer(Wanted("box", "q")) is None and page.answer(PLANE) is not None
    page.close()
    assert run.asked() == []
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_run_makes_the_directories_of_its_table(tmp_path):
    """Its board comes first."""
    place = board_of(tmp_path / "new" / "results" / "time_series.csv")
    Board(place, control=False).tell({"state": "running", "step": 4})
    assert BoardReader(place).facts().step == 4


def test_a_run_that_begins_again_answers_anew(place):
    run, page = Board(place, control=False), BoardReader(place)
    run.tell({"state": "running", "step": 4})
    run.answer(PLANE, PART)
    assert page.answer(PLANE).step == 12
    Board(place, control=False)
    assert page.answer(PLANE) is None


def test_several_pages_ask_for_few_parts(place):
    run = Board(place, control=False)
    run.tell({"state": "running"})
    pages = [BoardReader(place) for _ in range(3)]
    for number, page in enumerate(pages):
        for node in range(number, number + 5):
            page.want(Wanted("plane", "ux", "x", node))
    assert len(run.asked()) == 7
    for node in range(100, 120):
        pages[0].want(Wanted("plane", "ux", "x", node))
    assert len(run.asked()) == board_module._MOST


def test_a_question_that_is_not_renewed_is_forgotten(place, monkeypatch):
    run, page = Board(place, control=False), BoardReader(place)
    run.tell({"state": "running"})
    page.want(PLANE)
    assert run.asked() == [PLANE]
    monkeypatch.setattr(board_module, "_FORGET", 0.0)
    assert run.asked() == [], "its page was killed"
    page.renew()
    assert not page._asked.exists(), "no viewer wants it any more"


def test_only_a_run_with_control_is_stopped_and_only_the_one_that_was_meant(place):
    run, page = Board(place, control=False), BoardReader(place)
    run.tell({"state": "running"})
    page.stop()
    assert not run.stop_asked()
    run = Board(place, control=True)
    run.tell({"state": "running"})
    assert not run.stop_asked(), "an earlier run was meant"
    page.stop()
    assert run.stop_asked()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "[" * 100_000, '{"parts": 3}', '{"parts": [3, null, {"kind": "plane"}]}',
        '{"parts": [{"kind": "plane", "field": "ux", "axis": "../x", "node": 1}]}',
        '{"parts": [{"kind": "plane", "field": "ux", "axis": "x", "node": -1}]}',
        '{"parts": [{"kind": "plane", "field": "ux", "axis": "x", "node": true}]}',
        '{"parts": [{"kind": "other", "field": "ux", "axis": "x", "node": 1}]}',
        '{"parts": [{"kind": "plane", "field": ["ux"], "axis": ["x"], "node": 1}]}',
        json.dumps({"parts": [{"kind": "plane", "field": "u" * 1000, "axis": "x", "node": 1}]}),
    ],
)  # fmt: skip
def test_garbage_in_a_question_is_no_question(place, text):
    run = Board(place, control=True)
    run.tell({"state": "running"})
    (place / "asked-00.json").write_text(text)
    assert run.asked() == [] and not run.stop_asked()
    (place / "now.json").write_text(text)
    assert BoardReader(place).facts() is None


GOOD = {"values": PART.values, "x": PART.places[0], "y": PART.places[1], "z": PART.places[2], "node": 3, "count": 9,
        "step": 12, "time": 0.25}  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {"values": np.array("x")}, {"values": np.ones((3, 2), np.float32)}, {"values": PART.values.astype(float)},
        {"x": np.arange(3.0)}, {"x": np.zeros((2, 2))}, {"y": np.array([np.nan])}, {"z": np.array(["a", "b"])},
        {"node": np.array([1, 2])}, {"step": np.array(None)}, {"time": np.array("x")},
        {"values": np.zeros((0, 1, 4), np.float32), "z": np.zeros(0)},
        {"values": np.ones((1, 1, 3_000_000), np.float32), "x": np.arange(3_000_000.0)},
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_is_told(place, other):
    Board(place, control=False)
    np.savez_compressed(place / f"{PLANE.name}.npz", **{**GOOD, **other})
    assert "cannot be read" in BoardReader(place).answer(PLANE)
    np.savez_compressed(place / f"{PLANE.name}.npz", **GOOD)
    assert BoardReader(place).answer(PLANE).count == 9


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and nothing else", b"\x93NUMPY\x01\x00", b"garbage"])
def test_garbage_in_an_answer_is_told(place, content):
    Board(place, control=False)
    (place / f"{PLANE.name}.npz").write_bytes(content)
    assert "cannot be read" in BoardReader(place).answer(PLANE)


def test_many_questions_do_not_keep_a_run_busy(place):
    run = Board(place, control=False)
    told = json.dumps({"parts": [json.loads(PLANE.told())] * 5000, "stop": None})
    for number in range(200):
        (place / f"asked-{number}.json").write_text(told)
    assert run.asked() == [PLANE] and len(run._seen) == board_module._PAGES


def test_questions_of_pages_that_were_killed_are_removed(place):
    run = Board(place, control=False)
    run.tell({"state": "running"})
    for name, age in (("asked-old.json", 7200), ("asked-new.json", 10)):
        (place / name).write_text("{}")
        os.utime(place / name, (time.time() - age, time.time() - age))
    Board(place, control=False)
    assert sorted(path.name for path in place.iterdir()) == ["asked-new.json", "now.json"]


def test_nothing_is_written_through_links_or_into_what_others_may_write(place, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match="no directory of yours"):
        Board(place, control=False)
    place.unlink()
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    (tmp_path / "victim").write_text("mine")
    (place / ".now.json").symlink_to(tmp_path / "victim")
    run = Board(place, control=False)
    (place / "now.json").symlink_to(tmp_path / "victim")
    run.tell({"state": "running"})
    assert (tmp_path / "victim").read_text() == "mine" and not (place / "now.json").is_symlink()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_named_pipe_is_never_waited_for(place):
    run = Board(place, control=True)
    run.tell({"state": "running"})
    os.mkfifo(place / "asked-00.json")
    assert run.asked() == [] and not run.stop_asked()


def test_what_others_have_made_stays(place):
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="no board of a run"):
        Board(place, control=False)
    assert (place / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("count", [1, 5, 96, 97, 1000])
def test_chosen_nodes_reach_from_end_to_end(count):
    along = np.linspace(0, 1, count) ** 2
    picks = chosen(along, 96)
    assert picks[0] == 0 and picks[-1] == count - 1 and len(picks) <= 96 and (np.diff(picks) > 0).all()
