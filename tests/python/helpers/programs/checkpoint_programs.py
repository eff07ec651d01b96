"""Checkpoints of several ranks. As a program, it stores three, the last of which replaces one. Argument: the folder."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.case.sections import CheckpointSection
from tailrace.consumers import checkpoint as checkpoint_rhythm
from tailrace.flow.checkpoint import CheckpointStore, State
from tailrace.io import series as tr


def ask_different_clocks(comm: Any) -> list[bool]:
    """Whether a checkpoint is due: first only the clock of rank 0 says so, then only those of the others."""
    now = [0.0]

    class Clock:
        monotonic = staticmethod(lambda: now[0])

    before, checkpoint_rhythm.clock = checkpoint_rhythm.clock, Clock
    try:
        rhythm = checkpoint_rhythm.CheckpointSchedule(CheckpointSection(minutes=1), 0)
        found = []
        for step, (first, others) in enumerate([(61.0, 59.0), (59.0, 61.0)], 1):
            now[0] = others if comm.rank else first
            found.append(rhythm.due(step, comm, at_end=False))
    finally:
        checkpoint_rhythm.clock = before
    return found


def main(folder: str) -> None:
    comm = MPI.COMM_WORLD
    shape = (4, 3, 2 * comm.size)
    store = CheckpointStore(folder, 1, comm)
    for step in (1, 2, 2):
        state = State(step, 0.5 * step, 1, comm.size, "none", comm.size)
        store.write(state, {"ux": tr.Block(np.full((2, 3, 4), 1.0), shape, (0, 0, 2 * comm.rank))}, {})


if __name__ == "__main__":
    main(sys.argv[1])
