"""Calls of users' code on all ranks: a failure on one rank is an error on all, and no rank waits without end."""

from __future__ import annotations

import os
import sys
import time as clock
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.text import message

from .errors import AnalysisError, failure

if TYPE_CHECKING:
    from mpi4py import MPI

# Seconds that a rank whose script failed waits for the others, whose scripts may still compute.
_ROUNDING = 1e-9  # of equal work on all ranks, whose sums may be in another order
_SPIN = 0.05  # seconds: scripts of equal work return together
_TELLERS = 3  # so many ranks say that they wait: one of them may be that for which the others wait
PATIENCE = float(os.environ.get("TAILRACE_ANALYSIS_PATIENCE", "30"))


def call_together(
    comm: MPI.Comm,
    work: Callable[[], Any],
    *,
    label: str,
    path: Path,
    where: str,
    sign: Callable[[Any], list[str]] = lambda _: [],
) -> Any:
    """The result of `work`, which may communicate. Collective.

    :param comm: a communicator of its own: calls of a rank that failed must not match collective calls of `work`.
    :param label: its name in messages, such as "analysis 'budget'"; `path` is its file.
    :param where: the occasion, such as "at step 40, t = 0.4".
    :param sign: returns the names in a result, which must be the same on all ranks.
    :raises AnalysisError: `work` raised an error on a rank; the error is raised on all ranks.
    """
    result, error = None, None
    signature: list[str] = []
    try:
        result = work()
        signature = sign(result)
    except (Exception, SystemExit) as caught:  # the user's code: whatever it raises is their message
        error = failure(label, path, caught, where)
        error.__cause__ = caught
    _meet(comm, error, signature, label, where)
    return result


def _meet(comm: MPI.Comm, error: AnalysisError | None, signature: list[str], label: str, where: str) -> None:
    """Wait for the others; raise if a rank failed, or if the results of the ranks differ."""
    from mpi4py import MPI

    number = zlib.crc32("\n".join(signature).encode())
    found = np.array([error is not None, number, -number], np.int64)
    worst = np.empty_like(found)
    request = comm.Iallreduce(found, worst, op=MPI.MAX)
    if error is None:
        _wait(comm, request, f"{label} has returned {where}")
    else:
        wait_for_others(comm, request, str(error))
    if worst[0]:
        errors = comm.allgather(None if error is None else str(error))
        raise error or AnalysisError(next(text for text in errors if text is not None))
    if worst[1] != -worst[2]:
        told: list[list[str]] = comm.allgather(signature)
        other = next(rank for rank, names in enumerate(told) if names != told[0])
        said = [", ".join(names) or "nothing" for names in (told[0], told[other])]
        raise AnalysisError(
            f"{label} failed {where}: the ranks returned different things: rank 0 {said[0]}; rank {other} {said[1]}. "
            "Every rank must return the same names in the same order"
        )


def _wait(comm: MPI.Comm, request: MPI.Request, done: str) -> None:
    """Wait as long as it takes; some ranks say so, since the others may wait for them in a collective call."""
    began, told = clock.monotonic(), False
    while not request.Test():
        waited = clock.monotonic() - began
        clock.sleep(0 if waited < _SPIN else 0.001)
        if waited > PATIENCE and not told:
            told = True
            if comm.rank < _TELLERS:
                why = "they compute, or wait for this rank in a collective call (tr.mean, step['ux']) that it left out"
                text = f"warning: {done} on rank {comm.rank}, and not on others within {PATIENCE:g} s: {why}"
                print(message(text), file=sys.stderr, flush=True)


def wait_for_others(comm: MPI.Comm, request: MPI.Request, error: str) -> None:
    """Wait for a request with a limit: the others may wait for this rank in a collective call of the user's code.

    If they do not come in time, the program ends.
    """
    deadline = clock.monotonic() + PATIENCE
    while not request.Test():
        if clock.monotonic() > deadline:
            why = f"only on rank {comm.rank}; the other ranks did not return from the script within {PATIENCE:g} s"
            print(message(f"tailrace: {error}\n  {why}, so the program ends"), file=sys.stderr, flush=True)
            comm.Abort(1)
        clock.sleep(0.002)


def differing(comm: MPI.Comm, values: Mapping[str, Sequence[float]]) -> list[str]:
    """The names whose values are not those of all ranks, but for rounding. Collective.

    :param values: finite or not; names and lengths are the same on all ranks.
    """
    from mpi4py import MPI

    if comm.size == 1 or not values:
        return []
    own = np.concatenate([np.asarray(one, np.float64) for one in values.values()])
    # Values that are not finite are compared by their kind.
    kinds = np.concatenate([np.isnan(own), np.isposinf(own), np.isneginf(own)]).astype(np.float64)
    plain = np.concatenate([np.where(np.isfinite(own), own, 0.0), kinds])
    ends = np.empty(2 * plain.size)
    comm.Allreduce(np.concatenate([plain, -plain]), ends, op=MPI.MAX)
    most, least = ends[: plain.size], -ends[plain.size :]
    unlike = np.asarray(most - least > _ROUNDING * np.maximum(np.abs(most), np.abs(least)))
    apart = np.asarray(unlike.reshape(4, -1).any(axis=0))
    first = np.cumsum([0, *map(len, values.values())])
    return [name for name, a, b in zip(values, first, first[1:], strict=False) if apart[a:b].any()]
