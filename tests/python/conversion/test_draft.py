"""The directory of an unfinished conversion: what is not ours there is never touched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import tailrace as tr
from helpers.harness import recorded_calls
from tailrace.conversion.draft import Draft
from tailrace.core import FileLock

REQUEST = {"source": "a"}
RECORD = "conversion.json"


def begun(target: Path, *beside: str) -> Draft:
    """A draft with a result, and files beside it."""
    draft = Draft(target, REQUEST, resume=False)
    draft.begin()
    for name in (target.name, *beside):
        (draft.directory / name).write_text("made")
    return draft


def contents(path: Path) -> dict[str, str]:
    """The files below a directory, without locks."""
    files = [one for one in path.rglob("*") if one.is_file() and one.suffix != ".lock"]
    return {str(one.relative_to(path)): one.read_text() for one in files}


def check_free(target: Path) -> None:
    """Check that no lock is left."""
    FileLock(str(target)).release()


@pytest.mark.parametrize("what", ["file", "link", "stranger"])
@pytest.mark.parametrize("resume", [True, False])
def test_what_is_no_draft_stays(tmp_path: Path, what: str, resume: bool):
    place = tmp_path / "out.h5.partial"
    if what == "file":
        place.write_text("mine")
    else:
        real = tmp_path / "real" if what == "link" else place
        real.mkdir()
        (real / "notes").write_text("mine")
        if what == "link":
            (real / RECORD).write_text('{"tailrace": "conversion", "request": {"source": "a"}}')
            place.symlink_to(real)
    before = contents(tmp_path)
    with pytest.raises(tr.InputError, match="there already, and is no unfinished conversion of Tailrace"):
        Draft(tmp_path / "out.h5", REQUEST, resume=resume)
    assert contents(tmp_path) == before
    check_free(tmp_path / "out.h5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"tailrace": "conversion"}',
        '{"tailrace": "bench", "request": {"source": "a"}}',
        '{"tailrace": "conversion", "request": ["source"]}',
        '{"tailrace": "conversion", "requ',
        "[" * 100_000,
    ],
)
def test_a_damaged_record_is_told(tmp_path: Path, text: str):
    (tmp_path / "out.h5.partial").mkdir()
    (tmp_path / "out.h5.partial" / RECORD).write_text(text)
    with pytest.raises(tr.IoError, match=r"conversion\.json is damaged: expected the record of a conversion"):
        Draft(tmp_path / "out.h5", REQUEST, resume=True)
    assert contents(tmp_path) == {f"out.h5.partial/{RECORD}": text}
    check_free(tmp_path / "out.h5")


def test_a_place_beside_the_target_that_is_taken_stops_it(tmp_path: Path):
    """Before the target is there; what was placed by then is placed, and the rest follows once there is room."""
    draft = begun(tmp_path / "out.h5", "out.xmf")
    (tmp_path / "out.xmf").write_text("mine")
    with pytest.raises(tr.InputError, match=r"out\.xmf is there already, and belongs to the result"):
        draft.place()
    draft.close()
    assert not (tmp_path / "out.h5").exists() and (tmp_path / "out.xmf").read_text() == "mine"
    (tmp_path / "out.xmf").unlink()
    again = Draft(tmp_path / "out.h5", REQUEST, resume=True)
    assert again.record["state"] == "placing"
    again.place()
    again.remove()
    again.close()
    assert contents(tmp_path) == {"out.h5": "made", "out.xmf": "made"}


@pytest.mark.parametrize("is_directory", [True, False])
def test_an_empty_directory_gives_its_place(tmp_path: Path, is_directory: bool):
    target = tmp_path / "out"
    target.mkdir()
    draft = Draft(target, REQUEST, resume=False)
    draft.begin()
    if is_directory:
        draft.path.mkdir()
        (draft.path / "part").write_text("made")
    else:
        draft.path.write_text("made")
    draft.place()
    draft.remove()
    draft.close()
    assert contents(tmp_path) == ({"out/part": "made"} if is_directory else {"out": "made"})


def test_killed_after_the_last_rename(tmp_path: Path):
    """The result is there, and an empty directory without its record: nothing is left to do but to remove it."""
    (tmp_path / "out.h5").write_text("made")
    (tmp_path / "out.h5.partial").mkdir()
    draft = Draft(tmp_path / "out.h5", REQUEST, resume=True)
    assert draft.record == {"state": "complete"}
    draft.close()
    assert contents(tmp_path) == {"out.h5": "made"} and not (tmp_path / "out.h5.partial").exists()


def test_what_came_into_the_draft_meanwhile_stays(tmp_path: Path):
    draft = begun(tmp_path / "out.h5")
    draft.place()
    (draft.directory / "notes").write_text("mine")
    with pytest.raises(tr.IoError, match="notes was not expected there; the conversion is complete"):
        draft.remove()
    draft.close()
    assert (tmp_path / "out.h5.partial" / "notes").read_text() == "mine"


def test_another_request_does_not_go_on(tmp_path: Path):
    begun(tmp_path / "out.h5").close()
    with pytest.raises(tr.InputError, match="was begun with another source: source = a"):
        Draft(tmp_path / "out.h5", {"source": "b"}, resume=True)
    with pytest.raises(tr.InputError, match=r"is an unfinished conversion\. Nothing was changed"):
        Draft(tmp_path / "out.h5", REQUEST, resume=False)
    assert contents(tmp_path / "out.h5.partial")["out.h5"] == "made"


@pytest.mark.parametrize("resume", [True, False])
def test_the_folder_of_the_target_is_made(tmp_path: Path, resume: bool):
    target = tmp_path / "a" / "b" / "out.h5"
    for _ in range(2):
        Draft(target, REQUEST, resume=resume).close()
    assert target.parent.is_dir() and not target.exists()


@pytest.mark.parametrize("what", ["file", "folder", "link to a folder", "link to nothing", "empty folder"])
def test_only_an_empty_folder_is_no_target(tmp_path: Path, what: str):
    """Whether it is there before the conversion, comes meanwhile, or comes before the result is placed."""
    target = tmp_path / "out"

    def make() -> None:
        if what == "file":
            target.write_text("mine")
        elif what.startswith("link"):
            if what == "link to a folder":
                (tmp_path / "real").mkdir()
            target.symlink_to(tmp_path / "real")
        else:
            target.mkdir()
            if what == "folder":
                (target / "notes").write_text("mine")

    draft = begun(target)
    make()
    if what == "empty folder":
        draft.place()
        draft.close()
        assert target.read_text() == "made"
        return
    said = "out is there already, and a conversion replaces nothing"
    with pytest.raises(tr.InputError, match=said):
        draft.place()
    draft.note(state="writing")
    draft.close()
    with pytest.raises(tr.InputError, match=said):
        Draft(target, REQUEST, resume=True)
    draft.discard()
    with pytest.raises(tr.InputError, match=said):
        Draft(target, REQUEST, resume=False)
    assert target.is_symlink() == what.startswith("link") and not (tmp_path / "out.partial").exists()


def test_all_of_it_is_on_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = recorded_calls.in_python(monkeypatch, "fsync", "rename")
    dropped: list[tuple[Any, ...]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, *how: dropped.append(how))
    draft = begun(tmp_path / "out.h5", "out.xmf")
    assert calls[-1] == ("fsync", draft.directory), "the name of the record"
    (draft.directory / "more").mkdir()
    (draft.directory / "more" / "part").write_text("made")
    calls.clear()
    draft.sync()
    below = {draft.directory, *draft.directory.rglob("*")}
    assert set(calls) == {("fsync", path) for path in below}
    assert dropped == [(0, 0, os.POSIX_FADV_DONTNEED)] * 4, "each as a whole"
    draft.place()
    assert calls[-2:] == [("rename", draft.path), ("fsync", tmp_path)], "the target is the last"
    draft.close()


def test_a_draft_that_is_gone_is_discarded(tmp_path: Path):
    """Somebody else has removed it: the error that led here is told, and not this one."""
    draft = begun(tmp_path / "out.h5")
    draft.discard()
    draft.discard()
    draft.close()
    assert contents(tmp_path) == {}


def test_a_new_record_takes_the_place_of_an_earlier_draft(tmp_path: Path):
    draft = begun(tmp_path / "out.h5", "out.xmf")
    draft.begin(files=["a"])
    assert [path.name for path in draft.directory.iterdir()] == [RECORD]
    assert draft.record == {"tailrace": "conversion", "request": REQUEST, "state": "writing", "files": ["a"]}
    draft.close()
    again = Draft(tmp_path / "out.h5", REQUEST, resume=True)
    assert again.record == draft.record
    again.close()
