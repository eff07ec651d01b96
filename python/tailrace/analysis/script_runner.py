"""Calls of scripts on all ranks: the failure of one rank is an error on all ranks, and no rank waits without end."""

from __future__ import annotations

import os
import sys
import time as clock
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import state
from .errors import AnalysisError, failure
from .results import Results, sort

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.fields.operators import Operators
    from tailrace.steps.step import Step

    from .script import Script

# Seconds that a rank whose script failed waits for the others, whose scripts may still compute.
PATIENCE = float(os.environ.get("TAILRACE_ANALYSIS_PATIENCE", "30"))


class ScriptRunner:
    """A script that runs on the ranks of `comm`. All methods are collective.

    :raises AnalysisError: whatever the script raises, on any rank, is raised on all of them.
    """

    def __init__(self, script: Script, comm: MPI.Comm) -> None:
        self.script = script
        self.name = script.name
        self.seconds = 0.0
        self.last_step: int | None = None  # index
        # An own communicator: calls of a rank that failed must not match collective calls of the script.
        self._comm = comm.Dup()
        self._object: Any = self._call(script.make, "when it was made")
        self._started = self._closed = False
        self._restored: dict[str, Any] | None = None
        self._operators: Operators | None = None

    def restore(self, saved: dict[str, Any]) -> None:
        """Keep a state of a checkpoint: the script gets it when it starts, and until then `save` returns it. Local."""
        self._restored = saved

    @property
    def begun(self) -> bool:
        """Whether the script has had a step, in this run or before the checkpoint that it goes on from. Local."""
        return self._started or self._restored is not None

    def _start(self, step: Step) -> None:
        """Before the script's first step: call its `start`, where it has one, and load its state of the checkpoint."""
        if self._started:
            return
        if self.script.has("start"):
            ours = step.for_script(self.script.values)
            self._call(lambda: self._object.start(ours), f"at its start, step {step.index}")
        self._started = True
        saved, self._restored = self._restored, None
        if saved is not None:
            self._load(saved)

    def step(self, step: Step) -> Results:
        """What the script returns for a step."""
        self._start(step)
        ours = step.for_script(self.script.values)
        where = f"at step {step.index}, t = {step.time:g}"
        self._operators = step.operators
        results = self._sorted(lambda: self._object.step(ours), where)
        self.last_step = step.index
        return results

    def finish(self, step: Step | None = None) -> Results:
        """What `finish` of the script returns; nothing where it has none or has not begun.

        :param step: the present state, to start a script that was restored and has had no step since.
        """
        if not self.begun or not self.script.has("finish"):
            return Results()
        if step is not None:
            self._start(step)
            self._operators = step.operators
        return self._sorted(lambda: self._object.finish(), "at its end")

    def save(self) -> dict[str, Any] | None:
        """The state of the script; None where it has no `save`, or has not begun."""
        if self._restored is not None:
            return self._restored
        if not self._started or not self.script.has("save"):
            return None

        found: dict[str, Any] = self._call(
            lambda: state.check(self._object.save()), "when its state was saved", state.kinds
        )
        return found

    def _load(self, saved: dict[str, Any]) -> None:
        if not self.script.has("load"):
            raise AnalysisError(f"analysis '{self.name}' has `save` but no `load`; it needs both to go on")
        self._call(lambda: self._object.load(saved), "when its state was loaded")

    def merge(self, saved: dict[str, Any]) -> None:
        """Add the state of another object of the same script."""

        def merge_states() -> None:
            other = self.script.make()
            other.load(saved)
            self._object.merge(other)

        self._call(merge_states, "when parts were merged")

    def close(self) -> None:
        """Free the communicator, of which MPI has a limited number. Closing twice does nothing."""
        if not self._closed:
            self._comm.Free()
        self._closed = True

    # ---- calls on all ranks ------------------------------------------------------------------------------------------
    def _sorted(self, work: Callable[[], Any], where: str) -> Results:
        def sorted_out() -> Results:
            results = sort(work(), self.name)
            for name, one in results.fields.items():
                if self._operators is not None and not one.operators.same_points(self._operators):
                    raise TypeError(
                        f"'{name}' is a field on another grid, or on another decomposition, than those of the step"
                    )
            return results

        found: Results = self._call(sorted_out, where, Results.signature)
        return found

    def _call(self, work: Callable[[], Any], where: str, sign: Callable[[Any], list[str]] = lambda _: []) -> Any:
        started = clock.perf_counter()
        result, error = None, None
        signature: list[str] = []
        try:
            result = work()
            signature = sign(result)
        except (Exception, SystemExit) as caught:  # the user's code: whatever it raises is their message
            error = failure(self.name, self.script.path, caught, where)
            error.__cause__ = caught
        self._meet(error, signature, where)
        self.seconds += clock.perf_counter() - started
        return result

    def _meet(self, error: AnalysisError | None, signature: list[str], where: str) -> None:
        """Wait for the others; raise where one failed, or where the ranks have different results."""
        from mpi4py import MPI

        number = zlib.crc32("\n".join(signature).encode())
        found = np.array([error is not None, number, -number], np.int64)
        worst = np.empty_like(found)
        request = self._comm.Iallreduce(found, worst, op=MPI.MAX)
        if error is None:
            request.Wait()
        else:
            self._wait(request, error)
        if worst[0]:
            errors = self._comm.allgather(None if error is None else str(error))
            raise error or AnalysisError(next(text for text in errors if text is not None))
        if worst[1] != -worst[2]:
            told: list[list[str]] = self._comm.allgather(signature)
            other = next(rank for rank, names in enumerate(told) if names != told[0])
            raise AnalysisError(
                f"analysis '{self.name}' failed {where}: the ranks returned different things: rank 0 "
                f"{', '.join(told[0]) or 'nothing'}; rank {other} {', '.join(told[other]) or 'nothing'}. Every rank "
                "must return the same names in the same order"
            )

    def _wait(self, request: MPI.Request, error: AnalysisError) -> None:
        """Wait for the others with a limit: they may wait for this rank in a collective call of the script."""
        deadline = clock.monotonic() + PATIENCE
        while not request.Test():
            if clock.monotonic() > deadline:
                print(
                    f"tailrace: {error}\n  only on rank {self._comm.rank}; the other ranks did not return from the "
                    f"script within {PATIENCE:g} s, so the program ends",
                    file=sys.stderr,
                    flush=True,
                )
                self._comm.Abort(1)
            clock.sleep(0.002)
