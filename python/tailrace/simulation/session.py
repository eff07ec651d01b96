"""A session: the time from opening everything that a simulation writes until everything is closed."""

from __future__ import annotations

import math
import os
import socket
import time as clock
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailrace.analysis.calls import wait_for_others
from tailrace.analysis.errors import AnalysisError
from tailrace.consumers.checkpoint import Checkpoints
from tailrace.consumers.publisher import Publisher
from tailrace.core import Error, keep_freed_memory
from tailrace.flow.model import FlowError
from tailrace.live_run.board import board_of
from tailrace.machine import physical_cores, processor, seconds_without_processor

from .existing_results import claimed
from .progress import Live
from .recorder import Recorder
from .stop import StopRequest
from .way_on import newest, way_on
from .write_checks import check_files_there, check_targets, files_there

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.consumers.checkpoint import CheckpointSchedule
    from tailrace.flow.checkpoint import OpenCheckpoint
    from tailrace.flow.checkpointed_model import CheckpointedModel

    from .callbacks import Callbacks


Shown = Literal["no", "yes", "with control"]  # whether a run tells a board about itself, and may be stopped there


class SessionState(Enum):
    """What can be done with a session."""

    OPEN = "open"  # steps follow
    LEFT = "left"  # an error ended it: computed results are kept, and no step follows
    CLOSED = "closed"


@dataclass
class RunHistory:
    """What a session must know of those before it.

    :param overwrite: results of an earlier run may be replaced.
    :param goes_on: the results at the places of the case belong to this run.
    :param has_checkpoint: there is a checkpoint to continue from.
    :param ended: an earlier session has reached the end.
    """

    overwrite: bool
    goes_on: bool
    has_checkpoint: bool
    ended: bool = False


