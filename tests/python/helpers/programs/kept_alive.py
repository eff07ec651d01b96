"""A test that never ends, with ranks in the middle of a call. Another test starts it by its path, and kills it."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from helpers.harness import mpi_run
from helpers.harness.workers import Workers
from helpers.inputs import cases

SLEEPER = "import time; from mpi4py import MPI; print('begun', flush=True); time.sleep(600)"


def hang(comm: Any, how: str, place: str) -> None:
    """Tell that this rank is in the call, and stay in it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (Path(place) / f"rank-{comm.rank}").touch()
    if how == "sleep":
        time.sleep(600)
    elif how == "compute":
        deque(itertools.repeat(0), maxlen=0)  # in C, with the lock of Python held: no other thread can do anything
    elif how == "receive":
        comm.recv()
    elif how == "finish":
        time.sleep(5)  # it answers after pytest has been killed


def test_that_never_ends() -> None:
    """Ranks that wait for a call, a program, and ranks in the middle of a call."""
    place = Path(os.environ["PLACE"])
    assert cases.run(cases.write_case(place, steps=1), ranks=2).code == 0
    program = mpi_run.start([*mpi_run.mpiexec(2), sys.executable, "-c", SLEEPER], place)
    assert program.stdout is not None
    assert program.stdout.readline().startswith("begun")
    with Workers(3, "helpers.programs.kept_alive") as three:
        three.run("hang", 600, how=os.environ["HOW"], place=str(place))
