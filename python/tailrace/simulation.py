"""A running simulation: Python drives, C++ computes.

case = tr.load_case("tgv.toml")
simulation = tr.Simulation(case)
simulation.run()
"""

from __future__ import annotations

import signal
import sys
import time as clock
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, flows, series
from .checkpoint import CheckpointStore, OpenCheckpoint, State
from .outputs import FieldCache, Output
from .parallel import agree, on_root, spread
from .progress import Live, summary_table
from .schedule import SAME_TIME, next_step
from .timeseries import TimeSeries

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from .config import Case

__all__ = ["FlowError", "Simulation", "run"]

COMPONENTS = ("ux", "uy", "uz")
STOPPED = 128 + signal.SIGTERM  # exit code of a run that was asked to stop
# Open MPI kills its ranks a second after it forwards SIGTERM, too soon for a checkpoint, so `tailrace run -n` has it
# forward SIGUSR1 instead.
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class FlowError(RuntimeError):
    """The flow left the numbers: it blew up."""


class Simulation:
    """A case on this communicator's ranks: made, stepped, written, resumed. Collective throughout.

    :param case: a validated case.
    :param comm: the ranks; COMM_WORLD by default.
    :param resume: go on from the newest complete checkpoint of the case.
    :raises InputError: the case does not fit the ranks.
    :raises IoError: nothing to resume from, or a file cannot be opened.
    """

    def __init__(self, case: Case, comm: MPI.Comm | None = None, *, resume: bool = False) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        self.case, self.comm = case, comm
        self.time = 0.0
        self.numbers: dict[str, float] = {}
        self._seconds: dict[str, float] = defaultdict(float)
        self._bytes_checkpoints = 0
        self._store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
        checkpoint = self._store.newest(self._say) if resume else None
        self.grid = _core.Grid(case.grid.points, case.grid.lengths, case.grid.boundaries)
        self._processes, self._transpose = self._share_work(checkpoint.state if checkpoint else None)
        make = _core.Flow64 if case.numerics.precision == "double" else _core.Flow32
        self.flow = make(
            self.grid, self._processes, case.viscosity, case.time.scheme, case.numerics.interpolation, self._transpose
        )
        self.box = self.flow.box
        if checkpoint:
            self._restore(checkpoint)
        else:
            self._initialise()

    # ---- making ------------------------------------------------------------------------------------------------------
    def _share_work(self, before: State | None) -> tuple[_core.ProcessGrid, str]:
        """The process grid and the way of transposing: given, those of the run we resume, or the fastest measured."""
        wanted = self.case.parallel
        handle = self.comm.py2f()
        rows, cols = wanted.rows, wanted.cols
        transpose: str = wanted.transpose
        if before and before.ranks == self.comm.size and rows == cols == 0:
            # Another sharing would be as right, but not the same to the last bit.
            rows, cols = before.rows, before.cols
            if transpose == "auto" and (before.transpose != "shared" or _core.can_share_memory(handle)):
                transpose = before.transpose
        rows, cols, transpose, _ = _core.tune_process_grid(handle, self.grid.nodes, rows, cols, transpose)[0]
        return _core.ProcessGrid(handle, rows, cols), transpose

    def _initialise(self) -> None:
        own = agree(self.comm, self.case.initial_velocity)
        velocity, name = (own, self.case.case.flow) if own else (flows.taylor_green(self.grid), "taylor-green")
        components = flows.evaluate(velocity, self.grid, self.box, name, self.comm)
        for i, component in enumerate(components):
            self.flow.velocity(i)[...] = component
        self.flow.project()  # what is free of divergence by the formula is so in the schemes up to their order only
        self.flow.invalidate()

    def _restore(self, checkpoint: OpenCheckpoint) -> None:
        def check() -> None:
            case, told = self.case, checkpoint.about
            for key, ours, theirs in (
                ("grid.points", tuple(case.grid.points), checkpoint.shape()),
                ("grid.lengths", tuple(case.grid.lengths), tuple(told["lengths"])),
                ("grid.boundaries", ",".join(case.grid.boundaries), told["boundaries"]),
                ("time.scheme", case.time.scheme, told["scheme"]),
                ("numerics.precision", case.numerics.precision, told["precision"]),
            ):
                if ours != theirs:
                    raise _core.InputError(
                        f"checkpoint {checkpoint.path} was written with {key} = {theirs}, the case says {ours}; resume "
                        "with the case it was written by, or start anew without --resume"
                    )

        agree(self.comm, check)
        for name, values in self._state_arrays().items():
            values[...] = checkpoint.read(name, self.box)
        self.flow.steps = checkpoint.state.step
        self.time = checkpoint.state.time
        self.flow.invalidate()
        self._say(f"resuming from {checkpoint.path}: step {self.step}, t = {self.time:g}")

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything a state consists of, by name: views of the solver's memory."""
        arrays = {name: self.flow.velocity(i) for i, name in enumerate(COMPONENTS)}
        for age in range(1, self.flow.history_ages + 1):
            arrays.update({f"rhs{age}_{name}": self.flow.history(age, i) for i, name in enumerate(COMPONENTS)})
        return arrays

    # ---- looking -----------------------------------------------------------------------------------------------------
    @property
    def step(self) -> int:
        """Steps since the start of the flow."""
        return int(self.flow.steps)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Nodes in x, y, z."""
        x, y, z = self.grid.nodes
        return x, y, z

    def field(self, name: str) -> NDArray[Any]:
        """This rank's part of a field, (nz, ny, nx): ux, uy, uz as views, derived ones computed."""
        return FieldCache(self.flow, self.box, self.shape)(name).data

    def measure(self) -> dict[str, float]:
        """The volume averages of the present state, as in the time series."""
        numbers = self.flow.numbers(self.case.time.dt)
        # In units of U = 1 and the classic L = 1: the box only scales with them.
        return {"step": self.step, "time": self.time, "dt": self.case.time.dt, **numbers}

    def __repr__(self) -> str:
        nx, ny, nz = self.shape
        return (
            f"<Simulation {self.case.case.name}: {nx} x {ny} x {nz} nodes, Re {self.case.case.reynolds:g}, "
            f"{self.comm.size} rank(s) as {self._processes.rows} x {self._processes.cols}, "
            f"step {self.step}, t = {self.time:g}>"
        )

    # ---- stepping ----------------------------------------------------------------------------------------------------
    def advance(self, targets: list[float | None] | None = None) -> float:
        """One step, shortened where a target time lies closer. Returns its size."""
        dt, after = next_step(self.time, self.case.time.dt, targets or [])
        self.flow.step(dt)
        self.time = after
        return dt

    def run(self) -> int:
        """Step to the end of the case with everything it asks for. Returns the exit code of the program."""
        return _Run(self).go()

    def write_checkpoint(self) -> None:
        """Store the present state so that `resume` finds it."""
        with self._timed("checkpoint"):
            state = State(
                self.step, self.time, self._processes.rows, self._processes.cols, self._transpose, self.comm.size
            )
            case = self.case
            about = {
                "lengths": list(case.grid.lengths),
                "boundaries": ",".join(case.grid.boundaries),
                "scheme": case.time.scheme,
                "precision": case.numerics.precision,
                "reynolds": case.case.reynolds,
            }
            x, y, z = self.box[0]
            blocks = {name: series.Block(data, self.shape, (x, y, z)) for name, data in self._state_arrays().items()}
            self._bytes_checkpoints += self._store.write(state, blocks, about)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = clock.perf_counter()
        try:
            yield
        finally:
            self._seconds[phase] += clock.perf_counter() - start

    def _say(self, text: str) -> None:
        if self.comm.rank == 0:
            print(text, flush=True)


