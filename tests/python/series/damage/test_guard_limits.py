"""What a child that reads a series first may take, and which series need none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tailrace.core import IoError
from tailrace.io import guard, series


def write(path: Path, engine: str) -> Path:
    with series.open(path, "w", engine=engine) as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    return path


@pytest.mark.parametrize(("version", "is_vouched"), [(0, False), (1, False), (2, True), (3, True)])
def test_hdf5_files_of_the_newer_format_are_vouched_for(tmp_path, version, is_vouched):
    path = write(tmp_path / "run.h5", "hdf5")
    assert guard.vouched(path, "hdf5")
    data = bytearray(path.read_bytes())
    data[8] = version
    path.write_bytes(data)
    assert guard.vouched(path, "hdf5") == is_vouched


@pytest.mark.parametrize(
    ("name", "engine", "is_vouched"),
    [
        ("run", "raw", True),
        ("run.sion", "sion", True),
        ("run.bp", "bp5", True),
        ("run.adios_hdf5", "adios_hdf5", False),
    ],
)
def test_which_engines_need_a_child(tmp_path, name, engine, is_vouched):
    path = write(tmp_path / name, engine)
    assert guard.vouched(path, engine) == is_vouched
    if engine == "bp5":  # engine: the one with a record to remove
        (path / "tailrace.json").unlink()
        assert not guard.vouched(path, engine)
    assert not guard.vouched(path, "adios_hdf5")


def test_the_bytes_on_the_disk(tmp_path):
    assert guard._on_disk(tmp_path / "none") == 0
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b").write_bytes(b"x" * 70_000)
    one, other = (guard._on_disk(tmp_path / name) for name in ("a", "deep/b"))
    assert one >= 10_000 and other >= 70_000
    assert one == (tmp_path / "a").stat().st_blocks * 512
    assert guard._on_disk(tmp_path / "deep") == (tmp_path / "deep" / "b").stat().st_blocks * 512
    assert guard._on_disk(tmp_path / ("x" * 300)) == 0
    (tmp_path / "link").symlink_to("deep/b")
    assert guard._on_disk(tmp_path) == one + other + (tmp_path / "link").lstat().st_blocks * 512
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1 << 30)
    assert guard._on_disk(tmp_path / "hole") < 1 << 20


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)


def test_the_limits_of_the_child():
    program = """
import resource, sys
from pathlib import Path
from tailrace.io import guard
from mpi4py import MPI
guard._limit(1 << 28)
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
print(resource.getrlimit(resource.RLIMIT_CORE) == (0, 0), abs(soft - now - (1 << 28)) < 1 << 24)
try:
    bytes(1 << 29)
except MemoryError:
    print("too much")
bytes(1 << 26)
"""
    done = run(program)
    assert done.stdout.split() == ["True", "True", "too", "much"], done.stderr
    most = 1 << 33
    lower = program.replace("guard._limit", f"resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))\nguard._limit")
    done = run(lower.replace("1 << 28)\nsoft", "1 << 40)\nsoft") + f"print(soft == hard == {most})")
    assert done.stdout.split()[-1] == "True", done.stderr


def test_the_child_ends_with_its_parent_and_with_its_time():
    begin = "import os, time\nfrom tailrace.io import guard\n"
    assert run(begin + "guard._end_with(1 << 22, 60)").returncode == 1, "its parent is another already"
    late = run(begin + "guard._end_with(os.getppid(), 1)\ntime.sleep(30)")
    assert late.returncode == -signal.SIGALRM
    assert run(begin + "guard._end_with(os.getppid(), 60)").returncode == 0


def test_this_package_comes_first_in_the_child(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/somewhere", "/else"])
    places = guard._places().split(os.pathsep)
    assert places[1:] == ["/somewhere", "/else"]
    assert (Path(places[0]) / "tailrace" / "io" / "guard.py").exists()


@pytest.mark.parametrize("engine", [None, "bp5"])
def test_what_is_not_there_needs_no_child(tmp_path, monkeypatch, engine):
    calls = []
    monkeypatch.setattr(guard, "call", lambda *given: calls.append(given))
    guard._check(str(tmp_path / "none"), engine)
    (tmp_path / "empty").mkdir()
    guard._check(str(tmp_path / "empty"), engine)
    guard._check(str(write(tmp_path / "run", "raw")), None)
    assert calls == []
    path = write(tmp_path / "run.bp", "bp5")
    guard._check(str(path), engine)
    assert calls == [(path, "bp5", "tailrace.io.guard:read_metadata", str(path), "bp5")]
    with pytest.raises(IoError, match=r"cannot open .*: File name too long"):
        guard._check(str(tmp_path / ("x" * 300)), engine)


def sleeps(seconds: float) -> str:
    """Called in the child."""
    time.sleep(seconds)
    return "done"


def test_time_without_a_processor_does_not_count(tmp_path, monkeypatch):
    """A busy machine has called sound files damaged."""
    monkeypatch.setattr(guard, "_SECONDS", 2)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    arguments = tmp_path, "bp5", f"{Path(__file__).stem}:sleeps"
    monkeypatch.setattr(guard, "seconds_without_processor", lambda _: 60.0)
    assert guard.call(*arguments, 3.0) == "done"
    monkeypatch.setattr(guard, "_BUSY", 2)
    with pytest.raises(IoError, match="did not return within 2 s"):
        guard.call(*arguments, 30.0)
