"""Whether a path is in use."""

from __future__ import annotations

from pathlib import Path

from tailrace.files.paths import holds_something


def test_what_holds_something(tmp_path: Path) -> None:
    assert not holds_something(tmp_path / "none")
    (tmp_path / "file").touch()
    assert holds_something(tmp_path / "file")
    folder = tmp_path / "folder"
    folder.mkdir()
    assert not holds_something(folder)
    (folder / "run.h5.earlier").touch()
    assert not holds_something(folder), "results that are set aside do not count"
    (folder / "run.h5").touch()
    assert holds_something(folder)
