"""A case as a running simulation: Python drives, C++ computes.

    simulation = tr.Simulation(tr.load_case("tgv.toml"))
    simulation.run()

or step it yourself, with everything that the case schedules:

    with tr.Simulation(case) as simulation:
        while simulation.time < 1:
            simulation.advance()
"""

from __future__ import annotations

import operator
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self

from tailrace.analysis.calls import wait_for_others
from tailrace.analysis.errors import AnalysisError
from tailrace.case.schedule import SAME_TIME, Schedule
from tailrace.core import Error, InputError, keep_freed_memory
from tailrace.flow.model import FlowError

from .callbacks import Callbacks, checked_times
from .checkpoint_rhythm import CheckpointRhythm
from .checkpointed_model import CheckpointedModel
from .existing_results import check_free, claimed
from .progress import Live
from .recorder import Recorder
from .stop import STOPPED, Stopped, StopRequest
from .write_checks import check_files_there, check_targets, files_there

if TYPE_CHECKING:
    from types import TracebackType

    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.scripts import Force
    from tailrace.flow.checkpoint import OpenCheckpoint
    from tailrace.flow.model import InitialFlow

__all__ = ["FlowError", "Simulation", "run"]


_CALLED = "callbacks_called"  # of a checkpoint: how many callbacks have seen its state


