"""The marks of streams are those of files that a stream really leaves when its writer is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.io.marks import CONTACT, HDF5_SERIES, LOCK, STREAM_RECORD, TIME_SERIES, is_ours, why_foreign

DIES = """
import os
import tailrace as tr

out = tr.open("sst:x", "w")
lock = tr._core.FileLock("y")
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_writer_of_a_stream_leaves(tmp_path: Path):
    subprocess.run([sys.executable, "-c", DIES], cwd=tmp_path, timeout=120, check=False)
    for name, mark in (("x.sst", CONTACT), ("x.sst.writer", STREAM_RECORD), ("y.lock", LOCK)):
        assert (tmp_path / name).stat().st_size > 0
        assert is_ours(tmp_path / name, mark), (tmp_path / name).read_bytes()
        assert not is_ours(tmp_path / name, TIME_SERIES)


@pytest.mark.parametrize("size", [1, 65535, 65536, 65537, 3 << 20])
def test_zeros_to_the_end(tmp_path: Path, size: int):
    """A byte after zeros is something that somebody wrote, wherever it is."""
    path = tmp_path / "file"
    for mark, begins in ((TIME_SERIES, TIME_SERIES.start[:5]), (HDF5_SERIES, b"\x89HDF\r\n\x1a\n")):
        for start in (b"", begins):
            path.write_bytes(start + bytes(size))
            assert why_foreign(path, mark) == ""
            path.write_bytes(start + bytes(size) + b"x")
            assert "is there already" in why_foreign(path, mark)
