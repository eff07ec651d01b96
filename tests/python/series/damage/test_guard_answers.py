"""What the child that reads a series first is asked, what it is, and what becomes of its answers."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import pytest
from mpi4py import MPI

from tailrace.core import IoError
from tailrace.io import guard, series

READY = b"ready"


class Child:
    """Gives these answers, (code, what it writes), and says something beside the last of them."""

    def __init__(self, *answers: tuple[int, bytes], says: bytes = b"") -> None:
        self.answers, self.says = list(answers), says
        self.asked: list[tuple[Any, dict[str, str], int]] = []

    def __call__(
        self, request: bytes, environment: dict[str, str], said: IO[bytes], seconds: int
    ) -> CompletedProcess[bytes]:
        self.asked.append((pickle.loads(request), environment, seconds))
        said.write(self.says)
        code, answer = self.answers.pop(0)
        return CompletedProcess([], code, answer)


def done(result: Any, worked: bool = True) -> bytes:
    return READY + pickle.dumps((worked, result))


def ask(monkeypatch: pytest.MonkeyPatch, child: Child, engine: str = "bp5") -> Any:
    monkeypatch.setattr(guard, "_asked", child)
    return guard.call(Path("run.bp"), engine, "module:name", 3, "four")


@pytest.mark.parametrize(
    ("sizes", "seconds", "memory"),
    [
        ({}, 30, 1 << 30),
        ({"run.bp": 9_999_999}, 30, 1 << 30),
        ({"run.bp": 10_000_000}, 31, 1 << 30),
        ({"md.idx": 1000, "md.0": 100, "mmd.0": 10, "data.0": 1}, 30, (1 << 30) + 32 * 1110),
        ({"md.0": 1 << 60}, 30, 1 << 62),
    ],
)
def test_the_limits_grow_with_the_files(
    monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], seconds: int, memory: int
) -> None:
    """Half of the memory of the machine at most, and much more time where others have the processors."""
    monkeypatch.setattr(guard, "_on_disk", lambda path: sizes.get(path.name, 0))
    child = Child((0, done("found")))
    assert ask(monkeypatch, child) == "found"
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    ((request, _, given),) = child.asked
    assert given == seconds
    assert request == (os.getpid(), 20 * seconds + 10, min(memory, half), "module:name", (3, "four"))


def test_the_child_is_no_rank_and_writes_no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "TAILRACE_PARAMETERS", "MINE"):
        monkeypatch.setenv(name, "1")
    child = Child((0, done(None)))
    assert ask(monkeypatch, child) is None
    _, environment, _ = child.asked[0]
    assert environment["MINE"] == "1" and environment["PATH"] == os.environ["PATH"]
    assert not environment.keys() & {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "TAILRACE_PARAMETERS"}
    assert environment["PYTHONPATH"] == guard._places()


@pytest.mark.parametrize(
    ("code", "answer", "said"),
    [
        (-11, READY, "the library ADIOS2 died of signal 11 on it; its metadata are damaged"),
        (0, READY, "the library ADIOS2 ended its program with code 0"),
        (0, READY + b"\x80", "the library ADIOS2 ended its program with code 0"),
        (3, done(7), "the library ADIOS2 ended its program with code 3"),
        (0, done(MemoryError(), worked=False), "the library ADIOS2 needs more than 1024 MiB of memory"),
        (0, done(RuntimeError("std::bad_alloc"), worked=False), "the library ADIOS2 needs more than 1024 MiB"),
    ],
)
def test_what_ends_badly_is_an_error_of_the_series(
    monkeypatch: pytest.MonkeyPatch, code: int, answer: bytes, said: str
) -> None:
    with pytest.raises(IoError, match=rf"cannot read run\.bp: {said}"):
        ask(monkeypatch, Child((code, answer)))


def test_errors_of_the_function_are_raised_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^mine$"):
        ask(monkeypatch, Child((0, done(ValueError("mine"), worked=False))))
    assert ask(monkeypatch, Child((0, done(False)))) is False, "a result, and no error"


def test_the_format_of_another_program_has_no_library_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IoError, match="the library that reads its format died of signal 9"):
        ask(monkeypatch, Child((-9, READY)), engine="vtk")


def test_a_child_is_started_three_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Child((1, b""), (1, b""), (0, done(7)), (0, done(8)))
    assert ask(monkeypatch, child) == 7 and len(child.asked) == 3
    child = Child(*[(5, b"")] * 4, says=b"no\nroom" + b"x" * 2000)
    with pytest.raises(IoError) as error:
        ask(monkeypatch, child)
    assert len(child.asked) == 3
    assert str(error.value) == (
        "cannot read run.bp: the program that reads it first ended with code 5 before it began, 3 times; is there "
        f"memory for it, and room for temporary files? It said: no | room{'x' * (2000 - 7)}"
    )


TOLD = """
import ctypes, os, resource, signal
os.write(1, b"a library that is loaded")

