"""A series has one writer: the second is refused with who the first is, and harms nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from helpers import mpi_run
from helpers.engines import KINDS, Engine

SHAPE = (4, 3, 5)

SECOND = """
import sys
import numpy as np, tailrace as tr
path, mode, engine = sys.argv[1:]
try:
    with tr.open(path, mode, engine=engine) as out:
        out.write_step(9.0, index=9, f=np.full((4, 3, 5), 9.0))
except tr.IoError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_a_second_writer_is_refused(tmp_path: Path, engine: Engine, mode: str):
    path = engine.path(tmp_path)
    with tr.open(path, "w", engine=engine.name, parameters=engine.parameters) as out:
        for index in range(2):
            out.write_step(float(index), index=index, f=np.full(SHAPE, float(index)))
        second = subprocess.run(
            [sys.executable, "-c", SECOND, str(path), mode, engine.name],
            capture_output=True, text=True, timeout=60, env=mpi_run.environment(),
        )  # fmt: skip
        assert second.returncode == 7, second.stderr
        assert "process" in second.stdout
        assert str(path) in second.stdout
        out.write_step(2.0, index=2, f=np.full(SHAPE, 2.0))
    with tr.open(path) as stored:
        assert [step.index for step in stored] == [0, 1, 2]
        assert [float(step["f"].max()) for step in stored] == [0.0, 1.0, 2.0]
        assert stored.verify() == []
    assert not Path(f"{path}.lock").exists()


def test_the_same_program_is_refused_too_until_it_closes(tmp_path: Path):
    first = tr.open(tmp_path / "run", "w")
    with pytest.raises(tr.IoError, match="is writing it"):
        tr.open(tmp_path / "run", "w")
    first.close()
    tr.open(tmp_path / "run", "w").close()
