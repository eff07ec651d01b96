"""`tailrace render` in one process: which steps are drawn, what is told, and what is never replaced."""

from __future__ import annotations

import io
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import tailrace as tr
from tailrace.case.document import ConfigError
from tailrace.catalyst.executions import Executions
from tailrace.core import InputError, IoError
from tailrace.pictures.database import Database
from tailrace.replay import render as rendering
from tailrace.replay.render import RenderRequest, render
from tailrace.replay.source import SeriesSource

SELF = MPI.COMM_SELF
GRID = tr.UniformGrid((8, 9, 10), spacing=(1 / 8, 1 / 9, 1 / 10), boundaries=("periodic",) * 3)
PICTURE = '[[picture]]\nname = "{name}"\nevery = {every}\nlayers = [{{ surface = "ux" }}]\n'
CATALYST = '[[catalyst]]\nscript = "pipeline.py"\nevery = 1\nfields = ["ux"]\n'


class Drawn:
    """In the place of pictures and pipelines: tells what it is asked to draw."""

    made: list[Drawn]

    def __init__(self, section: Any, comm: Any, say: Any, schedule: Any, **how: Any) -> None:
        self.section, self.say, self.how, self.incomplete = section, say, how, False
        self.steps: list[int] = []
        self.told: list[str] = []
        self.every = schedule.every
        Drawn.made.append(self)

    def wants(self, index: int, time: float) -> bool:
        assert time == pytest.approx(0.1 * index)
        return index % self.every == 0

    def take(self, step: Any) -> None:
        if self.section.name == "broken":
            raise IoError("the disk is full")
        self.steps.append(step.index)
        self.say(f"{self.section.name} of step {step.index}")
        self.incomplete = self.section.name == "poor"

    def close(self) -> None:
        self.told.append("closed")

    def report(self) -> None:
        self.told.append("reported")


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes blocks, beside a flow of five steps."""
    monkeypatch.chdir(tmp_path)
    for name in ("Picture", "Catalyst"):
        monkeypatch.setattr(rendering, name, Drawn)
    Drawn.made = []
    with tr.open("run.h5", "w", grid=GRID) as out:
        for index in range(5):
            out.write_step(0.1 * index, index=index, ux=np.full((10, 9, 8), float(index)))
    Path("pipeline.py").write_text("# a pipeline\n")

    def write(*texts: str) -> RenderRequest:
        Path("blocks.toml").write_text("\n".join(texts))
        return RenderRequest(Path("blocks.toml"), "run.h5")

    return write


def picture(name: str = "q", every: int = 1, more: str = "") -> str:
    return PICTURE.format(name=name, every=every) + more


def test_each_draws_the_steps_that_are_due(blocks: Any, capsys: pytest.CaptureFixture[str]):
    assert render(blocks(picture("one", 2), picture("two", 3), CATALYST), SELF) == 0
    assert [(one.section.name, one.steps, one.told) for one in Drawn.made] == [
        ("one", [0, 2, 4], ["closed", "reported"]),
        ("two", [0, 3], ["closed", "reported"]),
        ("pipeline", [0, 1, 2, 3, 4], ["closed", "reported"]),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["one of step 0", "two of step 0", "pipeline of step 0"] and len(lines) == 10
    assert Drawn.made[2].how["directory"] == Path() and Drawn.made[2].how["scalars"] == ["ux"]


def test_what_is_incomplete_is_told_by_the_code(blocks: Any):
    assert render(blocks(picture("poor"), picture("fine")), SELF) == 1
    assert [one.steps for one in Drawn.made] == [[0, 1, 2, 3, 4]] * 2


def test_steps_of_a_stream(blocks: Any, monkeypatch: pytest.MonkeyPatch):
    class Stream(SeriesSource):
        streaming = True

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.streaming = True

        def stream(self, chosen: slice) -> Any:
            assert chosen == slice(None)
            return map(self.read, (1, 2))

    monkeypatch.setattr(rendering, "SeriesSource", Stream)
    assert render(blocks(picture()), SELF) == 0
    assert Drawn.made[0].steps == [1, 2]


def test_all_is_closed_where_one_fails(blocks: Any, monkeypatch: pytest.MonkeyPatch):
    opened: list[SeriesSource] = []

    def kept(*given: Any) -> SeriesSource:
        opened.append(SeriesSource(*given))
        return opened[0]

    monkeypatch.setattr(rendering, "SeriesSource", kept)
    with pytest.raises(IoError, match="the disk is full"):
        render(blocks(picture("fine"), picture("broken")), SELF)
    assert [one.told for one in Drawn.made] == [["closed"]] * 2
    with pytest.raises((IoError, InputError, ValueError), match="closed"):
        opened[0].read(0)["ux"]


def test_lines_come_at_once(blocks: Any, monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []

    class Pipe(io.StringIO):
        def flush(self) -> None:
            seen.append(self.getvalue())

    monkeypatch.setattr(sys, "stdout", Pipe())
    render(blocks(picture(every=4)), SELF)
    monkeypatch.undo()
    assert seen == ["q of step 0\n", "q of step 0\nq of step 4\n"]


# ---- the blocks ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["[time]\ndt = 1.0\n"], r"blocks\.toml: has no \[\[picture\]\] and no \[\[catalyst\]\]"),
        ([picture().replace("surface", "surfaec")], "did you mean .*surface"),
        ([picture().replace('"ux"', '"vx"')], "'vx' is no field"),
        ([picture(more='title = "{reynold}"\n'), "[case]\nreynolds = 100.0\n"], r"picture\[0\]\.title: .*reynolds"),
    ],
)
def test_wrong_blocks_are_told(blocks: Any, texts: list[str], said: str):
    with pytest.raises((ConfigError, InputError), match=said):
        render(blocks(*texts), SELF)
    assert not Drawn.made


def test_titles_have_the_values_of_the_case_that_was_computed(blocks: Any):
    """Of the file with the blocks, where the source tells no case."""
    texts = (picture(more='title = "Re = {reynolds}"\n'), picture("plain"), "[case]\nreynolds = 100.0\n")
    render(blocks(*texts), SELF)
    assert [one.how["title"] for one in Drawn.made] == ["Re = 100", ""]
    with tr.open("run.h5", "w", grid=GRID) as out:
        out.set_attribute("case", "[case]\nreynolds = 250.0\n")
        out.write_step(0.0, ux=np.zeros((10, 9, 8)))
    render(blocks(*texts), SELF)
    assert [one.how["title"] for one in Drawn.made[2:]] == ["Re = 250", ""]


def test_functions_of_users_are_loaded_for_all(blocks: Any):
    Path("own.py").write_text("def speed(step):\n    return step['ux']\n")
    render(blocks(picture().replace('"ux"', '"own.py:speed"')), SELF)
    assert list(Drawn.made[0].how["functions"]) == ["own.py:speed"]


# ---- what is there ---------------------------------------------------------------------------------------------------
def overwriting(request: RenderRequest) -> RenderRequest:
    return RenderRequest(request.pictures, request.source, overwrite=True)


@pytest.mark.parametrize("name", ["q.mp4", "q.csv"])
def test_a_film_or_a_table_is_replaced_on_request_only(blocks: Any, name: str):
    """By what writes them; they stay until then."""
    Path("pictures").mkdir()
    (Path("pictures") / name).write_text("mine")
    with pytest.raises(InputError, match=f"pictures/{name} is there already; give --overwrite to replace it"):
        render(blocks(picture()), SELF)
    assert not Drawn.made
    assert render(overwriting(blocks(picture())), SELF) == 0
    assert (Path("pictures") / name).read_text() == "mine"


def test_what_pipelines_have_made_goes_on_request_only(blocks: Any):
    place = Path("catalyst/pipeline")
    record = Executions(Path("catalyst/pipeline.jsonl"), place, None)
    (place / "a.png").write_text("made")
    record.note(0, 0.0)
    record.close()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"catalyst/pipeline/a\.png is there already"):
        render(blocks(CATALYST), SELF)
    assert (place / "a.png").exists()
    assert render(overwriting(blocks(CATALYST)), SELF) == 0
    assert [path.name for path in place.iterdir()] == ["mine.txt"]


def test_a_database_goes_on_request_only(blocks: Any):
    text = picture(more="film = false\n[picture.database]\nphi = 2\n")
    place = Path("pictures/q.cdb")
    place.parent.mkdir()
    database = Database(place, ["phi"], None)
    database.add(0, 0.0, [({"phi": 0.0}, np.zeros((4, 4, 3), np.uint8))])
    database.close()
    there = {path.name for path in place.iterdir()}
    assert len(there) > 1
    (place / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"q\.cdb/.* is there already"):
        render(blocks(text), SELF)
    assert there < {path.name for path in place.iterdir()}
    assert render(blocks(picture()), SELF) == 0, "which makes no database"
    assert there < {path.name for path in place.iterdir()}
    assert render(overwriting(blocks(text)), SELF) == 0
    assert [path.name for path in place.iterdir() if path.is_file()] == ["mine.txt"]


def test_a_request_stays_as_it_is(blocks: Any):
    with pytest.raises(FrozenInstanceError):
        blocks(picture()).overwrite = True
