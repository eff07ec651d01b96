"""What a conversion tells of its work, what it takes as a source, and how it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailrace as tr
from helpers.programs.conversions import GRID, made_up, table, write_source
from tailrace.conversion.plan import Plan
from tailrace.conversion.request import Converted
from tailrace.conversion.work import _with_ends
from tailrace.formats import recognise
from tailrace.io import guard, series

SIZE = 2 * 3 * 4 * 8  # bytes of a variable


def write(path: Path, steps: int = 2, **how: Any) -> Path:
    with series.open(path, "x", **how) as out:
        for number in range(steps):
            out.write_step(0.5 * number, {name: np.full((2, 3, 4), 1.0 + number) for name in ("u", "v")}, index=number)
    return path


def test_progress_counts_bytes(tmp_path: Path):
    told: list[tuple[str, int, int]] = []
    done = tr.convert(write(tmp_path / "in"), tmp_path / "out", progress=lambda *words: told.append(words))
    total = 4 * SIZE
    assert told == [(what, part * SIZE, total) for what in ("writing", "comparing") for part in (1, 2, 3, 4)]
    assert done == Converted(str(tmp_path / "out"), "raw", 2, total, 0, True, 0, [])


def test_progress_of_what_is_left(tmp_path: Path):
    def stop(what: str, done: int, total: int) -> None:
        if done == total:
            raise ValueError

    write(tmp_path / "in", 3)
    with pytest.raises(ValueError):
        tr.convert(tmp_path / "in", tmp_path / "out", progress=stop)
    told: list[tuple[str, int, int]] = []
    done = tr.convert(tmp_path / "in", tmp_path / "out", resume=True, progress=lambda *words: told.append(words))
    assert told == [("writing", part * SIZE, 2 * SIZE) for part in (1, 2)] + [
        ("comparing", part * SIZE, 6 * SIZE) for part in range(1, 7)
    ]
    assert (done.resumed, done.bytes) == (2, 6 * SIZE)


def test_a_result_that_is_there_is_reported_as_if_it_had_been_made(tmp_path: Path):
    write(tmp_path / "in")
    tr.convert(tmp_path / "in", tmp_path / "out.h5")
    done = tr.convert(tmp_path / "in", tmp_path / "out.h5", resume=True)
    assert done == Converted(str(tmp_path / "out.h5"), "hdf5", 2, 4 * SIZE, 2, True, 0, [])
    for how in ({"delete_originals": True}, {"verify": False}):
        with pytest.raises(tr.InputError, match="is there already, and no unfinished conversion to it"):
            tr.convert(tmp_path / "in", tmp_path / "out.h5", resume=True, **how)  # type: ignore[arg-type]
    assert (tmp_path / "in").exists()


def test_files_of_another_program_are_reported_too(tmp_path: Path):
    write_source(tmp_path / "in", "raw")
    with made_up():
        made = tr.convert(tmp_path / "in", tmp_path / "out", format="numbered")
        done = tr.convert(tmp_path / "in", tmp_path / "out", format="numbered", resume=True)
    assert (made.engine, made.steps, made.resumed, made.removed) == ("numbered", 3, 0, 0)
    assert done == made._replace(resumed=3)


class KilledError(BaseException):
    """As a kill, it leaves all as it is."""


def test_files_of_another_program_are_made_again_after_a_kill(tmp_path: Path):
    def stop(what: str, done: int, total: int) -> None:
        if 2 * done > total:
            raise KilledError

    write_source(tmp_path / "in", "raw")
    with made_up():
        with pytest.raises(KilledError):
            tr.convert(tmp_path / "in", tmp_path / "out", format="numbered", progress=stop)
        assert (tmp_path / "out.partial").exists() and not (tmp_path / "out").exists()
        done = tr.convert(tmp_path / "in", tmp_path / "out", format="numbered", resume=True)
        assert (done.steps, done.resumed) == (3, 0)
        tr.convert(tmp_path / "out", tmp_path / "back", engine="raw")
    assert table(tmp_path / "back") == table(tmp_path / "in")


def test_a_source_that_has_changed_is_told_before_anything_is_written(tmp_path: Path):
    def stop(*_: object) -> None:
        raise KilledError

    write(tmp_path / "in")
    with pytest.raises(KilledError):
        tr.convert(tmp_path / "in", tmp_path / "out", progress=stop)
    with series.open(tmp_path / "in", "a") as out:
        out.write_step(9.0, {"u": np.zeros((2, 3, 4))}, index=9)
    with pytest.raises(tr.InputError, match=r"since the conversion began; remove .*partial"):
        tr.convert(tmp_path / "in", tmp_path / "out", resume=True, progress=stop)


def test_where_a_source_came_from_is_told_once(tmp_path: Path):
    """A series keeps what it says of itself; others get the conversion as their origin."""
    tr.convert(write(tmp_path / "in"), tmp_path / "first.h5")
    tr.convert(tmp_path / "first.h5", tmp_path / "second.h5")
    with series.open(tmp_path / "first.h5") as first, series.open(tmp_path / "second.h5") as second:
        assert first.attributes["made_by"] == "convert" and first.attributes["source"] == str(tmp_path / "in")
        assert {n: second.attributes[n] for n in ("made_by", "source")} == {
            n: first.attributes[n] for n in ("made_by", "source")
        }
        lines = str(second.attributes["history"]).split("\n")
        assert lines[0] == first.attributes["history"] and len(lines) == 2
        assert lines[0].endswith(f"from {tmp_path / 'in'} (raw)") and lines[1].endswith("first.h5 (hdf5)")
        assert second.attributes["converted_from"] == str(tmp_path / "first.h5")


def test_only_metadata_that_no_checksum_covers_are_read_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of the source; this program itself has written the result."""
    asked: list[str] = []
    monkeypatch.setattr(guard, "check_metadata", lambda path, *_: asked.append(Path(path).name))
    monkeypatch.setattr(guard, "vouched", lambda path, _: "sound" in path.name)
    for name in ("sound.bp", "unknown.bp"):
        tr.convert(write(tmp_path / name), tmp_path / f"to-{name}")
    assert asked == ["unknown.bp"]


