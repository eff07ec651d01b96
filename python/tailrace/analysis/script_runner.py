"""Run a script on all ranks: make its object, start it, give it steps, save its state, finish it."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tailrace.text import message

from . import state
from .calls import call_together, differing
from .errors import AnalysisError
from .script_results import ScriptResults, sort

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.fields.operators import Operators
    from tailrace.steps.step import Step

    from .script import Script


class ScriptRunner:
    """A script that runs on the ranks of `comm`. All methods are collective.

    :raises AnalysisError: the script raised an error on a rank; the error is raised on all ranks.
    """

    def __init__(self, script: Script, comm: MPI.Comm) -> None:
        self.script = script
        self.name = script.name
        self.last_step: int | None = None  # index
        self.seconds = 0.0
        self._comm = comm.Dup()
        self._object: Any = self._call(script.make, "when it was made")
        self._started = self._closed = False
        self._restored: dict[str, Any] | None = None
        self._operators: Operators | None = None
        self._told: set[str] = set()  # names of results that are not the same on all ranks
        self._told_body = False

    def restore(self, saved: dict[str, Any]) -> None:
        """Keep a state from a checkpoint. The script gets it when it starts; until then `save` returns it. Local."""
        self._restored = saved

    @property
    def begun(self) -> bool:
        """Whether the script has had a step, in this run or before its checkpoint. Local."""
        return self._started or self._restored is not None

    def _start(self, step: Step) -> None:
        """Before the first step: call `start` of the script, if it has one, and load its state from the checkpoint."""
        if self._started:
            return
        if self.script.has("start"):
            ours = step.for_script(self.script.values)
            self._call(lambda: self._object.start(ours), f"at its start, step {step.index}")
        self._started = True
        saved, self._restored = self._restored, None
        if saved is not None:
            self._load(saved)

    def step(self, step: Step) -> ScriptResults:
        """What the script returns for a step."""
        self._start(step)
        ours = step.for_script(self.script.values)
        where = f"at step {step.index}, t = {step.time:g}"
        self._operators = step.operators
        step.operators.used = False
        results = self._sorted(lambda: self._object.step(ours), where)
        if "body" in step.attributes and step.operators.used:
            self._tell_body()
        self.last_step = step.index
        return results

    def finish(self, step: Step | None = None) -> ScriptResults:
        """The results of `finish` of the script; empty if it has no `finish` or has not begun.

        :param step: the current state, to start a script that was restored and has had no step since.
        """
        if not self.begun or not self.script.has("finish"):
            return ScriptResults()
        if step is not None:
            self._start(step)
            self._operators = step.operators
        return self._sorted(lambda: self._object.finish(), "at its end")

    def save(self) -> dict[str, Any] | None:
        """The state of the script; None if it has no `save`, or has not begun."""
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
        """Free the communicator: MPI has a limited number. Closing twice does nothing."""
        if not self._closed:
            self._comm.Free()
        self._closed = True

    def _sorted(self, work: Callable[[], Any], where: str) -> ScriptResults:
        def sorted_out() -> ScriptResults:
            results = sort(work(), self.name)
            for name, one in results.fields.items():
                if self._operators is not None and not one.operators.same_points(self._operators):
                    raise TypeError(
                        f"'{name}' is a field on another grid, or on another decomposition, than those of the step"
                    )
            return results

        found: ScriptResults = self._call(sorted_out, where, ScriptResults.signature)
        self._tell_local(found, where)
        return found

    def _tell_body(self) -> None:
        """Say once that a derivative went through a body, whose surface the grid does not know."""
        if self._comm.rank == 0 and not self._told_body:
            text = (
                f"note: analysis '{self.name}' takes derivatives through the body, where the velocity is zero, as if "
                "it were fluid: near its surface they are not the solver's. Those are in the time series of the run, "
                "in its outputs (q, vorticity), and inside the run in step['q'] and step['vorticity_z']"
            )
            print(message(text), flush=True)
        self._told_body = True

    def _tell_local(self, results: ScriptResults, where: str) -> None:
        """Say once which numbers and arrays the ranks do not agree on: those of rank 0 are stored."""
        names = [name for name in differing(self._comm, results.values_of_rank()) if name not in self._told]
        if names and self._comm.rank == 0:
            text = (
                f"warning: analysis '{self.name}' {where}: not the same on all ranks, and stored as on rank 0: "
                f"{', '.join(names)}. Combine what the ranks have, "
                "as tr.sum, tr.mean, np.max of a field or step.comm.allreduce do"
            )
            print(message(text), flush=True)
        self._told.update(names)

    def _call(self, work: Callable[[], Any], where: str, sign: Callable[[Any], list[str]] = lambda _: []) -> Any:
        started = clock.perf_counter()
        label = f"analysis '{self.name}'"
        result = call_together(self._comm, work, label=label, path=self.script.path, where=where, sign=sign)
        self.seconds += clock.perf_counter() - started
        return result
