"""Whether a flow fits into the memory of the machines, before anything is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.core import InputError
from tailrace.machine import usable_memory
from tailrace.parallel import agree
from tailrace.text import size

if TYPE_CHECKING:
    from mpi4py import MPI


def check_memory(nodes: tuple[int, int, int], bytes_per_node: int, comm: MPI.Comm) -> None:
    """Check that every machine can hold the parts of its ranks. Collective.

    :param bytes_per_node: what all ranks together hold for each node of the grid, at least.
    :raises InputError: one cannot.
    """
    from mpi4py import MPI

    x, y, z = nodes
    all_bytes = x * y * z * bytes_per_node
    machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
    neighbours = machine.size
    machine.Free()
    each = -(-all_bytes // comm.size)

    def check() -> None:
        there = usable_memory()
        if each * neighbours > there:
            fits = -(-all_bytes * neighbours // there)
            raise InputError(
                f"{x} x {y} x {z} points need at least {size(all_bytes)} of memory, {size(each)} on each of the "
                f"{comm.size} ranks; {neighbours} of them are on a machine where they can use {size(there)}. With as "
                f"many on each machine, they would fit on {fits} ranks at the earliest; or use fewer points"
            )

    agree(comm, check)
