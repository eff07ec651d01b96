"""Results and errors that several ranks share. All functions are collective."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from tailrace.core import IoError
from tailrace.text import reason

if TYPE_CHECKING:
    from mpi4py import MPI

Result = TypeVar("Result")


def agree(comm: MPI.Comm, work: Callable[[], Result]) -> Result:
    """The result of `work`, which must not communicate; where it fails on any rank, every rank raises.

    A rank that fails raises its own error; the others raise that of the first rank that failed. So the failure of one
    rank is never a deadlock. A failure of the system is raised as an IoError.
    """
    error: Exception | None = None
    result: Result | None = None
    try:
        result = work()
    except Exception as caught:
        error = _named(caught)
    errors = comm.allgather(None if error is None else _portable(error))
    if error is not None:
        raise error
    for other in errors:
        if other is not None:
            raise other
    return result  # type: ignore[return-value]


def on_root(comm: MPI.Comm, work: Callable[[], Result]) -> Result:
    """The result of `work` on rank 0, on every rank; its failure is raised on every rank.

    It has the same type, but a failure of the system is an IoError.
    """
    outcome: Result | Exception | None = None
    if comm.rank == 0:
        try:
            outcome = work()
        except Exception as caught:
            outcome = _portable(_named(caught))
    outcome = comm.bcast(outcome, root=0)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _named(error: Exception) -> Exception:
    """The error; for one of the system an IoError that names the file."""
    if not isinstance(error, OSError) or error.strerror is None:
        return error
    named = IoError(reason(error))
    named.__cause__ = error
    return named


def _portable(error: Exception) -> Exception:
    """The error, or a RuntimeError with its type and text where it cannot be sent to another rank."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def spread(comm: MPI.Comm, values: Mapping[str, float]) -> dict[str, tuple[float, float, float]]:
    """(min, mean, max) over the ranks of each value; the names must be the same everywhere."""
    rows = comm.allgather(dict(values))
    return {
        name: (
            min(row[name] for row in rows),
            sum(row[name] for row in rows) / len(rows),
            max(row[name] for row in rows),
        )
        for name in values
    }
