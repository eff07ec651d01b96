"""Writing and reading many steps leaves no file open."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from helpers.harness.engines import ENGINES, Engine
from tailrace.io import series as tr

SHAPE = (7, 10, 12)  # z, y, x


def open_files() -> Counter[str]:
    """What is open in this process, and how often, without what was opened to ask for it."""
    found: Counter[str] = Counter()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            path = str(descriptor.readlink())
            found[path] += path.startswith("/") and not path.startswith(("/dev/", "/proc/"))
    return found


def opened_since(before: Counter[str]) -> dict[str, int]:
    """What is open now and was not before. A file that an earlier test left to the garbage collector may close."""
    return dict(open_files() - before)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_steps_leave_no_file_open(tmp_path, engine: Engine):
    before = open_files()
    path = engine.path(tmp_path)
    with tr.open(path, "w", engine=engine.name, parameters=dict(engine.parameters)) as out:
        out.write_step(0.0, index=0, ux=np.zeros(SHAPE))
        after_one = open_files()
        for step in range(1, 5):
            out.write_step(0.5 * step, index=step, ux=np.full(SHAPE, float(step)))
        assert open_files() == after_one
    assert open_files() == before
    with tr.open(path) as series:
        for step in series:
            assert step.read("ux").max() == step.index
        assert series.verify() == []
    assert opened_since(before) == {}
