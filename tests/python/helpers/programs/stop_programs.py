"""Requests to stop, on ranks that are kept (see helpers.harness.workers)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tailrace.simulation.stop import StopRequest

if TYPE_CHECKING:
    from mpi4py import MPI


def asked(comm: MPI.Comm, rank: int, number: int) -> list[bool]:
    """What the ranks agree on before and after one of them gets a signal."""
    with StopRequest() as stop:
        before = stop.agreed(comm)
        if comm.rank == rank:
            signal.raise_signal(number)
        return [before, stop.agreed(comm)]
