"""The directories of a benchmark while they are made and when that fails."""

import errno
from pathlib import Path

import pytest

from tailrace import core as _core
from tailrace.bench.ranks.scratch_directory import ScratchDirectory


def test_a_benchmark_that_starts_beside_another_one_leaves_its_directory(tmp_path, monkeypatch):
    """The directory had its mark before its lock, and another benchmark could remove it in between."""
    write, others = Path.write_text, []

    def start_another(self, *arguments, **more):
        count = write(self, *arguments, **more)
        if self.name == "mark" and not others:
            others.append(self)
            with ScratchDirectory(tmp_path):
                pass
        return count

    monkeypatch.setattr(Path, "write_text", start_another)
    with ScratchDirectory(tmp_path) as scratch:
        assert others == [scratch.path / "mark"]
        assert others[0].exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failing", ["mark", "lock"])
def test_a_directory_that_cannot_be_marked_does_not_stay(tmp_path, monkeypatch, failing):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space") if failing == "mark" else _core.IoError("no space")

    monkeypatch.setattr(
        *((Path, "write_text") if failing == "mark" else ("tailrace.bench.ranks.scratch_directory.take",)), full
    )
    with pytest.raises((OSError, _core.IoError), match="no space"):
        ScratchDirectory(tmp_path)
    assert not list(tmp_path.iterdir())
