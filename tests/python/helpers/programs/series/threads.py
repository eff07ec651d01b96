"""Threads of one process that read and write series at the same time, and a process that fork makes of a writer."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tailrace as tr
from helpers.harness import mpi_run

STEPS = 12


def value(step: int, name: str) -> float:
    """What all nodes of an array have."""
    return step + {"ux": 0.0, "uy": 0.5}[name]


def write(path: Path, engine: str) -> None:
    """A series of small steps."""
    with tr.open(path, "w", engine=engine) as out:
        for step in range(STEPS):
            fields = {name: np.full((4, 8, 8), value(step, name)) for name in ("ux", "uy")}
            out.write_step(0.1 * step, fields, index=step, scalars={"e": float(step)})


def in_threads(work: Callable[[int], object], number: int = 8) -> None:
    """Run `work(thread)` in threads, and raise the first exception of any."""
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


def read(path: Path, shared: bool, turns: int, seed: int = 0) -> None:
    """Read `turns` arrays in each of eight threads, from one series or from one each; every value is right."""
    one = tr.open(path) if shared else None

    def work(thread: int) -> None:
        series, dice = one or tr.open(path), random.Random(100 * seed + thread)
        for turn in range(turns):
            step, name = dice.randrange(STEPS), dice.choice(("ux", "uy"))
            assert (series[step].read(name) == value(step, name)).all(), (step, name)
            if turn % 10 == 0:
                assert dict(series[step].scalars) == {"e": float(step)}

    in_threads(work)


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


def fork(path: Path, engine: str, how: str, within: bool) -> None:
    """A writer is copied, and its copy tries to write and ends: that changes nothing.

    :param how: the copy drops the series and ends at once ("drop"), or ends as Python does ("exit").
    :param within: in an open step.
    """
    program = FORKED.format(path=str(path), engine=engine, how=how, within=within)
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