class RunSession:
    """The consumers of a simulation at work, and its requests to stop. Collective.

    :param show: print the progress, and a table of the time.
    :param live: whether pages can show it while it computes.
    """

    _recorder: Recorder
    _checkpoints: Checkpoints
    _stop: StopRequest
    _alone: MPI.Comm  # calls of a rank that failed must not match those of the others

    def __init__(
        self,
        simulation: CheckpointedModel,
        callbacks: Callbacks,
        rhythm: CheckpointSchedule,
        history: RunHistory,
        *,
        show: bool,
        live: Shown = "no",
    ) -> None:
        self.state = SessionState.CLOSED
        self.numbers: dict[str, float] = {}  # the volume averages that were measured last
        self.stopped = False  # on request, by a signal
        self.incomplete = False  # something is missing of what was to be made beside the flow
        self._simulation, self._callbacks, self._rhythm = simulation, callbacks, rhythm
        self._history, self._show, self._shown = history, show, live
        self._live: Live | None = None
        self._publisher: Publisher | None = None
        self._half_changed = False  # a callback failed, perhaps after it had changed a part of the velocity

    # ---- opening and closing -----------------------------------------------------------------------------------------
    @contextmanager
    def opened(self) -> Iterator[None]:
        """Put this around all steps: within the block, everything that is written is open."""
        simulation, history = self._simulation, self._history
        keep_freed_memory()  # every step allocates the same sizes: copies of outputs, results of analyses
        started = clock.monotonic()
        before = simulation.phases()  # time of steps that the caller made before
        waited = seconds_without_processor()
        self._rhythm.begin(simulation.step)
        check_targets(simulation.case, simulation.comm)
        try:
            with ExitStack() as stack:
                have_begun = stack.enter_context(
                    claimed(simulation.case, simulation.comm, resumed=history.goes_on, overwrite=history.overwrite)
                )
                if simulation.resumed_from:
                    check_files_there(simulation.case, simulation.resumed_from, simulation.comm)
                history.goes_on = True
                self._open(stack)
                with self.leaving():
                    self._record(simulation.dt)
                    if history.overwrite:
                        self._recorder.flush()
                    have_begun()
                with self._closing_together():
                    yield
                if self.state is SessionState.OPEN:  # else an error, which the caller has caught, has closed everything
                    with self.leaving():
                        self._end()
            recorder = self._recorder if self.state is SessionState.OPEN else None
            if recorder is not None:
                recorder.close()
                self.incomplete = recorder.incomplete
                self._tell_end("stopped" if self.stopped else "finished")
            self._alone.Free()
        finally:
            self.state, self._live = SessionState.CLOSED, None
            self._let_go()
        if self._show and recorder is not None:
            spent = {name: seconds - before.get(name, 0.0) for name, seconds in simulation.phases().items()}
            recorder.sum_up(spent, clock.monotonic() - started, seconds_without_processor() - waited)

    def _open(self, stack: ExitStack) -> None:
        simulation = self._simulation
        resumed = simulation.step if simulation.step > 0 else None
        if self._rhythm.is_on:
            stack.enter_context(simulation.store.claim())
        checkpoint, simulation.resumed_from = simulation.resumed_from or self._last(), None  # read once, then closed
        self._alone = simulation.comm.Dup()
        self._recorder = Recorder(
            simulation, stack, resumed, checkpoint,
            provenance=simulation.provenance, timed=simulation.timed, say=self._tell,
        )  # fmt: skip
        self._checkpoints = Checkpoints(
            simulation, self._rhythm, self._recorder.consumers, lambda: files_there(simulation.case, simulation.comm)
        )
        self._stop = stack.enter_context(StopRequest())
        if self._shown != "no":
            self._publish(resumed)
        self.state = SessionState.OPEN
        if self._show:
            simulation.say(repr(simulation))
        if self._show and simulation.comm.rank == 0:
            time = simulation.case.time
            live = Live(
                simulation.case.total_steps, first_step=simulation.step, end=time.end, first_time=simulation.time
            )
            self._live = stack.enter_context(live)

    def _publish(self, resumed: int | None) -> None:
        """Let pages see this run."""
        simulation = self._simulation
        table = Path(simulation.case.diagnostics.path)
        self._publisher = Publisher(
            board_of(table), simulation.comm, self._recorder.step().names,
            seconds=simulation.phases, facts=self._facts, say=self._tell, goes_on=resumed is not None,
            stop=self._stop.make if self._shown == "with control" else None,
        )  # fmt: skip
        self._recorder.consumers.append(self._publisher)
        if self._show:
            simulation.say(f"live: tailrace live {Path.cwd()} shows this run in a browser")

    def _facts(self) -> dict[str, Any]:
        """What pages are told of the run, on rank 0. Local."""
        simulation, recorder = self._simulation, self._recorder
        done = [consumer.progress() for consumer in (*recorder.consumers, self._checkpoints)]
        numbers = {"time": simulation.time, "dt": recorder.table.dt}
        now = {name: value for name, value in numbers.items() if math.isfinite(value)}
        now |= {"step": simulation.step, "written": self._written()}
        told = {"warnings": recorder.table.warnings(), "consumers": [one for one in done if one]}
        return {**now, **told, **self._unchanging}

    @cached_property
    def _unchanging(self) -> dict[str, Any]:
        """What is told again and again."""
        simulation = self._simulation
        time = simulation.case.time
        return {
            "title": repr(simulation).rpartition(", step")[0].strip("<>"),
            "case": str(simulation.provenance.get("case", "")),
            "end": {"step": simulation.case.total_steps, "time": time.end},
            "host": socket.gethostname(),
            "process": os.getpid(),
            "machine": f"{processor()}, {physical_cores()} cores",
            "directory": str(Path.cwd()),
        }

    def _tell_end(self, state: str) -> None:
        """Tell pages how the run has ended. Local."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None and self._simulation.comm.rank == 0:
            with suppress(Error, OSError):  # of an output that failed, which was told
                publisher.end(state)

    def _last(self) -> OpenCheckpoint | None:
        """The checkpoint of this state, with the states of the analyses, when a simulation is entered again."""
        simulation = self._simulation
        if not (self._history.ended and simulation.step > 0 and simulation.case.analysis and self._rhythm.is_on):
            return None
        checkpoint = simulation.store.newest(simulation.say)
        return checkpoint if checkpoint.state.step == simulation.step else None

    def _end(self) -> None:
        """At the end of all steps: the analyses finish, unless the run was asked to stop."""
        if not self.stopped:
            if self._rhythm.is_on:
                self._checkpoint()
            self._recorder.finish()
        self._recorder.table.flush()
        self._history.ended = True

    # ---- steps -------------------------------------------------------------------------------------------------------
    def next_times(self, time: float) -> list[float | None]:
        """The next times at which a step must end exactly. Local."""
        return [*self._recorder.next_times(time), *self._callbacks.next_times(time)]

    def after_step(self, dt: float) -> None:
        """Do everything that is due in the current state, and stop on request.

        :param dt: the size of the last step.
        :raises FlowError, AnalysisError, IoError: see `Simulation.run`.
        """
        simulation = self._simulation
        with self.leaving():
            self._record(dt)
            if self._stop.agreed(simulation.comm):
                self._checkpoint()
                self.stopped = True
                where = f"step {simulation.step}, t = {simulation.time:g}"
                self._tell(f"stopped on request at {where}; {self._way_on()}")

    def _record(self, dt: float) -> None:
        """Record numbers, outputs, analyses, callbacks and checkpoint, in the order that resuming needs."""
        simulation = self._simulation
        self._checkpoints.at_end = simulation.at_end
        stores = self._checkpoints.wants(simulation.step, simulation.time)
        self._recorder.record(dt, at_end=simulation.at_end)
        self.numbers = self._recorder.table.numbers
        try:
            called = self._callbacks.call(simulation, self._alone)
        except AnalysisError:
            self._half_changed = True
            raise
        if called:
            simulation.velocity_changed()
        if stores:
            self._checkpoint()
        self._show_progress(dt)

    def _checkpoint(self) -> None:
        self._recorder.check_finite()
        self._checkpoints.take(self._recorder.step())
        self._history.has_checkpoint |= self._rhythm.stored == self._simulation.step

    # ---- errors ------------------------------------------------------------------------------------------------------
    @contextmanager
    def leaving(self, *more: type[Exception]) -> Iterator[None]:
        """Put this around code that may end the run: an error keeps the computed results, and no step follows.

        :param more: further errors that are raised on all ranks alike.
        """
        alike: tuple[type[Exception], ...] = (AnalysisError, FlowError, *more)
        try:
            yield
        except alike as error:
            self._leave(error)
            self._tell_end(f"failed: {error}")
            self._let_go()
            raise
        except BaseException as error:  # perhaps only on one rank, so collective calls are not possible
            if isinstance(error, Error | OSError):
                self._tell_way_on()
            self._tell_end(f"failed: {str(error) or type(error).__name__}")
            self._let_go()
            raise

    def _let_go(self) -> None:
        """Drop the consumers: one that is not closed lets go of its files with that."""
        if self.state is SessionState.OPEN:
            self.state = SessionState.LEFT
        for name in ("_recorder", "_checkpoints"):
            self.__dict__.pop(name, None)

    def _leave(self, error: Exception) -> None:
        """Keep the computed results. If a script stopped the run, it can continue once the script is corrected."""
        of_script = isinstance(error, AnalysisError)
        if of_script and self._checkpoints.state_is_whole and self._rhythm.is_on and not self._half_changed:
            self._checkpoint()
        unstable = "time.cfl" if self._simulation.case.time.dt == "auto" else "time.dt"
        self._tell_way_on(unstable if isinstance(error, FlowError) else "", "fix the script" if of_script else "")
        # Readers of a stream must see its end. A second failure says less than the error that is raised.
        with suppress(Error, OSError):
            self._recorder.close()

    @contextmanager
    def _closing_together(self) -> Iterator[None]:
        """Put this around the caller's code: a failure on all ranks closes everything; on some, it ends the program."""
        try:
            yield
        except GeneratorExit:  # the simulation was never left, and is thrown away
            raise
        except BaseException as error:
            if self.state is SessionState.OPEN:  # else it is left already
                wait_for_others(self._alone, self._alone.Ibarrier(), f"{type(error).__name__}: {error}")
                with suppress(Error, OSError):
                    self._recorder.table.flush()
                    self._recorder.close()
            raise

    # ---- telling -----------------------------------------------------------------------------------------------------
    def _tell_way_on(self, changed: str = "", first: str = "") -> None:
        where = f"step {self._simulation.step}, t = {self._simulation.time:g}"
        self._tell(f"stopped by an error at {where}; {self._way_on(changed, first)}")

    def _way_on(self, changed: str = "", first: str = "") -> str:
        """On rank 0, which tells it. Local."""
        if self._simulation.comm.rank != 0:
            return ""
        found = newest(self._simulation.store.path) if self._history.has_checkpoint else None
        return way_on(found, changed=changed, first=first)

    def _show_progress(self, dt: float) -> None:
        if self._live:
            simulation, numbers = self._simulation, self.numbers
            self._live.update(
                simulation.step,
                simulation.time,
                dt,
                energy=numbers.get("kinetic_energy"),
                divergence=numbers.get("max_divergence"),
                cfl=numbers.get("cfl"),
                io_bytes=self._written(),
            )

    def _written(self) -> int:
        """The bytes that all ranks have written, if they write as much as this one. Local."""
        return (self._recorder.bytes_written + self._checkpoints.bytes_written) * self._simulation.comm.size

    def _tell(self, text: str) -> None:
        """Print a line on rank 0, above the progress if it is shown."""
        if self._publisher is not None:
            self._publisher.note(text)
        if self._live:
            self._live.message(text)
        else:
            self._simulation.say(text)
