"""How many ranks a launcher has started, and which of them this is. No function here calls MPI."""

from __future__ import annotations

import os
from collections.abc import Sequence

# Environment variables of launchers: Open MPI; MPICH, PALS and Flux, which all speak PMI.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
# srun starts ranks by PMIx, or on a Cray as PALS does, and neither says how many there are. Slurm itself does, but in a
# shell that srun has opened too: its number counts only beside a rank, and if there are several. Where
# PMI and Slurm both tell one rank, nothing was started in parallel.
_STEP_SIZE = "SLURM_STEP_NUM_TASKS"
_STEP_RANKS = ("PMIX_RANK", "PALS_RANKID")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", *_STEP_RANKS)


def size() -> int | None:
    """The number of ranks that a launcher has started; None outside MPI."""
    found, step = _number(_SIZES), _number((_STEP_SIZE,))
    if found is None and _number(_STEP_RANKS) is not None:
        found = step
    return None if found == step == 1 else found


def rank() -> int:
    """The rank of this process; 0 outside MPI."""
    return _number(_RANKS) or 0


def _number(names: Sequence[str]) -> int | None:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None
