"""What is said where locks cannot be relied on."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tailrace.core import FileLock, IoError
from tailrace.files import locks


class Noted:
    """A lock on a file system that has none."""

    def __init__(self, path: str) -> None:
        self.note = "no locks on \x1b[31mthis" if "noted" in path else "other" if "other" in path else ""


def test_a_note_is_printed_once_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(locks, "FileLock", Noted)
    monkeypatch.setattr(locks, "_told", set())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="utf-8"))
    expected = b""
    for path, said in (
        ("plain", b""),
        ("noted", b"note: no locks on \\u001b[31mthis\n"),
        ("noted2", b""),
        ("other", b"note: other\n"),
    ):
        assert isinstance(locks.take(path), Noted)
        expected += said
        assert written.getvalue() == expected, "also before the program writes more"


def test_a_lock_is_that_of_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = locks.take(tmp_path / "a")
    with pytest.raises(IoError, match="is writing it"):
        FileLock(str(tmp_path / "a"))
    lock.release()
    FileLock(str(tmp_path / "a")).release()
    assert capsys.readouterr().out == "", "it can be relied on here"
