"""Threads of one process that use series at the same time, and processes that fork makes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import KINDS

STEPS = 12


def value(step: int, name: str) -> float:
    return step + {"ux": 0.0, "uy": 0.5}[name]


def write(path: Path, engine: str) -> None:
    with tr.open(path, "w", engine=engine) as out:
        for step in range(STEPS):
            fields = {name: np.full((4, 8, 8), value(step, name)) for name in ("ux", "uy")}
            out.write_step(0.1 * step, fields, index=step, scalars={"e": float(step)})


def in_threads(work, number: int = 8) -> None:
    """Run `work(thread)` in threads; every exception is one of the test."""
    failures: list[BaseException] = []

    def guarded(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(thread,)) for thread in range(number)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
        assert not one.is_alive()
    if failures:
        raise failures[0]


READING = """
import sys
sys.path.insert(0, {helpers!r})
from series import test_threads as t
import tailrace as tr

def work(thread):
    series = one if {shared} else tr.open({path!r})
    for turn in range(60):
        step = (7 * thread + turn) % t.STEPS
        name = ("ux", "uy")[(thread + turn) % 2]
        assert (series[step].read(name) == t.value(step, name)).all(), (step, name)
        if turn % 10 == 0:
            assert dict(series[step].scalars) == {{"e": float(step)}}

one = tr.open({path!r})
t.in_threads(work)
print("well")
"""


@pytest.mark.parametrize("shared", [True, False], ids=["one series", "a series each"])
@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_reading(tmp_path, engine, shared):
    """In a process of its own, because it once crashed."""
    path = engine.path(tmp_path)
    write(path, engine.name)
    program = READING.format(helpers=str(Path(__file__).parents[1]), shared=shared, path=str(path))
    result = subprocess.run(
        [sys.executable, "-c", program], env=mpi_run.environment(), capture_output=True, text=True, timeout=180,
        check=False,
    )  # fmt: skip
    assert result.stdout == "well\n", result.stderr[-2000:]


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_each_thread_writes_its_series(tmp_path, engine):
    folders = [tmp_path / str(thread) for thread in range(4)]
    for folder in folders:
        folder.mkdir()
    in_threads(lambda thread: write(engine.path(folders[thread]), engine.name), 4)
    for folder in folders:
        with tr.open(engine.path(folder)) as stored:
            assert stored.verify() == []
            assert [float(step.read("uy").max()) for step in stored] == [value(step, "uy") for step in range(STEPS)]


def second_writer(path: Path) -> str:
    """What a program that would append to the series is told."""
    program = f"import tailrace as tr\ntry:\n tr.open({str(path)!r}, 'a')\nexcept tr.IoError as error: print(error)"
    return subprocess.run(
        [sys.executable, "-c", program], env=mpi_run.environment(), capture_output=True, text=True, check=True
    ).stdout


FORKED = """
import gc, os, signal, sys, time
import numpy as np
import tailrace as tr
a = np.ones((4, 5, 6))
out = tr.open({path!r}, "w", engine={engine!r})
out.write_step(0.1, index=1, ux=a)
if {within}:
    out.begin_step(2, 0.2)
    out.write("ux", 2 * a)
child = os.fork()
if child == 0:
    said = ""
    try:
        out.write_step(0.9, index=9, ux=9 * a)
    except tr.InputError as error:
        said = str(error)
    if {how!r} == "drop":
        out = None
        gc.collect()
    os.write(1, (said + chr(10)).encode())
    sys.stdout.flush()
    os._exit(0) if {how!r} == "drop" else sys.exit(0)
end = time.monotonic() + 3
while not os.waitpid(child, os.WNOHANG)[0]:
    time.sleep(0.02)
    if time.monotonic() > end:  # in MPI_Finalize, which it must not call
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        break
os.write(1, b"parent" + bytes([10]))
sys.stdin.readline()
if {within}:
    out.end_step()
else:
    out.write_step(0.2, index=2, ux=2 * a)
out.write_step(0.3, index=3, ux=3 * a)
out.close()
"""


@pytest.mark.parametrize("within", [False, True], ids=["between steps", "in a step"])
@pytest.mark.parametrize(
    ("engine", "how"),
    [*((engine, "drop") for engine in KINDS), *((engine, "exit") for engine in KINDS if engine.traits.journal)],
)
def test_a_forked_child_has_no_right_to_the_series(tmp_path, engine, how, within):
    path = engine.path(tmp_path)
    program = FORKED.format(path=str(path), engine=engine.name, how=how, within=within)
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=mpi_run.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    said = process.stdout.readline()
    assert "is a copy (fork). To fix this, open it again in this process" in said
    assert process.stdout.readline() == "parent\n"
    assert f"cannot write {path}: process {process.pid}" in second_writer(path)
    _, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0, errors
    with tr.open(path) as stored:
        assert stored.verify() == []
        assert [(step.index, float(step.read("ux").max())) for step in stored] == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_a_lock_stays_when_a_copy_releases_it(tmp_path):
    from tailrace.core import FileLock

    lock = FileLock(str(tmp_path / "target"))
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "target.lock").exists()
    lock.release()
    assert not (tmp_path / "target.lock").exists()