class Simulation(CheckpointedModel):
    """A model that is also written, analysed, stopped and resumed, as its case says. Collective throughout.

    `run` computes the whole case. As a context manager it is stepped by hand, by `advance` or `steps`, which do after
    each step all that is due, as `run` does. Outside of `with`, `advance` steps the flow alone, and nothing is opened.

    Where the `with` block is left without an error, `finish` of the analyses is called, and where the case has
    checkpoints there is one of the last state, also when the end of the case was not reached.

    :param case: a validated case.
    :param comm: the ranks; COMM_WORLD by default.
    :param resume: go on from the newest complete checkpoint of the case.
    :param overwrite: results of an earlier run may be replaced, which is an error otherwise.
    :param flow, forcing: as of `Model`; a resumed run needs the forcing again.
    :raises InputError: the case does not fit the ranks.
    :raises IoError: nothing to resume from, or a file cannot be opened.
    """

    def __init__(
        self,
        case: Case,
        comm: MPI.Comm | None = None,
        *,
        resume: bool = False,
        overwrite: bool = False,
        flow: InitialFlow | None = None,
        forcing: Force | None = None,
    ) -> None:
        super().__init__(case, comm, resume=resume, flow=flow, forcing=forcing)
        self._overwrite = overwrite
        self._has_checkpoint = resume
        self._goes_on = resume  # what lies at the places of the case is this run's
        self.numbers: dict[str, float] = {}  # the volume averages that were measured last
        self.stopped = False  # on request, by a signal
        self._was_left = False  # after a `with` block or `run`
        self._half_changed = False  # a callback failed, perhaps after it had changed a part of the velocity
        told = self._resumed_from.about if self._resumed_from else {}
        self._callbacks = Callbacks(self.step, int(told.get(_CALLED, 0)))
        self._recorder: Recorder | None = None  # while the simulation is open
        self._opened: AbstractContextManager[None] | None = None
        self._live: Live | None = None
        self._rhythm = CheckpointRhythm(case.checkpoint, self.step)

    def __repr__(self) -> str:
        nx, ny, nz = self.shape
        return (
            f"<Simulation {self.case.case.name}: {nx} x {ny} x {nz} nodes, Re {self.case.case.reynolds:g}, "
            f"{self.comm.size} rank(s) as {self.processes.rows} x {self.processes.cols}, "
            f"step {self.step}, t = {self.time:g}>"
        )

    # ---- callbacks ---------------------------------------------------------------------------------------------------
    def every(self, steps: int, work: Callable[[Simulation], object]) -> None:
        """Call `work(simulation)` on all ranks every so many steps, counted from step 0, also when resumed.

        Callbacks are called in the order in which they were added, after the outputs and analyses of the state. An
        error of one on any rank stops the run as that of an analysis does. They may change the velocity.

        :raises InputError: `steps` is not a number of at least 1, or `work` is not a function.
        """
        try:
            count = operator.index(steps)
        except TypeError:
            count = 0
        if count < 1:
            raise InputError(f"every: the number of steps must be a whole number of at least 1; found {steps!r}")
        self._callbacks.add(work, Schedule(every=count, dt=self.case.time.constant_dt))

    def at(self, times: Sequence[float] | float, work: Callable[[Simulation], object]) -> None:
        """Call `work(simulation)` on all ranks at these times, on which steps end exactly; see `every`.

        :raises InputError: a time is not a number from 0 on, or no step can end at it; or `work` is not a function.
        """
        chosen = checked_times(times)
        for time in chosen:
            if reason := self.case.missed(time):
                raise InputError(f"at: {reason}")
        self._callbacks.add(work, Schedule(times=chosen, dt=self.case.time.constant_dt))

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Step to the end of the case, or to where somebody asks to stop, with everything that the case asks for.

        :returns: the exit code of the program: 0 done, 143 stopped on request after a checkpoint.
        :raises InputError: there are results of an earlier run, or files of something else.
        :raises FlowError: the flow is not finite any more.
        :raises AnalysisError: a script or a callback failed, and its errors stop the run.
        :raises IoError: a disk is full or gone.
        """
        with self._recording(show=True):
            for _ in self.steps():
                pass
        return STOPPED if self.stopped else 0

    def __enter__(self) -> Self:
        """Open all that the case writes, and do what is due in the present state; errors as of `run`."""
        opened = self._recording(show=False)
        opened.__enter__()
        self._opened = opened
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._opened is not None
        opened, self._opened = self._opened, None
        return opened.__exit__(kind, error, trace)

    def advance(self, targets: Sequence[float | None] | None = None) -> float:
        """One step, and in a `with` block all that is due in the state after it.

        :param targets: times that the step must not pass, besides those that are scheduled.
        :returns: its size.
        :raises InputError: the end of the case is reached; and as of `run`.
        :raises SystemExit: the run was asked to stop, by SIGTERM or Ctrl-C; there is a checkpoint of this state.
        """
        if self._recorder is None and not self._opened:
            return super().advance(targets)
        if self._recorder and self.at_end:
            raise InputError(
                f"the end of the case is reached, step {self.step}, t = {self.time:g}; to go on, give a later one in "
                "[time] (end or steps)"
            )
        dt = self._advance(targets or [])
        if self.stopped:
            raise Stopped
        return dt

    def steps(self) -> Iterator[float]:
        """Advance to the end of the case, or to where the run is asked to stop (`stopped` tells): yields step sizes.

        :raises InputError: the simulation is not in a `with` block; and as of `run`.
        """
        self._open_recorder()
        while not (self.stopped or self.at_end):
            yield self._advance([])

    @property
    def at_end(self) -> bool:
        """Whether the end of the case is reached. Local."""
        time = self.case.time
        if time.end is not None:
            return self.time >= time.end - SAME_TIME * self.dt
        assert time.steps is not None  # a case has one of the two
        return self.step >= time.steps

    def _open_recorder(self) -> Recorder:
        if self._recorder is None:
            raise InputError("the simulation is not open: write `with tr.Simulation(case) as simulation:`")
        return self._recorder

    def _advance(self, targets: Sequence[float | None]) -> float:
        recorder = self._open_recorder()
        self._callbacks.check_idle()
        due = [*recorder.next_times(self.time), *self._callbacks.next_times(self.time), self.case.time.end]
        with self._leaving(recorder, InputError):  # of a forcing, raised on all ranks
            dt = super().advance([*targets, *due])
        with self._leaving(recorder):
            self._after_step(dt)
            if self._stop.agreed(self.comm):
                self._checkpoint()
                self.stopped = True
                self._tell(f"stopped on request at step {self.step}, t = {self.time:g}; {self._way_on()}")
        return dt

    def _after_step(self, dt: float) -> None:
        """Do all that is due in the present state: numbers, outputs, checkpoint, in the order that resuming needs."""
        recorder, checkpoint = self._open_recorder(), self._rhythm.due(self.step, self.comm, at_end=self.at_end)
        recorder.record(dt, at_end=self.at_end)
        self.numbers = recorder.numbers
        try:
            called = self._callbacks.call(self, self._alone)
        except AnalysisError:
            self._half_changed = True
            raise
        if called:
            self._velocity_changed()
        if checkpoint:
            self._checkpoint()
        self._show_progress(dt)

    # ---- opening and closing -----------------------------------------------------------------------------------------
    @contextmanager
    def _recording(self, *, show: bool) -> Iterator[None]:
        """Around all steps: everything that is written is open.

        :param show: print the progress, and where the time went.
        """
        if self._recorder is not None:
            raise InputError("the simulation is open already")
        keep_freed_memory()  # every step takes the same again: copies of outputs, results of analyses
        started, self.stopped = clock.monotonic(), False
        before = self._phases()  # of steps that the caller made
        self._rhythm.begin(self.step)
        resumed = self.step if self.step > 0 else None
        check_targets(self.case, self.comm)
        try:
            with ExitStack() as stack:
                have_begun = stack.enter_context(
                    claimed(self.case, self.comm, resumed=self._goes_on, overwrite=self._overwrite)
                )
                if self._resumed_from:
                    check_files_there(self.case, self._resumed_from, self.comm)
                self._goes_on = True
                if self._rhythm.is_on:
                    stack.enter_context(self.store.claim())
                checkpoint, self._resumed_from = self._resumed_from or self._left(), None  # read once, then closed
                self._alone = self.comm.Dup()  # calls of a rank that failed must not match those of the others
                recorder = self._recorder = Recorder(
                    self, stack, resumed, checkpoint, provenance=self.provenance, timed=self.timed, say=self._tell
                )
                self._stop = stack.enter_context(StopRequest())
                if show:
                    self.say(repr(self))
                if show and self.comm.rank == 0:
                    time = self.case.time
                    live = Live(time.total_steps, first_step=self.step, end=time.end, first_time=self.time)
                    self._live = stack.enter_context(live)
                with self._leaving(recorder):
                    self._after_step(self.dt)
                    if self._overwrite:
                        recorder.flush()
                    have_begun()
                with self._closing_together(recorder):
                    yield
                if self._recorder is not None:  # else an error, which the caller has caught, has closed everything
                    with self._leaving(recorder):
                        self._end(recorder)
            if self._recorder is not None:
                recorder.close()
            self._alone.Free()
        finally:
            self._recorder = self._live = None
        if show:
            spent = {name: seconds - before.get(name, 0.0) for name, seconds in self._phases().items()}
            recorder.sum_up(spent, clock.monotonic() - started)

    def _left(self) -> OpenCheckpoint | None:
        """Where a simulation is entered again: the checkpoint of this state, which has the states of the analyses."""
        if not (self._was_left and self.step > 0 and self.case.analysis and self._rhythm.is_on):
            return None
        checkpoint = self.store.newest(self.say)
        return checkpoint if checkpoint.state.step == self.step else None

    def _end(self, recorder: Recorder) -> None:
        """At the end of all steps, wherever that is: the analyses finish, unless the run was asked to stop."""
        if not self.stopped and self._rhythm.is_on:
            self._checkpoint()
        if not self.stopped:
            recorder.finish()
        recorder.sync()
        self._was_left = True

    @contextmanager
    def _leaving(self, recorder: Recorder, *more: type[Exception]) -> Iterator[None]:
        """Around what may end the run: keep what was computed, and let no step follow.

        :param more: further errors that are raised on all ranks alike.
        """
        alike: tuple[type[Exception], ...] = (AnalysisError, FlowError, *more)
        try:
            yield
        except alike as error:
            self._leave(recorder, error)
            self._recorder = None
            raise
        except BaseException:  # perhaps of one rank, so that nothing together with the others is possible
            self._recorder = None
            raise

    def _leave(self, recorder: Recorder, error: Exception) -> None:
        """Keep what was computed; where a script stops the run, it can continue once the script is corrected."""
        of_script = isinstance(error, AnalysisError)
        if of_script and recorder.states_are_whole and self._rhythm.is_on and not self._half_changed:
            self._checkpoint()
        if of_script:
            self._tell(f"stopped by an error at step {self.step}, t = {self.time:g}; {self._way_on()}")
        # Readers of a stream are to see its end. A second failure tells less than the error that is raised.
        with suppress(Error, OSError):
            recorder.close()

    @contextmanager
    def _closing_together(self, recorder: Recorder) -> Iterator[None]:
        """Around the caller's own code: failed on all ranks, everything is closed; on some, the program ends."""
        try:
            yield
        except GeneratorExit:  # the simulation was never left, and is thrown away
            raise
        except BaseException as error:
            if self._recorder is not None:  # else it is left already
                wait_for_others(self._alone, self._alone.Ibarrier(), f"{type(error).__name__}: {error}")
                with suppress(Error, OSError):
                    recorder.sync()
                    recorder.close()
            raise

    def _more_about(self) -> dict[str, int]:
        return {_CALLED: self._callbacks.called(self.step)}

    def _way_on(self) -> str:
        if self._has_checkpoint:
            return "go on with --resume"
        return "there is no checkpoint to go on from: start again, with --overwrite"

    def _show_progress(self, dt: float) -> None:
        if self._live:
            written = self._open_recorder().bytes_written + self.bytes_checkpoints
            self._live.update(
                self.step,
                self.time,
                dt,
                energy=self.numbers.get("kinetic_energy"),
                divergence=self.numbers.get("max_divergence"),
                cfl=self.numbers.get("cfl"),
                io_bytes=written * self.comm.size,
            )

    def _tell(self, text: str) -> None:
        """Print a line on rank 0, beside the progress where that is shown."""
        if self._live:
            self._live.message(text)
        else:
            self.say(text)

    # ---- checkpoints of a run ----------------------------------------------------------------------------------------
    def _checkpoint(self) -> None:
        """Write a checkpoint with the states of the analyses, after everything that it must not be ahead of."""
        if self.step == self._rhythm.stored:
            return
        recorder = self._open_recorder()
        recorder.check_finite()
        recorder.flush()
        self.write_checkpoint(recorder.packed(), files_there(self.case, self.comm))
        self._has_checkpoint = True
        self._rhythm.begin(self.step)


def run(case: Case, *, resume: bool = False, overwrite: bool = False) -> int:
    """Compute a case on COMM_WORLD. Collective.

    :param overwrite: results of an earlier run may be replaced.
    :returns: the exit code: 0 done, 143 stopped on request (SIGTERM, Ctrl-C) after a checkpoint.
    :raises InputError, IoError, FlowError, AnalysisError: on every rank alike.
    """
    from mpi4py import MPI

    check_targets(case, MPI.COMM_WORLD)  # before the flow is made, which may take long
    check_free(case, MPI.COMM_WORLD, resume=resume, overwrite=overwrite)
    return Simulation(case, resume=resume, overwrite=overwrite).run()
