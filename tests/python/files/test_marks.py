"""The marks of streams are those of files that a stream really leaves when its writer is killed."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.files.marks import (
    CONTACT,
    EARLIER_RECORD,
    FOLDED,
    HDF5_SERIES,
    LOCK,
    STREAM_RECORD,
    TIME_SERIES,
    TRACE,
    is_ours,
    why_foreign,
)

DIES = """
import os
import tailrace as tr

out = tr.open("sst:x", "w")
lock = tr.core.FileLock("y")
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_writer_of_a_stream_leaves(tmp_path: Path):
    subprocess.run([sys.executable, "-c", DIES], cwd=tmp_path, timeout=240, check=False)
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


@pytest.mark.parametrize(
    ("mark", "ours", "foreign"),
    [
        (TIME_SERIES, b"# Tailrace time series\nrest", b"# Tailrace time series \n"),
        (LOCK, b"12 3 host 2026-01-01T00:00:00Z\n", b"12 3 host\n"),
        (FOLDED, b"rank 0;write;sync 12\n", b"rank 0 12\n"),
        (TRACE, b'{"traceEvents":[\n{"args":{"name":"rank 0: run', b'{"traceEvents":[]}'),
        (EARLIER_RECORD, b'{"tailrace": "earlier results", ', b'{"tailrace": "other"}'),
        (
            STREAM_RECORD,
            b'{"addresses":[],"begun":1,"process":2,"token":""}',
            b'{"addresses":[],"begun":1,"process":2}',
        ),
    ],
    ids=lambda one: one.kind if hasattr(one, "kind") else "",
)
def test_a_kind_of_file_is_known_by_its_start(tmp_path: Path, mark, ours: bytes, foreign: bytes):
    path = tmp_path / "file"
    for text, is_one in ((ours, True), (foreign, False), (b"x" + ours, False), (b"", True), (b"\0" * 9, True)):
        path.write_bytes(text)
        assert is_ours(path, mark) == is_one, text
        expected = f"{path} is there already, and is no {mark.kind}; choose another path, or move it away"
        assert why_foreign(path, mark) == ("" if is_one else expected)


def test_a_directory_is_of_no_kind_and_nothing_of_all(tmp_path: Path):
    assert why_foreign(tmp_path / "none", LOCK) == ""
    assert f"{tmp_path} is there already, and is no lock of Tailrace" in why_foreign(tmp_path, LOCK)


def test_a_mark_stays_what_it_is():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TIME_SERIES.start = b""
