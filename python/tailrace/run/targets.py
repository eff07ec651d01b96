"""What lies where a run is going to write: only what Tailrace wrote may be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace import _core
from tailrace.analysis.results import check_results
from tailrace.case.places import left_out
from tailrace.io.paths import is_foreign
from tailrace.io.time_series import check_replaceable
from tailrace.parallel import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case


def check_targets(case: Case, comm: MPI.Comm) -> None:
    """Check everything that a run replaces, before it replaces any of it. Collective.

    :raises TimeSeriesError, InputError: something is not of Tailrace.
    :raises OSError, IoError: it cannot be read.
    """
    on_root(comm, lambda: _check_files(case))
    for section in case.analysis:
        for name in (section.name, f"{section.name}-final"):
            check_results(Path(section.out), name, section.engine, comm)


def _check_files(case: Case) -> None:
    check_replaceable(case.diagnostics.path)
    for output in case.output:
        if output.engine == "sst":
            check_replaceable(left_out(output.name))
        elif output.engine == "hdf5" and is_foreign(Path(output.path)):
            raise _core.InputError(
                f"output '{output.name}': {output.path} is there already, and is no series of Tailrace; choose another "
                "path, or move it away"
            )
