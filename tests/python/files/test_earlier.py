"""Earlier results by themselves: what is set aside, put back or removed, and what belongs to a result."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from tailrace.core import FileLock, InputError, IoError
from tailrace.files import locks, set_aside
from tailrace.files.set_aside import SetAside, record_of
from tailrace.io import series
from tailrace.io.found import ExistingResult, check_unlocked, files_of, listed, of_series, of_table
from tailrace.io.time_series import TimeSeries


@pytest.fixture
def place(tmp_path):
    """A result, and the record beside it."""
    (tmp_path / "x").write_text("old")
    return tmp_path / "x"


def write_record(place: Path, state: str, *paths: object) -> Path:
    record = record_of(place)
    told = {"tailrace": "earlier results", "state": state, "paths": [str(path) for path in paths]}
    record.write_text(json.dumps(told))
    return record


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_what_is_set_aside_comes_back_or_goes(place):
    record = record_of(place)
    assert record.name == "x.earlier.json"
    with SetAside(record, [place]) as earlier:
        earlier.set_aside([place])
        assert json.loads(record.read_text()) == {
            "tailrace": "earlier results",
            "state": "aside",
            "paths": [str(place)],
        }
        assert names(place.parent) == ["x.earlier", "x.earlier.json"]
        place.write_text("new")
    assert place.read_text() == "old"
    assert names(place.parent) == ["x"]
    with SetAside(record, [place]) as earlier:
        assert not earlier.returned
        earlier.set_aside([place])
        place.write_text("new")
        earlier.remove()
        assert names(place.parent) == ["x"]
        earlier.remove()
        earlier.close()
        earlier.close()
    assert place.read_text() == "new"


def test_the_right_is_given_back(place):
    record = record_of(place)
    earlier = SetAside(record, [place])
    earlier.set_aside([place])
    with pytest.raises(IoError, match="is writing it"):
        FileLock(str(record))
    earlier.close()
    FileLock(str(record)).release()


def test_a_program_that_is_killed_between_looking_and_claiming(place):
    """Its record is not replaced: what it had set aside is back."""
    with SetAside(record_of(place), [place]) as earlier:
        place.rename(place.with_name("x.earlier"))
        write_record(place, "aside", place)
        earlier.claim()
        assert names(place.parent) == ["x"]
        earlier.set_aside([place])
        place.write_text("new")
        earlier.remove()
    assert names(place.parent) == ["x"]
    assert place.read_text() == "new"


def test_one_with_nothing_set_aside_touches_no_record(place):
    earlier, other = (SetAside(record_of(place), [place]) for _ in range(2))
    other.set_aside([place])
    earlier.remove()
    earlier.close()
    assert names(place.parent) == ["x.earlier", "x.earlier.json"]
    other.close()
    assert place.read_text() == "old"


def test_another_program_that_finishes_is_waited_for_by_nobody(place):
    (place.parent / "x.earlier").write_text("older")
    lock = FileLock(str(write_record(place, "aside", place)))
    with pytest.raises(IoError, match="is writing it"):
        SetAside(record_of(place), [place])
    assert place.read_text() == "old"
    lock.release()


def test_nothing_is_renamed_where_a_name_is_taken(tmp_path):
    for name in ("a", "b", "b.earlier"):
        (tmp_path / name).write_text(name)
    with SetAside(record_of(tmp_path / "a"), [tmp_path]) as earlier:
        with pytest.raises(InputError) as error:
            earlier.set_aside([tmp_path / "a", tmp_path / "b"])
        path = tmp_path / "b"
        assert str(error.value) == f"{path}.earlier is there already; move it away, so that {path} can have its name"
    assert names(tmp_path) == ["a", "b", "b.earlier"]


def test_one_that_cannot_be_renamed_brings_all_back(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    rename = Path.rename

    def refuse(path, target):
        if path.name == "b":
            raise PermissionError(1, "Operation not permitted", str(path))
        return rename(path, target)

    with SetAside(record_of(tmp_path / "a"), [tmp_path]) as earlier:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", refuse)
            with pytest.raises(IoError, match=rf"cannot set {tmp_path / 'b'} aside: Operation not permitted"):
                earlier.set_aside([tmp_path / "a", tmp_path / "b"])
        assert names(tmp_path) == ["a", "b"], "before it is left"
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("name", ["x.earlier.json", "x.earlier.json.tmp"])
def test_a_file_of_somebody_else_is_no_record(place, name):
    with SetAside(record_of(place), [place]) as earlier:
        (place.parent / name).write_text("mine")
        with pytest.raises(InputError, match=rf"{name} is there already, and is no record of earlier results"):
            earlier.set_aside([place])
        assert place.read_text() == "old"
    assert (place.parent / name).read_text() == "mine"
    if not name.endswith(".tmp"):
        with pytest.raises(InputError, match="is no record of earlier results"):
            SetAside(record_of(place), [place])
        FileLock(str(record_of(place))).release()
        assert (place.parent / name).read_text() == "mine"


@pytest.mark.parametrize("state", ["aside", "remove"])
def test_what_a_killed_program_began_is_finished(place, state):
    (place.parent / "x.earlier").write_text("older")
    earlier = SetAside(write_record(place, state, place), [place])
    assert earlier.returned == (state == "aside")
    assert place.read_text() == ("older" if state == "aside" else "old")
    assert names(place.parent) == ["x"]
    FileLock(str(record_of(place))).release()


def test_a_record_that_another_program_has_finished_meanwhile(place, monkeypatch):
    record, take = write_record(place, "aside", place), locks.take

    def late(target):
        record.unlink()
        return take(target)

    monkeypatch.setattr(locks, "take", late)
    assert not SetAside(record, [place]).returned
    assert place.read_text() == "old"


def test_the_record_is_on_the_disk_before_anything_is_renamed(place, monkeypatch):
    calls = []
    fsync, rename = os.fsync, Path.rename
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append("sync"), fsync(descriptor)))
    monkeypatch.setattr(Path, "rename", lambda path, target: (calls.append("rename"), rename(path, target)))
    with SetAside(record_of(place), [place]) as earlier:
        earlier.set_aside([place])
        earlier.remove()
    assert calls == ["sync", "rename", "sync"]


def test_of_those_that_were_not_renamed_yet_nothing_is_lost(place):
    assert SetAside(write_record(place, "aside", place), [place]).returned
    assert place.read_text() == "old"


@pytest.mark.parametrize("how", ["file", "folder", "link"])
def test_what_others_put_into_a_new_series_is_not_removed(tmp_path, how):
    """The old series comes back when that is moved away."""
    place, mine = tmp_path / "run.bp", tmp_path / "run.bp" / "mine"
    place.mkdir()
    (place / "md.idx").write_text("old")
    (tmp_path / "other").mkdir()
    earlier = SetAside(record_of(place), [place])
    earlier.set_aside([place])
    place.mkdir()
    (place / "md.idx").touch()
    if how == "file":
        mine.write_text("mine")
    elif how == "folder":
        mine.mkdir()
    else:
        mine.symlink_to(tmp_path / "other")
    for work in (earlier.close, lambda: SetAside(record_of(place), [place])):
        with pytest.raises(IoError, match=rf"{mine}\b.*To fix this"):
            work()
        assert os.path.lexists(mine)
        assert (tmp_path / "run.bp.earlier" / "md.idx").read_text() == "old"
    mine.rename(tmp_path / "mine")
    assert SetAside(record_of(place), [place]).returned
    assert (place / "md.idx").read_text() == "old"
    assert names(tmp_path) == ["mine", "other", "run.bp"]


@pytest.mark.parametrize("text", ["", "\0" * 80])
def test_a_record_that_a_power_failure_left(place, text):
    record = record_of(place)
    record.write_text(text)
    assert SetAside(record, [place]).returned
    assert names(place.parent) == ["x"]
    assert place.read_text() == "old"


@pytest.mark.parametrize(
    "text",
    ["", ', "state": "aside"', ', "state": "gone", "paths": []', ', "state": "aside", "paths": 3', ', "state": {}'],
)
def test_a_damaged_record_is_named_and_stays(place, text):
    record = record_of(place)
    for end in ("}", ""):
        record.write_text('{"tailrace": "earlier results"' + text + end)
        with pytest.raises(IoError, match=rf"{record} is damaged: it lists results of an earlier run"):
            SetAside(record, [place])
        assert names(place.parent) == ["x", "x.earlier.json"]
        FileLock(str(record)).release()


def test_places_are_those_of_results_and_what_lies_in_or_beside_them(tmp_path):
    earlier = SetAside(tmp_path / "none", [tmp_path / "run" / "out"])
    base = tmp_path.resolve() / "run"
    for inside in ("out", "out/deep/file", "out.h5", "out-line-000001.png", "out.journal"):
        assert earlier._is_inside(base / inside), inside
    for outside in (".", "outer", "out_", "deep/out.h5", "out/../other", "../out", "ou"):
        assert not earlier._is_inside(base / outside), outside


# ---- what is found ---------------------------------------------------------------------------------------------------


def row(path: Path, **more: str) -> Path:
    with TimeSeries(path, columns=("step", "time"), definitions="", provenance=more) as table:
        table.append({"step": 1, "time": 0.5})
    return path


def test_tables_with_a_row_are_results(tmp_path):
    path = row(tmp_path / "a.csv", made_by="analyse")
    assert list(of_table(path)) == [ExistingResult(str(path), [path], "analyse")]
    assert list(of_table(row(tmp_path / "b.csv"))) == [
        ExistingResult(str(tmp_path / "b.csv"), [tmp_path / "b.csv"], "")
    ]
    TimeSeries(path).close()
    assert list(of_table(path)) == [], "no row"
    for text in ("mine", "# Tailrace time series\nstep,time\nx,1\n"):
        path.write_text(text)
        assert list(of_table(path)) == []
    assert list(of_table(tmp_path)) == list(of_table(tmp_path / "none")) == []


@pytest.mark.parametrize("name", ["run", "run.h5", "run.bp"])
def test_series_with_a_step_are_results(tmp_path, name):
    path = tmp_path / name
    assert list(of_series(path)) == []
    with series.open(path, "w") as out:
        out.set_attribute("made_by", "beside")
    assert list(of_series(path)) == []
    with series.open(path, "w") as out:
        out.set_attribute("made_by", "beside")
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    with series.open(path) as stored:
        files = [Path(file) for file in stored.files]
    assert list(of_series(path)) == [ExistingResult(str(path), files, "beside")]
    journal = Path(f"{path}.journal")
    if name == "run.h5":
        journal.write_bytes(b"")
        assert list(of_series(path)) == [ExistingResult(str(path), [*files, journal], "beside")]
        journal.unlink()


def test_files_of_other_programs_are_no_results(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["u"] = np.zeros(3)
    (tmp_path / "empty.h5").touch()
    (tmp_path / "empty").mkdir()
    for name in ("other.h5", "empty.h5", "empty"):
        assert list(of_series(tmp_path / name)) == [], name


def test_a_damaged_series_is_a_result_of_unknown_files(tmp_path):
    path = tmp_path / "run"
    with series.open(path, "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    text = (path / "series.jsonl").read_text()
    (path / "series.jsonl").write_text(text.replace('"axes"', '"axis"', 1))  # in the line that describes the series
    (found,) = of_series(path)
    assert found == ExistingResult(str(path), None, "")
    with pytest.raises(InputError) as error:
        files_of([ExistingResult("other", [Path("a")]), found])
    assert str(error.value) == (
        f"{path} is damaged, so that it is not known which files belong to it; move it away or remove it"
    )
    assert files_of([ExistingResult("a", [Path("a"), Path("b")]), ExistingResult("c", [Path("c")])]) == [
        Path("a"),
        Path("b"),
        Path("c"),
    ]


def test_at_most_four_are_named():
    found = [ExistingResult(name, []) for name in "abcdef"]
    assert listed(found[:1]) == "a"
    assert listed(found[:4]) == "a, b, c, d"
    assert listed(found[:5]) == "a, b, c, d and 1 more"
    assert listed(found) == "a, b, c, d and 2 more"


def test_one_that_is_being_written_is_refused(tmp_path):
    lock = FileLock(str(tmp_path / "a"))
    with pytest.raises(IoError, match="is writing it"):
        check_unlocked([ExistingResult(str(tmp_path / "b"), []), ExistingResult(str(tmp_path / "a"), [])])
    FileLock(str(tmp_path / "b")).release()
    lock.release()
    check_unlocked([ExistingResult(str(tmp_path / "a"), [])])
    FileLock(str(tmp_path / "a")).release()


def test_what_could_not_be_removed_does_not_come_back(tmp_path, monkeypatch):
    """The new results are there, and some of the old ones are gone: the next program removes the others."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    record = record_of(tmp_path / "a")

    def refuse(path):
        if path.name == "b.earlier":
            raise PermissionError(1, "Operation not permitted", str(path))
        path.unlink()

    earlier = SetAside(record, [tmp_path])
    earlier.set_aside([tmp_path / "a", tmp_path / "b"])
    for name in ("a", "b"):
        (tmp_path / name).write_text("new")
    with monkeypatch.context() as patched:
        patched.setattr(set_aside, "remove", refuse)
        with pytest.raises(IoError, match=r"cannot remove the earlier results: .*b\.earlier: Operation not permitted"):
            earlier.remove()
    earlier.close()
    assert [(tmp_path / name).read_text() for name in ("a", "b", "b.earlier")] == ["new", "new", "old"]
    assert not SetAside(record, [tmp_path]).returned
    assert names(tmp_path) == ["a", "b"]


def stale(monkeypatch, name):
    """Let the system not tell what is at a path of this name."""
    lstat = os.lstat

    def refuse(path, **more):
        if Path(path).name == name:
            raise OSError(errno.ESTALE, "Stale file handle", str(path))
        return lstat(path, **more)

    monkeypatch.setattr(os, "lstat", refuse)


def test_what_cannot_be_examined_is_not_missing(place, monkeypatch):
    """Else a file of that name would be lost, and results that are set aside forgotten."""
    (place.parent / "x.earlier").write_text("of somebody else")
    with monkeypatch.context() as patched, pytest.raises(OSError, match="Stale file handle"):
        stale(patched, "x.earlier")
        SetAside(record_of(place), [place]).set_aside([place])
    assert (place.parent / "x.earlier").read_text() == "of somebody else"
    (place.parent / "x.earlier").unlink()

    earlier = SetAside(record_of(place), [place])
    earlier.set_aside([place])
    with monkeypatch.context() as patched, pytest.raises(OSError, match="Stale file handle"):
        stale(patched, "x.earlier")
        earlier.close()
    assert SetAside(record_of(place), [place]).returned
    assert place.read_text() == "old"