class _Run:
    """One run of a simulation to its end: the loop, and what hangs on it."""

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
        self._live: Live | None = None

    def go(self) -> int:
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
            self._after_step(s.case.time.dt)
            code = self._loop()
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
        with s._timed("output"):
            for section in case.output:
                output = Output(section, case.time.dt, grid, s.comm, resumed)
                output.describe({"name": case.case.name, "reynolds": case.case.reynolds, "dt": case.time.dt})
                self._outputs.append(output)

    def _warn_of_earlier_run(self) -> None:
        s, wanted = self._s, self._case.checkpoint
        step = s._store.earlier()
        if step is not None and (wanted.every or wanted.minutes):
            s._say(
                f"note: {wanted.path} holds checkpoints of an earlier run, up to step {step}; the first checkpoint "
                "of this run takes their place (with --resume, the earlier run would go on)"
            )

    def _loop(self) -> int:
        s, time = self._s, self._case.time
        while not self._at_end():
            targets = [output.schedule.next_time(s.time) for output in self._outputs]
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
        if measure or due:
            self._check_finite()
        if measure:
            self._measure(dt)
        if due:
            with s._timed("output"):
                fields = FieldCache(s.flow, s.box, s.shape)
                for output in due:
                    output.write(s.step, s.time, fields)
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
                io_bytes=(sum(output.bytes_written for output in self._outputs) + s._bytes_checkpoints) * s.comm.size,
            )

    def _measure(self, dt: float) -> None:
        s = self._s
        with s._timed("diagnostics"):
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
        s.write_checkpoint()
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

    def _close(self) -> None:
        s = self._s
        with s._timed("output"):
            for output in self._outputs:
                output.close()
        total = clock.monotonic() - self._started
        ours = {name: s._seconds[name] for name in ("diagnostics", "output", "checkpoint")}
        phases = spread(s.comm, {**s.flow.times, **ours})
        if s.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for section in self._case.output:
                print(f"  {section.name}: {section.path}")
            sys.stdout.flush()


def run(case: Case, *, resume: bool = False) -> int:
    """Compute a case on COMM_WORLD.

    :returns: the exit code: 0 done, 143 stopped on request (SIGTERM, Ctrl-C) after a checkpoint.
    :raises InputError, IoError, FlowError: on every rank alike.
    """
    return Simulation(case, resume=resume).run()
