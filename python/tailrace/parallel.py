"""Results and errors that several ranks share. All functions are collective.

What a rank sends and receives does not grow with the number of ranks, unless one of them fails.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tailrace.core import IoError
from tailrace.text import reason

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import ArrayLike, NDArray

Result = TypeVar("Result")
Failure = TypeVar("Failure", bound=Exception)


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
    first = first_error(comm, error)
    if error is not None:
        raise error
    if first is not None:
        raise first
    return result  # type: ignore[return-value]


def first_error(comm: MPI.Comm, error: Failure | None) -> Failure | None:
    """The error of the first rank that has one, on every rank; None if no rank has one.

    One that cannot be sent to another rank becomes a RuntimeError with its type and text.
    """
    first = int(extreme(comm, comm.size if error is None else comm.rank, largest=False))
    if first == comm.size:
        return None
    found: Any = comm.bcast(_portable(error) if error is not None and comm.rank == first else None, root=first)
    return found


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
    """The error, or what of it can be sent to another rank: itself without its causes, or a RuntimeError with its text.

    Packages such as tblib, which Dask brings, send causes too.
    """
    for causes in (True, False):
        try:
            portable = error if causes else type(error)(*error.args)
            pickle.loads(pickle.dumps(portable))
        except Exception:
            continue
        return portable
    return RuntimeError(f"{type(error).__name__}: {error}")


def spread(comm: MPI.Comm, values: Mapping[str, float]) -> dict[str, tuple[float, float, float]]:
    """(min, mean, max) over the ranks of each value; the names must be the same everywhere."""
    names = sorted(values)  # in one order on all ranks
    own = np.array([values[name] for name in names], np.float64)
    least, most = extreme(comm, own, largest=False), extreme(comm, own, largest=True)
    mean = np.empty_like(own)
    comm.Allreduce(own, mean)
    mean /= comm.size
    found = {name: (float(least[at]), float(mean[at]), float(most[at])) for at, name in enumerate(names)}
    return {name: found[name] for name in values}


def extreme(comm: MPI.Comm, values: ArrayLike, *, largest: bool) -> NDArray[Any]:
    """The largest or the least of all ranks, number by number, in their type; NaN where a rank has NaN.

    :param values: real numbers or booleans, as many of one type on every rank.
    """
    from mpi4py import MPI

    own = np.asarray(values)
    # MPI knows neither halves nor booleans.
    sent = own.astype({"f2": "f4", "b1": "u1"}.get(own.dtype.str[1:], own.dtype.newbyteorder("="))).reshape(-1)
    if sent.dtype.kind == "f":  # the order of NaN is not defined: a second number tells of it
        missing = np.isnan(sent)
        told = np.where(missing, 1 if largest else -1, 0)
        sent = np.concatenate([np.where(missing, 0, sent), told.astype(sent.dtype)])
    comm.Allreduce(MPI.IN_PLACE, sent, op=MPI.MAX if largest else MPI.MIN)
    if sent.dtype.kind == "f":
        sent, told = np.split(sent, 2)
        sent[told != 0] = np.nan
    return sent.astype(own.dtype).reshape(own.shape)