INPUT = (
    "&BasicParam\nnx=4\nny=3\nnz=2\nxlx=1.\nyly=1.\nzlz=1.\ndt=0.1\nre=10.\nnclx1=0\nnclxn=0\nncly1=0\nnclyn=0\n"
    "nclz1=0\nnclzn=0\nitype=2\nifirst=1\nilast=9\n/\n&InOutParam\nioutput=5\n/\n"
)


def test_the_folder_of_a_run_is_the_series_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Unless the user says that it is one of another program."""
    monkeypatch.setattr(recognise, "check_in_child", lambda path: None)  # another process takes a second
    run = tmp_path / "run"
    run.mkdir()
    (run / "input.i3d").write_text(INPUT)
    write(run / "data", engine="raw")
    with series.open(run / "data", "a") as out:
        out.set_attribute("case", "ours")
    tr.convert(run, tmp_path / "out.h5")
    assert table(tmp_path / "out.h5") == table(run / "data")
    with series.open(tmp_path / "out.h5") as found:
        assert found.attributes["case"] == "ours"
    np.zeros(24).tofile(run / "data" / "ux-1.bin")
    tr.convert(run, tmp_path / "theirs.h5", source_format="xcompact3d")
    with series.open(tmp_path / "theirs.h5") as found:
        assert "ux" in found[0].names and "case" not in found.attributes
    with pytest.raises(tr.InputError, match="nonsense"):
        tr.convert(run, tmp_path / "none.h5", source_format="xcompact3d", source_parameters={"nonsense": 3})


def test_parameters_reach_the_reader_of_the_source(tmp_path: Path):
    write(tmp_path / "in.h5")
    with pytest.raises(tr.InputError, match="nonsense"):
        tr.convert(tmp_path / "in.h5", tmp_path / "out.h5", source_parameters={"nonsense": 3})


@pytest.mark.parametrize(("said", "kept"), [("periodic,dirichlet,free-slip", True), ("periodic", False), ("", False)])
def test_boundaries_of_the_attributes_are_those_of_the_grid(said: str, kept: bool):
    found = _with_ends(Plan([], GRID, {"boundaries": said} if said else {}, []))
    assert found is not None and found.points == GRID.points
    assert found.boundaries == (("periodic", "dirichlet", "free-slip") if kept else GRID.boundaries)
    assert _with_ends(Plan([], None, {"boundaries": said}, [])) is None
