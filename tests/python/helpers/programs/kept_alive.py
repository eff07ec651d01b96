"""A test that never ends, with ranks in the middle of a call. Another test starts it by its path, and kills it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from helpers.harness import mpi_run
from helpers.harness.workers import Workers
from helpers.inputs import cases
from helpers.programs.ends_of_ranks import hang

SLEEPER = "import time; from mpi4py import MPI; print('begun', flush=True); time.sleep(600)"


def test_that_never_ends() -> None:
    """Ranks that wait for a call, a program, and ranks in the middle of a call."""
    place = Path(os.environ["PLACE"])
    assert cases.run(cases.write_case(place, steps=1), ranks=2).code == 0
    program = mpi_run.start([*mpi_run.mpiexec(2), sys.executable, "-c", SLEEPER], place)
    assert program.stdout is not None
    assert program.stdout.readline().startswith("begun")
    with Workers(3) as three:
        three.run(hang, 600, how=os.environ["HOW"], place=str(place))
