"""Pictures as a consumer of steps: what is written of what was drawn, and what a failure costs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from mpi4py import MPI
from PIL import Image

import tailrace as tr
from helpers.harness import recorded_calls
from helpers.harness.descriptors import descriptors
from tailrace.case.schedule import Schedule
from tailrace.consumers import picture as pictures
from tailrace.consumers.picture import Picture, open_pictures, scene_of, variants_of
from tailrace.core import InputError, IoError
from tailrace.io.time_series import read_time_series
from tailrace.pictures.frame import DARK, LIGHT
from tailrace.pictures.painter import PainterError
from tailrace.pictures.scene import Layer

av = pytest.importorskip("av")
SURFACE = {"surface": "q", "values": [0.2]}


class Drawn:
    """In the place of what VTK draws: pictures whose brightness is the step."""

    last: ClassVar[Any] = None
    channels = 3

    def __init__(self, scene: Any) -> None:
        self.scene, self.field_bytes, self.closed = scene, 2048, 0
        self.chosen: dict[str, list[float]] = {}
        self.fails: dict[int, Exception] = {}
        self._now = (0, 0)
        Drawn.last = self

    def begin(self, step: Any, scenes: Sequence[Any]) -> None:
        if isinstance(error := self.fails.get(step.index), InputError):
            raise error
        self._now = (step.index, len(scenes))

    def remarks(self) -> list[str]:
        return ["it has holes"] if self._now[0] == 4 else []

    def end(self) -> list[Any]:
        index, count = self._now
        if index in self.fails:
            raise self.fails[index]
        return [np.full((64, 96, self.channels), 40 + 10 * index + at, np.uint8) for at in range(count)]

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pictures, "Drawing", Drawn)


def section(**keys: Any) -> Any:
    block = {"name": "q", "every": 2, "size": [96, 64], "layers": [SURFACE], **keys}
    case = tr.Case(
        case={"flow": "taylor-green", "reynolds": 100.0},
        grid={"points": (8, 9, 10), "lengths": (1.0, 1.0, 1.0), "boundaries": ("periodic",) * 3},
        time={"dt": 0.01, "steps": 3},
        picture=[block],
    )
    return case.picture[0]


def made(say: Any = print, resumed: int | None = None, **keys: Any) -> Picture:
    schedule = Schedule(every=2, dt=0.01)
    return Picture(section(**keys), MPI.COMM_SELF, say, schedule, functions={}, resumed=resumed, title="")


def take(picture: Picture, *indices: int) -> None:
    for index in indices:
        picture.take(SimpleNamespace(index=index, time=0.01 * index))  # type: ignore[arg-type]


def steps() -> list[int]:
    return [int(step) for step in read_time_series("pictures/q.csv")["step"]]


def frames(path: str = "pictures/q.mp4") -> list[int]:
    """The steps that the frames of a film show."""
    with av.open(path) as film:
        shown = [frame.to_ndarray(format="rgb24").mean() for frame in film.decode(film.streams.video[0])]
    return [round((brightness - 40) / 10) for brightness in shown]


def rows() -> list[dict[str, str]]:
    with Path("pictures/q.cdb/data.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_step_is_in_the_film_the_table_the_database_and_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    before = descriptors()
    said: list[str] = []
    picture = made(said.append, png=True, rate=1, database={"phi": 2})
    assert (picture.phase, picture.wants(2, 0.02), picture.wants(3, 0.03)) == ("picture q", True, False)
    assert picture.progress() == {"picture": "q", "drawn": 0, "left out": 0}
    take(picture, 0)
    assert steps() == [], "it is drawn while the run goes on"
    take(picture, 2)
    assert steps() == [0]
    picture.flush()
    assert (steps(), frames()) == ([0, 2], [0, 2])
    take(picture, 4)
    picture.close()
    assert Drawn.last.closed == 1
    picture.close()
    assert (steps(), frames()) == ([0, 2, 4], [0, 2, 4])
    assert read_time_series("pictures/q.csv")["time"].tolist() == [0.0, 0.02, 0.04]
    assert [(row["step"], row["phi"]) for row in rows()] == [(s, p) for s in "024" for p in ("0", "180")]
    for row, value in zip(rows(), (41, 42, 61, 62, 81, 82), strict=True):  # the usual scene comes first
        assert np.asarray(Image.open(f"pictures/q.cdb/{row['FILE']}"))[0, 0, 0] == value
    for step in (0, 2, 4):
        with Image.open(f"pictures/q-{step:06d}.png") as image:
            assert image.info["Software"] == "Tailrace picture"
            assert (np.asarray(image) == 40 + 10 * step).all()
    assert said == ["warning: picture 'q' of step 4: it has holes"]
    assert picture.progress() == {"picture": "q", "drawn": 3, "left out": 0}
    assert not picture.incomplete
    assert not descriptors() - before
    picture.report()
    database, film = capsys.readouterr().out.splitlines()
    assert database == "pictures/q.cdb: 6 pictures, shown by its index.html"
    size = Path("pictures/q.mp4").stat().st_size / 1024
    assert film == f"pictures/q.mp4: 3 pictures, 3 s, {size:.1f} KiB; one of its fields takes 2.0 KiB"


def test_a_run_that_goes_on_draws_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    first = made(database={"phi": 1})
    take(first, 0, 2, 4)
    first.close()
    picture = made(resumed=2, database={"phi": 1})
    assert steps() == [0, 2]
    take(picture, 2, 4, 6)
    picture.close()
    assert (steps(), frames(), [row["step"] for row in rows()]) == ([0, 2, 4, 6], [0, 2, 4, 6], list("0246"))
    assert picture.progress()["drawn"] == 2
    Drawn.last.field_bytes = 0
    picture.report()
    assert capsys.readouterr().out.rstrip().endswith("KiB"), "nothing is said of fields that were not seen"
    again = made(database={"phi": 1})
    take(again, 0)
    again.close()
    assert (steps(), frames(), [row["step"] for row in rows()]) == ([0], [0], ["0"]), "it began anew"


def test_what_cannot_be_drawn_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    picture = made(said.append, png=True, film=False)
    Drawn.last.fails = {2: InputError("no field"), 4: PainterError("no screen")}
    take(picture, 0, 2, 4, 6)
    picture.close()
    assert steps() == [0, 6]
    assert [line.split("is left out")[0][-7:] for line in said if "left out" in line] == ["step 2 ", "step 4 "]
    assert said[0].endswith(": no field") and said[-1].endswith(": no screen")
    assert picture.progress() == {"picture": "q", "drawn": 2, "left out": 2}
    assert picture.incomplete
    picture.report()
    assert capsys.readouterr().out.splitlines() == [
        "pictures/q-*.png: 2 pictures",
        "warning: 2 pictures of 'q' are left out, see above",
    ]
    assert not Path("pictures/q.mp4").exists()


def test_a_disk_that_refuses_switches_it_off(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    picture = made(said.append, png=True, film=False, database={"phi": 1})
    Path("pictures/q.cdb/000002").write_bytes(b"mine")  # no directory can be made there
    take(picture, 0, 2, 4, 6)
    Path("pictures/q.csv").unlink()
    picture.flush()  # nothing is waited for any more
    picture.close()
    assert len(said) == 1 and said[0].startswith("warning: picture 'q' is switched off at step 2: "), said
    assert "000002" in said[0]
    assert sorted(path.name for path in Path("pictures").glob("*.png")) == ["q-000000.png"]
    assert picture.incomplete
    picture.report()
    assert capsys.readouterr().out == ""


def test_a_picture_of_somebody_else_stays() -> None:
    said: list[str] = []
    picture = made(said.append, png=True, film=False)
    Path("pictures/q-000000.png").write_bytes(b"mine")  # since the run began
    take(picture, 0)
    picture.flush()  # the run goes on
    picture.close()
    assert len(said) == 1 and said[0].startswith("warning: picture 'q' is switched off at step 0")
    assert "q-000000.png is there already, and is no picture of Tailrace" in said[0]
    assert Path("pictures/q-000000.png").read_bytes() == b"mine"


def test_without_a_library_for_films_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise PainterError("films are made by PyAV, which does not load")

    monkeypatch.setattr(pictures, "Film", missing)
    said: list[str] = []
    picture = made(said.append)
    take(picture, 0, 2)
    picture.close()
    assert said == ["warning: picture 'q' is switched off: films are made by PyAV, which does not load"]
    assert picture.incomplete and steps() == []


@pytest.mark.parametrize("off", [False, True])
def test_a_table_that_cannot_be_completed_is_an_error_that_is_told_once(
    monkeypatch: pytest.MonkeyPatch, *, off: bool
) -> None:
    close = pictures.TimeSeries.close

    def full(self: Any) -> None:
        close(self)
        raise IoError("no space")

    said: list[str] = []
    picture = made(said.append, film=False, database={"phi": 1})
    if off:
        Path("pictures/q.cdb/000000").write_bytes(b"mine")
    take(picture, 0)
    picture.flush()
    assert picture._database is not None
    picture._database.close()
    monkeypatch.setattr(pictures.TimeSeries, "close", full)
    with pytest.raises(IoError, match="no space") if not off else nullcontext():
        picture.close()
    assert len(said) == off


def test_what_was_taken_is_on_the_disk_after_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = made(database={"phi": 1})
    take(picture, 0)
    with monkeypatch.context() as patched:
        calls = recorded_calls.in_python(patched, "fsync")
        picture.flush()
    assert {path.name for _, path in calls} >= {"q.csv", "data.csv", "data.js", "q.mp4"}
    picture.close()


def test_the_ranges_of_the_first_picture_go_along_with_checkpoints() -> None:
    picture = made()
    assert picture.state() is None
    Drawn.last.chosen["0"] = [0.25, 0.5]
    packed = picture.state()
    assert packed is not None
    assert (packed.blocks, packed.lists, packed.about) == ({}, {}, {"picture/q": '{"0": [0.25, 0.5]}'})
    picture.close()
    other = made(resumed=0)
    other.resume(SimpleNamespace(about={}))  # type: ignore[arg-type]
    assert Drawn.last.chosen == {}
    other.resume(SimpleNamespace(about=packed.about))  # type: ignore[arg-type]
    assert Drawn.last.chosen == {"0": [0.25, 0.5]}
    other.close()


@pytest.mark.parametrize(("theme", "paper"), [("light", LIGHT.paper), ("dark", DARK.paper)])
def test_a_film_has_paper_where_a_picture_has_nothing(theme: str, paper: Sequence[float]) -> None:
    image = np.zeros((2, 3, 4), np.uint8)
    image[0] = (10, 20, 30, 255)
    image[1, 0] = (200, 100, 0, 51)
    found = pictures._on_paper(image, scene_of(section(theme=theme), {}, "").theme)
    assert found.shape == (2, 3, 3) and found.dtype == np.uint8
    assert (found[0] == (10, 20, 30)).all()
    np.testing.assert_array_equal(found[1, 1:], np.tile(np.round(255 * np.array(paper)), (2, 1)))
    expected = 0.2 * np.array([200, 100, 0]) + 0.8 * 255 * np.array(paper)
    np.testing.assert_allclose(found[1, 0], expected, atol=0.51)
    plain = image[..., :3]
    assert pictures._on_paper(plain, LIGHT) is plain


def test_transparent_pictures_have_paper_in_the_film_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawn, "channels", 4)
    picture = made(png=True, transparent=True)
    take(picture, 2)
    picture.close()
    with Image.open("pictures/q-000002.png") as image:
        assert image.mode == "RGBA"
    share = 60 / 255
    with av.open("pictures/q.mp4") as film:
        (frame,) = film.decode(film.streams.video[0])
    assert frame.to_ndarray(format="rgb24").mean() == pytest.approx(share * 60 + (1 - share) * 255, abs=3)


@pytest.mark.parametrize(
    ("block", "layer"),
    [
        ({"surface": "q", "values": [0.2, 0.4], "colour": "uz"}, Layer("q", (0.2, 0.4), "uz")),
        ({"surface": "q", "range": [0.0, 2.0], "label": "Q"}, Layer("q", limits=(0.0, 2.0), label="Q")),
        ({"slice": "ux", "at": {"y": 0.5}, "colours": "viridis"}, Layer("ux", axis="y", place=0.5, colours="viridis")),
        (
            {"slice": "ux", "normal": [1.0, 1.0, 0.0], "through": [0.5, 0.0, 0.0]},
            Layer("ux", normal=(1.0, 1.0, 0.0), through=(0.5, 0.0, 0.0)),
        ),
        ({"vectors": "u", "at": {"z": 0.25}}, Layer("u", axis="z", place=0.25, spacing=4)),
        ({"vectors": "u", "at": {"z": 0.25}, "spacing": 2}, Layer("u", axis="z", place=0.25, spacing=2)),
        ({"volume": "q"}, Layer("q", opacity=0.5)),
        ({"volume": "q", "opacity": 0.25}, Layer("q", opacity=0.25)),
    ],
)
def test_what_a_layer_shows(block: dict[str, Any], layer: Layer) -> None:
    assert scene_of(section(layers=[block]), {}, "title").layers == (layer,)


def test_the_scenes_of_a_database() -> None:
    """The first surface takes the values and the first slice that has a place takes the places."""
    layers = [
        {"slice": "uy", "normal": [1.0, 0.0, 0.0]},
        {"slice": "ux", "at": {"z": 0.5}},
        {"surface": "q", "values": [0.2]},
        {"surface": "uz", "values": [0.3]},
    ]
    block = section(layers=layers, database={"phi": 2, "values": [0.1, 0.4], "places": [0.25]})
    scene = scene_of(block, {}, "")
    found = list(variants_of(scene, block))
    assert [tuple(columns.items()) for columns, _ in found] == [
        (("phi", phi), ("value", value), ("place", 0.25)) for phi in (0.0, 180.0) for value in (0.1, 0.4)
    ]
    for columns, one in found:
        assert one.turn == columns["phi"]
        assert [layer.levels for layer in one.layers] == [(), (), (columns["value"],), (0.3,)]
        assert [layer.place for layer in one.layers] == [0.0, 0.25, 0.0, 0.0]
    assert list(variants_of(scene, section())) == []


def test_the_blocks_of_a_case_are_opened_with_their_titles() -> None:
    case = tr.Case(
        case={"flow": "taylor-green", "reynolds": 50.0},
        grid={"points": (8, 9, 10), "lengths": (1.0, 1.0, 1.0), "boundaries": ("periodic",) * 3},
        time={"dt": 0.01, "steps": 3},
        picture=[{"name": "q", "every": 2, "size": [96, 64], "layers": [SURFACE], "title": "Re {reynolds}"}],
    )
    model = SimpleNamespace(case=case, comm=MPI.COMM_SELF)
    (picture,) = open_pictures(SimpleNamespace(model=model, say=print, resumed=None))  # type: ignore[arg-type]
    assert "50" in Drawn.last.scene.title
    assert picture.next_time(0.0) is None
    picture.close()
