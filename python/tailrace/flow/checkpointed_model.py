"""A model with its provenance, which is stored in checkpoints and goes on from them."""

from __future__ import annotations

import secrets
import time as clock
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tailrace.case.schedule import SAME_TIME
from tailrace.files.provenance import of_program
from tailrace.flow.checkpoint import CheckpointStore
from tailrace.flow.model import Model
from tailrace.parallel import agree
from tailrace.text import message, named

from .going_on import check_same, told_of
from .stored_state import about_of

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.scripts import Force
    from tailrace.flow.checkpoint import Packed
    from tailrace.flow.initial.beginning import InitialFlow


class CheckpointedModel(Model):
    """A model that is stored, and counts where its time goes. Collective throughout.

    :param resume: go on from the newest complete checkpoint of the case.
    :param change: the case may compute something else than before, from there on.
    :param flow, forcing: as of `Model`.
    :raises InputError: the case does not fit the ranks.
    :raises IoError: nothing to resume from.
    """

    def __init__(
        self,
        case: Case,
        comm: MPI.Comm | None,
        *,
        resume: bool,
        change: bool,
        flow: InitialFlow | None,
        forcing: Force | None,
    ) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        self.comm = comm
        self.store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
        self.resumed_from = self.store.newest(self.say) if resume else None
        attributes, parts = about_of(case), {}
        self._told = agree(comm, lambda: told_of(case, attributes))
        if checkpoint := self.resumed_from:
            agree(comm, case.check_parameters)  # a name that is misspelt is not another case
            name = "" if forcing is None else f"forcing '{named(forcing)[0]}'"
            parts = agree(comm, lambda: check_same(case, self._told, name, checkpoint, self.say, change=change))
        super().__init__(case, comm, self.resumed_from, flow=flow, forcing=forcing)
        told = self.resumed_from.about.get("run") if self.resumed_from else None
        # Of rank 0. A resumed run is the same run.
        self.provenance = {
            **of_program("run", comm.size),
            "run": told or secrets.token_hex(8),
            **parts,
            "case": _given("flow", flow) + _given("forcing", forcing) + case.text,
        }
        if self.resumed_from:
            self.say(f"resuming from {self.resumed_from.path}: step {self.step}, t = {self.time:g}")
            if self.at_end:
                self.say(
                    f"step {self.step}, t = {self.time:g}, is at the end of the run or behind it, so nothing is "
                    "computed; give a later time.end or time.steps to go on"
                )
        self.seconds: dict[str, float] = defaultdict(float)  # of this rank, by phase
        self.bytes_checkpoints = 0  # of this rank

    @property
    def at_end(self) -> bool:
        """Whether the end of the case is reached. Local."""
        time = self.case.time
        if time.end is not None:
            return self.time >= time.end - SAME_TIME * self.dt
        assert time.steps is not None  # a case has one of the two
        return self.step >= time.steps

    def write_checkpoint(self, more: Packed | None = None, files: Mapping[str, str] | None = None) -> None:
        """Store the present state so that `resume` finds it.

        :param more: states of others than the flow.
        :param files: what `files_there` tells, in a run that writes files.
        :raises IoError: the disk is full or gone; earlier checkpoints are untouched.
        """
        with self.timed("checkpoint"):
            blocks, about = self.blocks(), {**self.provenance, **self.description, **self._told, **(files or {})}
            about.update(self._more_about())
            if more is not None:
                blocks.update(more.blocks)
                about.update(more.about)
            lists = more.lists if more is not None else {}
            self.bytes_checkpoints += self.store.write(self.state, blocks, about, lists)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the time of a block under the name of a phase, without what the solver counts itself in it. Local."""
        start, solver = clock.perf_counter(), sum(self.flow.times.values())
        try:
            yield
        finally:
            inside = sum(self.flow.times.values()) - solver
            self.seconds[phase] += clock.perf_counter() - start - inside

    def phases(self) -> dict[str, float]:
        """Seconds of this rank since the simulation was made, by phase. No phase contains another. Local."""
        solver = self.flow.times
        # Ranks that arrive early wait for the others there, so that not all of this time is movement of data.
        solver["transposes, waiting"] = solver.pop("transposes")
        return {**self.seconds, **solver}

    def say(self, text: str) -> None:
        """Print a line on rank 0. Local."""
        if self.comm.rank == 0:
            print(message(text), flush=True)

    def _more_about(self) -> Mapping[str, Any]:
        """What else a checkpoint tells. Local."""
        return {}


def _given(key: str, value: object) -> str:
    """What the text of a case says of a part that was given in Python."""
    if value is None:
        return ""
    what = "{} of {}".format(*named(value)) if callable(value) else type(value).__name__
    return f"# {key}: {what}, given in Python\n"
