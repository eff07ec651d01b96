"""Threads of one process that use series at the same time, and processes that fork makes.

tests/fuzz/threads.py does more of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tailrace as tr
from helpers.harness import mpi_run
from helpers.harness.engines import KINDS
from helpers.programs.series import threads

READING = """
import sys
sys.path.insert(0, {helpers!r})
from helpers.programs.series import threads
threads.read({path!r}, {shared}, 60)
print("well")
"""


@pytest.mark.parametrize("shared", [True, False], ids=["one series", "a series each"])
@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_reading(tmp_path, engine, shared):
    """In a process of its own, because it once crashed."""
    path = engine.path(tmp_path)
    threads.write(path, engine.name)
    program = READING.format(helpers=str(Path(__file__).parents[1]), shared=shared, path=str(path))
    result = subprocess.run(
        [sys.executable, "-c", program], env=mpi_run.environment(), capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert result.stdout == "well\n", result.stderr[-2000:]


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_each_thread_writes_its_series(tmp_path, engine):
    folders = [tmp_path / str(thread) for thread in range(4)]
    for folder in folders:
        folder.mkdir()
    threads.in_threads(lambda thread: threads.write(engine.path(folders[thread]), engine.name), 4)
    expected = [threads.value(step, "uy") for step in range(threads.STEPS)]
    for folder in folders:
        with tr.open(engine.path(folder)) as stored:
            assert stored.verify() == []
            assert [float(step.read("uy").max()) for step in stored] == expected


@pytest.mark.parametrize("within", [False, True], ids=["between steps", "in a step"])
@pytest.mark.parametrize(
    ("engine", "how"),
    [*((engine, "drop") for engine in KINDS), *((engine, "exit") for engine in KINDS if engine.traits.journal)],
)
def test_a_forked_child_has_no_right_to_the_series(tmp_path, engine, how, within):
    threads.fork(engine.path(tmp_path), engine.name, how, within)


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