def told():
    os.write(1, b"a library that works")
    of_parent = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(of_parent))  # PR_GET_PDEATHSIG
    return {
        "stopped from outside": signal.getsignal(signal.SIGINT) != signal.SIG_IGN,
        "ends in time": signal.getsignal(signal.SIGALRM) == signal.SIG_DFL,
        "seconds": signal.alarm(0),
        "ends with its parent": of_parent.value == signal.SIGKILL,
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
    }

def late(path):
    import time
    time.sleep(6)
    open(path, "w").close()
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that a child can import."""
    (tmp_path / "told_by_a_child.py").write_text(TOLD)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "told_by_a_child"


def test_a_child_says_what_it_is(tmp_path: Path, told: str) -> None:
    """What libraries print is no part of its answer, and it ends in time whatever its parent does with alarms."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        found = guard.call(tmp_path, "bp5", f"{told}:told")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert 500 < found.pop("seconds") <= 610
    assert 1 << 30 < found.pop("memory") < 1 << 36
    assert found == {"stopped from outside": False, "ends in time": True, "ends with its parent": True, "core": 0}


def test_a_child_that_is_too_slow_does_not_go_on(tmp_path: Path, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_SECONDS", 1)
    monkeypatch.setattr(guard, "_BUSY", 1)
    with pytest.raises(IoError, match="did not return within 1 s of its own time"):
        guard.call(tmp_path / "none", "bp5", f"{told}:late", str(tmp_path / "written"))
    assert not (tmp_path / "written").exists()


# ---- what is read first ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "name", "boxes"),
    [
        ("hdf5", "run.h5", [((0, 0, 0), (1, 1, 1))]),
        ("bp5", "run.bp", [((0, 0, 0), (4, 3, 1)), ((0, 0, 1), (4, 3, 1))]),
    ],
)
def test_one_value_of_each_variable_is_read_or_all_where_the_library_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, name: str, boxes: list[Any]
) -> None:
    with series.open(tmp_path / name, "w", engine=engine) as out:
        for time in (0.0, 0.5):
            out.write_step(time, u=np.zeros((2, 3, 4)), one=np.ones((1, 1, 1)), lists={"none": np.zeros(0)})
    seen: list[Any] = []
    real = guard.CompiledSeries

    class Watched:
        """A series of which it is seen what is read."""

        def __init__(self, *how: Any) -> None:
            self._series = real.open(*how)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._series, name)

        def read(self, step: int, name: str, box: Any, array: np.ndarray) -> None:
            seen.append((step, name, box))
            self._series.read(step, name, box, array)

        def close(self) -> None:
            seen.append("closed")
            self._series.close()

    monkeypatch.setattr(guard, "CompiledSeries", SimpleNamespace(open=Watched))
    monkeypatch.setattr(guard, "_PIECE", 12 * 8)
    guard.read_metadata(str(tmp_path / name), engine)
    assert seen.pop() == "closed"
    only = [((0, 0, 0), (1, 1, 1))]
    assert sorted(seen) == sorted(
        (step, name, box) for step in (0, 1) for name, all_of_it in (("u", boxes), ("one", only)) for box in all_of_it
    )


def test_all_metadata_are_read_whoever_vouches_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with series.open(tmp_path / "run.h5", "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)))
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(guard, "call", lambda *given: calls.append(given))
    path = str(tmp_path / "run.h5")
    guard.check_metadata(path, None, MPI.COMM_SELF)
    assert calls == [(Path(path), "hdf5", "tailrace.io.guard:read_metadata", path, "hdf5")]
