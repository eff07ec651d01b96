"""Make the values of a setting in the memory of its ranks, so late that only the cell that needs them can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.flow.memory import check_memory
from tailrace.parallel import agree

from ..ranks.partition import Values, box_of
from .setting import IoSetting
from .stored_values import stored_values

if TYPE_CHECKING:
    from mpi4py import MPI


def values_of(setting: IoSetting, comm: MPI.Comm) -> Values:
    """The values that this rank writes. Collective.

    :raises InputError: a machine cannot hold the parts of its ranks, or the source has no such values.
    :raises MemoryError: a machine does not have enough free memory; on all ranks.
    """
    check_memory(setting.shape, setting.point_bytes, comm)
    box = box_of(setting.shape, setting.decomposition, comm.rank)

    def make() -> Values:
        stored = stored_values(setting, box) if setting.source else []
        return Values(setting.shape, box, setting.variables, setting.precision, setting.halo, stored)

    return agree(comm, make)
