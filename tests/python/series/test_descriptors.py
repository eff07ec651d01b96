"""Writing and reading many steps leaves no file open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from helpers.harness.engines import ENGINES, Engine
from tailrace.io import series as tr

SHAPE = (7, 10, 12)  # z, y, x


def open_files() -> list[str]:
    """What is open in this process, without what was opened to ask for it."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return sorted(path for path in found if path.startswith("/") and not path.startswith(("/dev/", "/proc/")))


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
    assert open_files() == before
