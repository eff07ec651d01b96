"""What the tests of kept ranks let ranks do: print, end, and stay in a call."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections import deque
from pathlib import Path
from typing import Any


def chatter(comm: Any) -> str:
    """A line without an end on both outputs, as a library may leave one behind."""
    for descriptor in (1, 2):
        os.write(descriptor, b"no end of line")
    return "x" * 100_000


def end_rank(comm: Any, rank: int) -> None:
    """One rank kills itself; the others wait for it."""
    if comm.rank == rank:
        print("its last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def sleep(comm: Any) -> None:
    """Do not end in time."""
    time.sleep(600)


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
