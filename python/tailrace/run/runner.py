"""Running a simulation to its end: the loop, and what hangs on it."""

from __future__ import annotations

import signal
import sys
import time as clock
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from tailrace import _core
from tailrace.analysis.errors import AnalysisError
from tailrace.case.schedule import SAME_TIME
from tailrace.flow.initial import COMPONENTS
from tailrace.io import series
from tailrace.io.time_series import TimeSeries
from tailrace.parallel import agree, on_root, spread

from .outputs import FieldCache, Output
from .progress import Live, output_table, summary_table

if TYPE_CHECKING:
    from .inside import Inside
    from .simulation import Simulation

STOPPED = 128 + signal.SIGTERM  # exit code of a run that was asked to stop
# Open MPI kills its ranks a second after it forwards SIGTERM, too soon for a checkpoint, so `tailrace run -n` has it
# forward SIGUSR1 instead.
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class FlowError(RuntimeError):
    """The flow left the numbers: it blew up."""


class Runner:
    """One run of a simulation to its end. Collective."""

    def __init__(self, simulation: Simulation) -> None:
        self._s = simulation
        self._case = simulation.case
        self._stop_wanted = False
        self._finite_step = simulation.step  # the last step that was looked at and found finite
        self._started = clock.monotonic()
        self._last_checkpoint = self._started
        self._checkpoint_step = simulation.step  # where we start is where we could start again
        self._series: TimeSeries | None = None
        self._outputs: list[Output] = []
        self._inside: Inside | None = None
        self._live: Live | None = None

    def go(self) -> int:
        """Step to the end, or to where somebody asks to stop. Returns the exit code of the program."""
        _core.keep_freed_memory()  # every step takes the same again: copies of outputs, results of analyses
        s = self._s
        resumed = s.step if s.step > 0 else None
        with ExitStack() as stack:
            self._open(stack, resumed)
            if resumed is None:
                self._warn_of_earlier_run()
            if s.comm.rank == 0:
                print(s, flush=True)
            for number in _STOP_SIGNALS:
                stack.callback(signal.signal, number, signal.signal(number, self._on_stop))
            if s.comm.rank == 0:
                self._live = stack.enter_context(Live(self._case.time.total_steps, first_step=s.step))
            try:
                self._after_step(s.case.time.dt)
                code = self._loop()
                if code == 0 and self._inside:
                    self._inside.finish()
            except (AnalysisError, FlowError) as error:  # raised on all ranks alike
                self._leave(error)
                raise
        self._close()
        return code

    def _open(self, stack: ExitStack, resumed: int | None) -> None:
        s, case = self._s, self._case
        nx, ny, nz = s.shape
        title = f"{case.case.name}: Re = {case.case.reynolds:g}, {nx} x {ny} x {nz} nodes, {case.time.scheme}"
        open_series: Callable[[], TimeSeries | None] = lambda: (  # noqa: E731
            TimeSeries(case.diagnostics.path, title, resumed) if s.comm.rank == 0 else None
        )
        self._series = agree(s.comm, open_series)
        if self._series:
            stack.push(self._close_series)
        grid = series.UniformGrid(s.shape, spacing=tuple(s.grid.spacing(d) for d in range(3)))  # type: ignore[arg-type]
        with s.timed("output"):
            for section in case.output:
                output = Output(section, case.time.dt, grid, s.comm, resumed)
                output.describe(s.about)
                self._outputs.append(output)
        if case.analysis:
            from .inside import Inside

            self._inside = Inside(s, resumed, self._tell)
        s.resumed_from = None  # nobody reads it any more

    def _warn_of_earlier_run(self) -> None:
        s, wanted = self._s, self._case.checkpoint
        step = s.store.earlier()
        if step is not None and (wanted.every or wanted.minutes):
            s.say(
                f"note: {wanted.path} holds checkpoints of an earlier run, up to step {step}; the first checkpoint "
                "of this run takes their place (with --resume, the earlier run would go on)"
            )

    def _loop(self) -> int:
        s, time = self._s, self._case.time
        while not self._at_end():
            targets = [output.schedule.next_time(s.time) for output in self._outputs]
            if self._inside:
                targets += self._inside.next_times(s.time)
            dt = s.advance([*targets, time.end])
            self._after_step(dt)
            if self._stop_agreed():
                self._write_checkpoint()
                self._tell(f"stopped on request at step {s.step}, t = {s.time:g}; go on with --resume")
                return STOPPED
        return 0

    def _at_end(self) -> bool:
        s, time = self._s, self._case.time
        if time.end is not None:
            return s.time >= time.end - SAME_TIME * time.dt
        return s.step >= time.total_steps

    def _after_step(self, dt: float) -> None:
        """Everything due in the present state: numbers, outputs, checkpoint, in the order that resuming relies on."""
        s, case = self._s, self._case
        due = [output for output in self._outputs if output.schedule.due(s.step, s.time)]
        measure = s.step % case.diagnostics.every == 0 or self._at_end()
        checkpoint = self._checkpoint_due()
        looking = self._inside.due(s.step, s.time) if self._inside else []
        if measure or due or looking:
            self._check_finite()
        if measure:
            self._measure(dt)
        fields = FieldCache(s.flow, s.box, s.shape)
        if due:
            with s.timed("output"):
                for output in due:
                    output.write(s.step, s.time, fields)
        if looking and self._inside:
            self._inside.look(looking, fields)
        if checkpoint:
            self._write_checkpoint()
        if self._live:
            numbers = s.numbers
            self._live.update(
                s.step,
                s.time,
                dt,
                energy=numbers.get("kinetic_energy"),
                divergence=numbers.get("max_divergence"),
                cfl=numbers.get("cfl"),
                io_bytes=(sum(output.bytes_written for output in self._outputs) + s.bytes_checkpoints) * s.comm.size,
            )

    def _measure(self, dt: float) -> None:
        s = self._s
        with s.timed("diagnostics"):
            s.numbers = numbers = {**s.measure(), "dt": dt}
            self._with_series(lambda rows: rows.append(numbers))

    def _close_series(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._series
        # What a full disk did not take is still in the file's buffer, and fails again: once is enough to tell.
        with suppress(OSError) if kind else nullcontext():
            self._series.close()

    def _with_series(self, work: Callable[[TimeSeries], None]) -> None:
        """Work on the time series, which rank 0 holds; its failure is everybody's."""

        def guarded() -> None:
            if self._series:
                try:
                    work(self._series)
                except OSError as error:
                    raise _core.IoError(f"cannot write {self._series.path}: {error.strerror or error}") from error

        on_root(self._s.comm, guarded)

    def _check_finite(self) -> None:
        s = self._s
        if self._finite_step == s.step > 0:
            return
        bad = s.flow.find_bad_point()
        if bad is None:
            self._finite_step = s.step
            return
        component, node = bad
        place = ", ".join(f"{'xyz'[d]} = {node[d] * s.grid.spacing(d):.4g}" for d in range(3))
        raise FlowError(
            f"the flow is not finite at step {s.step}, t = {s.time:g}: {COMPONENTS[component]} at node {tuple(node)} "
            f"({place}); at step {self._finite_step} it was. The time step is probably too large: the last CFL number "
            f"was {s.numbers.get('cfl', np.nan):.3g}; reduce time.dt. The last checkpoint is untouched"
        )

    def _checkpoint_due(self) -> bool:
        """By steps, by the clock of rank 0, and at the end; the state that the run starts from needs none."""
        s, wanted = self._s, self._case.checkpoint
        if s.step == self._checkpoint_step or not (wanted.every or wanted.minutes):
            return False
        if (wanted.every and s.step % wanted.every == 0) or self._at_end():
            return True
        if not wanted.minutes:
            return False
        return bool(s.comm.bcast(clock.monotonic() - self._last_checkpoint >= 60 * wanted.minutes))

    def _write_checkpoint(self) -> None:
        s = self._s
        if s.step == self._checkpoint_step:
            return
        self._check_finite()
        self._with_series(TimeSeries.sync)  # a checkpoint must not be ahead of its history
        with s.timed("output"):
            for output in self._outputs:
                output.flush()
        if self._inside:
            self._inside.flush()
        s.write_checkpoint(self._inside.packed() if self._inside else None)
        self._checkpoint_step = s.step
        self._last_checkpoint = clock.monotonic()

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        if self._stop_wanted and number == signal.SIGINT:
            raise KeyboardInterrupt  # Ctrl-C a second time: at once, then
        self._stop_wanted = True

    def _stop_agreed(self) -> bool:
        """Whether any rank was told to stop: all must leave after the same step."""
        from mpi4py import MPI

        return bool(self._s.comm.allreduce(self._stop_wanted, op=MPI.LOR))

    def _tell(self, text: str) -> None:
        if self._live:
            self._live.message(text)

    def _leave(self, error: AnalysisError | FlowError) -> None:
        """Keep what was computed; where a script stops the run, it can go on once the script is mended."""
        s, wanted = self._s, self._case.checkpoint
        of_script = isinstance(error, AnalysisError) and self._inside and self._inside.states_are_whole
        if of_script and (wanted.every or wanted.minutes):
            self._write_checkpoint()
            self._tell(f"stopped by an analysis at step {s.step}, t = {s.time:g}; go on with --resume")
        # Readers of a stream are to see it end. What else fails now is less than the error on its way.
        with suppress(_core.Error, OSError):
            self._close_outputs()

    def _close_outputs(self) -> None:
        with self._s.timed("output"):
            for output in self._outputs:
                output.close()
        if self._inside:
            self._inside.close()

    def _close(self) -> None:
        s = self._s
        self._close_outputs()
        total = clock.monotonic() - self._started
        analyses = self._inside.phases if self._inside else []
        ours = {name: s.seconds[name] for name in ("diagnostics", "output", "checkpoint", *analyses)}
        solver = s.flow.times
        # Ranks that arrive early wait for the others there, so the time is not all movement of data.
        solver["transposes, waiting"] = solver.pop("transposes")
        phases = spread(s.comm, {**solver, **ours})
        if s.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for output in self._outputs:
                output_table(f"{output.section.name}: {output.section.path}", output.summary, output.notes)
            sys.stdout.flush()
