"""Files that are written whole or not at all: what is on the disk before a name, and the name itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.harness import recorded_calls
from helpers.harness.descriptors import descriptors
from tailrace.core import InputError
from tailrace.files.whole import allocate, drafted, publish, remove, sync, write_text


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


def test_room_is_taken_from_the_first_byte_to_the_last(tmp_path: Path):
    for size in (0, 1, 70_000):
        allocate(tmp_path / str(size), size)
        about = (tmp_path / str(size)).stat()
        assert about.st_size == size and about.st_blocks * 512 >= size
        with pytest.raises(FileExistsError):
            allocate(tmp_path / str(size), 5)
        assert (tmp_path / str(size)).stat().st_size == size


def test_a_block_that_fails_before_it_has_a_file_fails_alike(tmp_path: Path):
    with pytest.raises(ValueError, match="mine"), drafted(tmp_path / "a"):
        raise ValueError("mine")
    assert not any(tmp_path.iterdir())


def test_what_is_replaced_soon_waits_for_no_disk(tmp_path: Path, monkeypatch):
    calls = recorded_calls.in_python(monkeypatch, "fsync", "replace")
    with drafted(tmp_path / "a", durable=False) as draft:
        assert draft.parent == tmp_path and draft.name.endswith(".a") and draft.name.startswith(".")
        draft.write_text("text")
    assert [name for name, _ in calls] == ["replace"]


def test_nothing_stays_open(tmp_path: Path):
    before = descriptors()
    sync(tmp_path)
    assert not descriptors() - before


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("text")
    for name, target in (("link", "folder"), ("other", "folder/a"), ("nowhere", "none")):
        (tmp_path / name).symlink_to(target)
        remove(tmp_path / name)
        assert not os.path.lexists(tmp_path / name)
        assert (tmp_path / "folder" / "a").read_text() == "text"
    remove(tmp_path / "folder" / "a")
    (tmp_path / "folder" / "b").touch()
    for _ in range(2):  # the second time there is nothing
        remove(tmp_path / "folder")
        remove(tmp_path / "none")
        assert not any(tmp_path.iterdir())
