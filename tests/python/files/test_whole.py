"""Files that are written whole or not at all: what is on the disk before a name, and the name itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.harness import recorded_calls
from tailrace.core import InputError
from tailrace.files.whole import allocate, drafted, publish, write_text


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch):
    calls = recorded_calls.in_python(monkeypatch, "fsync", "replace")
    write_text(tmp_path / "a", "text", ending=".new")
    assert calls == [("fsync", tmp_path / "a.new"), ("replace", tmp_path / "a.new")]
    assert (tmp_path / "a").read_text() == "text"


def test_nothing_changes_when_the_disk_takes_no_more(tmp_path: Path, monkeypatch):
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"), drafted(tmp_path / "a") as draft:
        draft.write_text("new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_what_is_published_has_its_name_on_the_disk(tmp_path: Path, monkeypatch):
    (tmp_path / "draft").mkdir()
    calls = recorded_calls.in_python(monkeypatch, "fsync", "rename")
    publish(tmp_path / "draft", tmp_path / "deep")
    assert calls == [("rename", tmp_path / "draft"), ("fsync", tmp_path)]
    (tmp_path / "link").symlink_to("nowhere")
    for taken in ("deep", "link"):
        with pytest.raises(InputError, match="nothing is replaced"):
            publish(tmp_path / "deep", tmp_path / taken)


def test_a_file_that_finds_no_room_is_not_left(tmp_path: Path, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        allocate(tmp_path / "a", 100)
    assert not any(tmp_path.iterdir())
