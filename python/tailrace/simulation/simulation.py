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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self, get_args

from tailrace.case.schedule import Schedule
from tailrace.consumers.checkpoint import CheckpointSchedule
from tailrace.core import InputError
from tailrace.flow.checkpointed_model import CheckpointedModel
from tailrace.flow.model import FlowError
from tailrace.text import visible

from .callbacks import Callbacks, checked_times
from .existing_results import check_free
from .session import RunHistory, RunSession, SessionState, Shown
from .stop import STOPPED, Stopped
from .write_checks import check_targets

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from mpi4py import MPI

    from tailrace.case.case import Case
    from tailrace.case.scripts import Force
    from tailrace.flow.initial.beginning import InitialFlow

__all__ = ["FlowError", "Simulation", "run"]


_CALLED = "callbacks_called"  # of a checkpoint: how many callbacks have seen its state


class Simulation(CheckpointedModel):
    """A model that is also written, analysed, stopped and resumed, as its case says. Collective throughout.

    `run` computes the whole case. In a `with` block you step it yourself, by `advance` or `steps`; after each step they
    do all that is due, as `run` does. Outside of `with`, `advance` only steps the flow, and no file is opened.

    When a `with` block ends without an error, `finish` of the analyses is called. If the case has checkpoints, one of
    the last state is written, also before the end of the case.

    :param case: a validated case.
    :param comm: the ranks; COMM_WORLD by default.
    :param resume: continue from the newest complete checkpoint of the case.
    :param change: a resumed run may compute something else than before from there on, as with another Reynolds number;
        without it, such a case is an error. What it writes says which steps are of which case.
    :param overwrite: replace results of an earlier run, which are an error otherwise.
    :param live: `tailrace live` shows it while it computes: "yes", or "with control" if it may be stopped from there.
    :param flow, forcing: as in `Model`; a resumed run needs the forcing again.
    :raises InputError: the case does not fit the ranks, or the checkpoint.
    :raises IoError: there is no checkpoint to resume from, or a file cannot be opened.

    >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
    >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
    >>> with tr.Simulation(case) as simulation:
    ...     for dt in simulation.steps():
    ...         print(simulation.step, round(simulation.time, 6))
    1 0.01
    2 0.02
    3 0.03
    """

    def __init__(
        self,
        case: Case,
        comm: MPI.Comm | None = None,
        *,
        resume: bool = False,
        change: bool = False,
        overwrite: bool = False,
        live: Shown = "no",
        flow: InitialFlow | None = None,
        forcing: Force | None = None,
    ) -> None:
        if change and not resume:
            raise InputError("change goes with resume: it changes the case of a run that goes on")
        super().__init__(case, comm, resume=resume, change=change, flow=flow, forcing=forcing)
        if live not in get_args(Shown):
            raise InputError(f"live is one of {', '.join(map(repr, get_args(Shown)))}; found {live!r}")
        self._shown: Shown = live
        self._history = RunHistory(overwrite, goes_on=resume, has_checkpoint=resume)
        told = self.resumed_from.about if self.resumed_from else {}
        self._callbacks = Callbacks(self.step, int(told.get(_CALLED, 0)))
        self._rhythm = CheckpointSchedule(case.checkpoint, self.step)
        self._session: RunSession | None = None
        self._opened: AbstractContextManager[None] | None = None  # the session of a `with` block

    def __repr__(self) -> str:
        nx, ny, nz = self.shape
        device = f", on {self.device}" if self.device else ""
        return (
            f"<Simulation {visible(self.case.case.name)}: {nx} x {ny} x {nz} nodes, Re {self.case.case.reynolds:g}, "
            f"{self.comm.size} rank(s) as {self.processes.rows} x {self.processes.cols}{device}, "
            f"step {self.step}, t = {self.time:g}>"
        )

    # ---- callbacks ---------------------------------------------------------------------------------------------------
    def every(self, steps: int, work: Callable[[Simulation], object]) -> None:
        """Call `work(simulation)` on all ranks at step 0 and every `steps` steps after it, also in a resumed run.

        Callbacks are called in the order in which they were added, after the outputs and analyses of the state. An
        error in a callback on any rank stops the run, as an error in an analysis does. They may change the velocity.

        :raises InputError: `steps` is not a number of at least 1, or `work` is not a function.

        >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
        >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 4})
        >>> simulation = tr.Simulation(case)
        >>> simulation.every(2, lambda simulation: print("step", simulation.step))
        >>> with simulation:
        ...     dts = list(simulation.steps())
        step 0
        step 2
        step 4
        """
        try:
            count = operator.index(steps)
        except TypeError:
            count = 0
        if count < 1:
            raise InputError(f"every: the number of steps must be a whole number of at least 1; found {steps!r}")
        self._callbacks.add(work, Schedule(every=count, dt=self.case.time.constant_dt))

    def at(self, times: Sequence[float] | float, work: Callable[[Simulation], object]) -> None:
        """Call `work(simulation)` on all ranks at these times; steps end at them exactly. See also `every`.

        :raises InputError: a time is not a number, is negative, or no step can end at it; or `work` is not a function.

        >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
        >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 4})
        >>> simulation = tr.Simulation(case)
        >>> simulation.at(0.02, lambda simulation: print("step", simulation.step))
        >>> with simulation:
        ...     dts = list(simulation.steps())
        step 2
        """
        chosen = checked_times(times)
        for time in chosen:
            if reason := self.case.missed(time):
                raise InputError(f"at: {reason}")
        self._callbacks.add(work, Schedule(times=chosen, dt=self.case.time.constant_dt))

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Step to the end of the case, or until a signal asks to stop, and do everything that the case asks for.

        :returns: the exit code of the program: 0 done, 1 done but pictures or pipelines failed, which were told, 143
            stopped on request after a checkpoint.
        :raises InputError: results of an earlier run, or other files, are where this run writes.
        :raises FlowError: the flow is not finite any more.
        :raises AnalysisError: a script or a callback failed, and its errors stop the run.
        :raises IoError: a disk is full or gone.

        >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
        >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
        >>> tr.Simulation(case).run()  # doctest: +ELLIPSIS
        <Simulation run: 16 x 12 x 8 nodes, Re 100, ...
        step 3/3 (100%) ...
        0
        """
        with self._open(show=True):
            for _ in self.steps():
                pass
        if self.stopped:
            return STOPPED
        return 1 if self._session is not None and self._session.incomplete else 0

    def __enter__(self) -> Self:
        """Open all that the case writes, and do what is due in the present state. Errors are those of `run`."""
        opened = self._open(show=False)
        opened.__enter__()
        self._opened = opened
        return self

    def _open(self, *, show: bool) -> AbstractContextManager[None]:
        if self._session is not None and self._session.state is SessionState.OPEN:
            raise InputError("the simulation is open already")
        self._session = RunSession(self, self._callbacks, self._rhythm, self._history, show=show, live=self._shown)
        return self._session.opened()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._opened is not None
        opened, self._opened = self._opened, None
        return opened.__exit__(kind, error, trace)

    def advance(self, targets: Sequence[float | None] | None = None) -> float:
        """Make one step, and in a `with` block do all that is due after it.

        :param targets: times that the step must not pass, besides those that are scheduled.
        :returns: the size of the step.
        :raises InputError: the end of the case is reached. Other errors are those of `run`.
        :raises SystemExit: the run was asked to stop, by SIGTERM or Ctrl-C. A checkpoint of this state was written.

        >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
        >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
        >>> with tr.Simulation(case) as simulation:
        ...     dt = simulation.advance()
        >>> dt, simulation.step, simulation.time
        (0.01, 1, 0.01)
        """
        if self._session is None or self._session.state is SessionState.CLOSED:
            return super().advance(targets)
        if self._session.state is SessionState.OPEN and self.at_end:
            raise InputError(
                f"the end of the case is reached, step {self.step}, t = {self.time:g}; to go on, give a later one in "
                "[time] (end or steps)"
            )
        dt = self._advance(targets or [])
        if self.stopped:
            raise Stopped
        return dt

    def steps(self) -> Iterator[float]:
        """Advance to the end of the case, or until the run is asked to stop (see `stopped`). Yields step sizes.

        :raises InputError: the simulation is not in a `with` block. Other errors are those of `run`.
        """
        self._open_session()
        while not (self.stopped or self.at_end):
            yield self._advance([])

    @property
    def numbers(self) -> dict[str, float]:
        """The volume averages that were measured last, by the names of the columns of the time series. Local."""
        return self._session.numbers if self._session else {}

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped on request, by a signal. Local."""
        return self._session is not None and self._session.stopped

    def _open_session(self) -> RunSession:
        if self._session is None or self._session.state is not SessionState.OPEN:
            raise InputError("the simulation is not open: write `with tr.Simulation(case) as simulation:`")
        return self._session

    def _advance(self, targets: Sequence[float | None]) -> float:
        session = self._open_session()
        self._callbacks.check_idle()
        due = [*session.next_times(self.time), self.case.time.end]
        with session.leaving(InputError):  # of a forcing, raised on all ranks
            dt = super().advance([*targets, *due])
        session.after_step(dt)
        return dt

    def _more_about(self) -> dict[str, int]:
        return {_CALLED: self._callbacks.called(self.step)}


def run(case: Case, *, resume: bool = False, change: bool = False, overwrite: bool = False, live: Shown = "no") -> int:
    """Compute a case on COMM_WORLD. Collective.

    :param resume, change, live: as in `Simulation`.
    :param overwrite: results of an earlier run may be replaced.
    :returns: the exit code, see `Simulation.run`.
    :raises InputError, IoError, FlowError, AnalysisError: on every rank alike.

    >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
    >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
    >>> tr.run(case)  # doctest: +ELLIPSIS
    <Simulation run: 16 x 12 x 8 nodes, Re 100, ...
    step 3/3 (100%) ...
    0
    """
    from mpi4py import MPI

    check_targets(case, MPI.COMM_WORLD)  # before the flow is made, which may take long
    check_free(case, MPI.COMM_WORLD, resume=resume, overwrite=overwrite)
    return Simulation(case, resume=resume, change=change, overwrite=overwrite, live=live).run()
