"""Checkpoints of several ranks. As a program, it stores three, the last of which replaces one. Argument: the folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace.case.sections.recording_section import CheckpointSection
from tailrace.consumers import checkpoint as checkpoint_rhythm
from tailrace.flow import checkpoint
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


def store_as_many(comm: Any, folder: str, parameters: str) -> tuple[list[str], int]:
    """Store a checkpoint as if these ranks were many; its files, and how many values of the newest one are right."""
    few, checkpoint.SHARED_BY = checkpoint.SHARED_BY, comm.size - 1
    os.environ["TAILRACE_PARAMETERS"] = parameters
    try:
        store, shape = CheckpointStore(folder, 1, comm), (4, 3, 2 * comm.size)
        mine = np.arange(24.0).reshape(2, 3, 4) + 100 * comm.rank
        block = tr.Block(mine, shape, (0, 0, 2 * comm.rank))
        store.write(State(1, 0.5, 1, comm.size, "none", comm.size), {f"u{name}": block for name in "xyz"}, {})
        found = store.newest(print).read("uz", ((0, 0, 2 * comm.rank), (4, 3, 2)))
    finally:
        checkpoint.SHARED_BY = few
        del os.environ["TAILRACE_PARAMETERS"]
    names = sorted(path.name for path in (Path(folder) / "step-00000001").glob("ux*"))
    return names, int(np.sum(found == mine))


def main(folder: str) -> None:
    comm = MPI.COMM_WORLD
    shape = (4, 3, 2 * comm.size)
    store = CheckpointStore(folder, 1, comm)
    for step in (1, 2, 2):
        state = State(step, 0.5 * step, 1, comm.size, "none", comm.size)
        store.write(state, {"ux": tr.Block(np.full((2, 3, 4), 1.0), shape, (0, 0, 2 * comm.rank))}, {})


if __name__ == "__main__":
    main(sys.argv[1])
