"""A case as a running simulation: Python drives, C++ computes.

    simulation = tr.Simulation(tr.load_case("tgv.toml"))
    simulation.run()

or step it yourself with `advance`, and look at it with `field` and `measure`.
"""

from __future__ import annotations

import secrets
import sys
import time as clock
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from tailrace import _core
from tailrace.analysis.errors import AnalysisError
from tailrace.case.schedule import SAME_TIME
from tailrace.flow.checkpoint import CheckpointStore
from tailrace.flow.model import FlowError, Model
from tailrace.io.placement import UniformGrid
from tailrace.io.provenance import of_program
from tailrace.parallel import spread

from .diagnostics import Diagnostics
from .inline_analyses import InlineAnalyses
from .outputs import Output
from .progress import Live, output_table, summary_table
from .results_there import check_free, set_aside
from .stop import STOPPED, StopRequest
from .targets import check_files_there, check_targets, files_there

if TYPE_CHECKING:
    from mpi4py import MPI

    from tailrace.analysis.state import Packed
    from tailrace.case.case import Case

__all__ = ["FlowError", "Simulation", "run"]


class Simulation(Model):
    """A model that is also written, analysed, stopped and resumed, as its case says. Collective throughout.

    :param case: a validated case.
    :param comm: the ranks; COMM_WORLD by default.
    :param resume: go on from the newest complete checkpoint of the case.
    :param overwrite: `run` may replace results of an earlier run, which is an error otherwise.
    :raises InputError: the case does not fit the ranks.
    :raises IoError: nothing to resume from, or a file cannot be opened.
    """

    def __init__(
        self, case: Case, comm: MPI.Comm | None = None, *, resume: bool = False, overwrite: bool = False
    ) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        self.comm, self._overwrite = comm, overwrite
        self._has_checkpoint = resume
        self._goes_on = resume  # what lies at the places of the case is this run's
        self.store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
        self._resumed_from = self.store.newest(self.say) if resume else None
        super().__init__(case, comm, self._resumed_from)
        told = self._resumed_from.about.get("run") if self._resumed_from else None
        # Of rank 0. A resumed run is the same run.
        self.provenance = {
            **of_program("run", comm.size), "run": told or secrets.token_hex(8), "case": case.text
        }  # fmt: skip
        if self._resumed_from:
            self.say(f"resuming from {self._resumed_from.path}: step {self.step}, t = {self.time:g}")
        self.numbers: dict[str, float] = {}  # the volume averages that were measured last
        self.seconds: dict[str, float] = defaultdict(float)  # of this rank, by phase
        self.bytes_checkpoints = 0  # of this rank
        self._outputs: list[Output] = []
        self._analyses: InlineAnalyses | None = None
        self._live: Live | None = None
        self._checkpoint_step = self.step  # the state of the start can be made again
        self._last_checkpoint = clock.monotonic()

    def __repr__(self) -> str:
        nx, ny, nz = self.shape
        return (
            f"<Simulation {self.case.case.name}: {nx} x {ny} x {nz} nodes, Re {self.case.case.reynolds:g}, "
            f"{self.comm.size} rank(s) as {self.processes.rows} x {self.processes.cols}, "
            f"step {self.step}, t = {self.time:g}>"
        )

    # ---- checkpoints, times, messages --------------------------------------------------------------------------------
    def write_checkpoint(self, more: Packed | None = None, files: Mapping[str, str] | None = None) -> None:
        """Store the present state so that `resume` finds it.

        :param more: states of others than the flow.
        :param files: what `files_there` tells, in a run that writes files.
        :raises IoError: the disk is full or gone; earlier checkpoints are untouched.
        """
        with self.timed("checkpoint"):
            blocks, about = self.blocks(), {**self.provenance, **self.description, **(files or {})}
            if more is not None:
                blocks.update(more.blocks)
                about.update(more.about)
            lists = more.lists if more is not None else {}
            self.bytes_checkpoints += self.store.write(self.state, blocks, about, lists)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the time of a block under the name of a phase. Local."""
        start = clock.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] += clock.perf_counter() - start

    def say(self, text: str) -> None:
        """Print a line on rank 0. Local."""
        if self.comm.rank == 0:
            print(text, flush=True)

    # ---- running -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Step to the end of the case, or to where somebody asks to stop, with everything that the case asks for.

        :returns: the exit code of the program: 0 done, 143 stopped on request after a checkpoint.
        :raises InputError: there are results of an earlier run, or files of something else.
        :raises FlowError: the flow is not finite any more.
        :raises AnalysisError: a script failed, and its errors stop the run.
        :raises IoError: a disk is full or gone.
        """
        _core.keep_freed_memory()  # every step takes the same again: copies of outputs, results of analyses
        started = self._last_checkpoint = clock.monotonic()
        self._checkpoint_step = self.step
        resumed = self.step if self.step > 0 else None
        check_targets(self.case, self.comm)
        if self._resumed_from:
            check_files_there(self.case, self._resumed_from, self.comm)
        with ExitStack() as stack:
            earlier_are_replaced = stack.enter_context(
                set_aside(self.case, self.comm, resumed=self._goes_on, overwrite=self._overwrite)
            )
            self._goes_on = True
            if self.case.checkpoint.every or self.case.checkpoint.minutes:
                stack.enter_context(self.store.claim())
            self._diagnostics = stack.enter_context(Diagnostics(self, resumed, self.provenance))
            self._open_outputs(resumed)
            self.say(repr(self))
            self._stop = stack.enter_context(StopRequest())
            if self.comm.rank == 0:
                self._live = stack.enter_context(Live(self.case.time.total_steps, first_step=self.step))
            try:
                self._after_step(self.case.time.dt)
                if self._overwrite:
                    self._flush_results()
                    earlier_are_replaced()
                code = self._loop()
                if code == 0 and self._analyses:
                    self._analyses.finish()
                self._diagnostics.sync()
            except (AnalysisError, FlowError) as error:  # raised on all ranks alike
                self._leave(error)
                raise
        self._close_outputs()
        self._sum_up(clock.monotonic() - started)
        return code

    def _open_outputs(self, resumed: int | None) -> None:
        case = self.case
        spacing = tuple(self.grid.spacing(d) for d in range(3))
        grid = UniformGrid(self.shape, spacing=spacing, boundaries=tuple(self.grid.boundaries))  # type: ignore[arg-type]
        self._outputs = []
        with self.timed("output"):
            for section in case.output:
                output = Output(section, case.time.dt, grid, self.comm, resumed)
                output.describe({**self.about, **self.provenance})
                self._outputs.append(output)
        checkpoint, self._resumed_from = self._resumed_from, None  # read once, then closed
        self._analyses = None
        if case.analysis:
            self._analyses = InlineAnalyses(
                self, resumed, checkpoint, provenance=self.provenance, timed=self.timed, say=self._tell
            )

    def _loop(self) -> int:
        while not self._at_end():
            targets = [output.schedule.next_time(self.time) for output in self._outputs]
            if self._analyses:
                targets += self._analyses.next_times(self.time)
            dt = self.advance([*targets, self.case.time.end])
            self._after_step(dt)
            if self._stop.agreed(self.comm):
                self._checkpoint()
                self._tell(f"stopped on request at step {self.step}, t = {self.time:g}; {self._way_on()}")
                return STOPPED
        return 0

    def _at_end(self) -> bool:
        time = self.case.time
        if time.end is not None:
            return self.time >= time.end - SAME_TIME * time.dt
        return self.step >= time.total_steps

    def _after_step(self, dt: float) -> None:
        """Do all that is due in the present state: numbers, outputs, checkpoint, in the order that resuming needs."""
        due = [output for output in self._outputs if output.schedule.due(self.step, self.time)]
        measure = self.step % self.case.diagnostics.every == 0 or self._at_end()
        checkpoint = self._checkpoint_due()
        looking = self._analyses.due(self.step, self.time) if self._analyses else []
        if measure or due or looking:
            self._check_finite()
        if measure:
            with self.timed("diagnostics"):
                self.numbers = {**self.measure(), "dt": dt}
                self._diagnostics.append(self.numbers)
        fields = self.fields()
        if due:
            with self.timed("output"):
                for output in due:
                    output.write(self.step, self.time, fields)
        if looking and self._analyses:
            self._analyses.look(looking, fields)
        if checkpoint:
            self._checkpoint()
        self._show_progress(dt)

    def _check_finite(self) -> None:
        self.check_finite(self.numbers.get("cfl", float("nan")))

    def _show_progress(self, dt: float) -> None:
        if self._live:
            written = sum(output.bytes_written for output in self._outputs) + self.bytes_checkpoints
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
        """Print a line beside the progress, on rank 0."""
        if self._live:
            self._live.message(text)

    # ---- checkpoints of a run ----------------------------------------------------------------------------------------
    def _checkpoint_due(self) -> bool:
        """By steps, by the clock of rank 0, and at the end; the state that the run starts from needs none."""
        wanted = self.case.checkpoint
        if self.step == self._checkpoint_step or not (wanted.every or wanted.minutes):
            return False
        if (wanted.every and self.step % wanted.every == 0) or self._at_end():
            return True
        if not wanted.minutes:
            return False
        return bool(self.comm.bcast(clock.monotonic() - self._last_checkpoint >= 60 * wanted.minutes))

    def _checkpoint(self) -> None:
        """Write a checkpoint with the states of the analyses, after everything that it must not be ahead of."""
        if self.step == self._checkpoint_step:
            return
        self._check_finite()
        self._flush_results()
        packed = self._analyses.packed() if self._analyses else None
        self.write_checkpoint(packed, files_there(self.case, self.comm))
        self._has_checkpoint = True
        self._checkpoint_step = self.step
        self._last_checkpoint = clock.monotonic()

    def _flush_results(self) -> None:
        """Wait until everything up to now is written."""
        self._diagnostics.sync()
        with self.timed("output"):
            for output in self._outputs:
                output.flush()
        if self._analyses:
            self._analyses.flush()

    # ---- the end of a run --------------------------------------------------------------------------------------------
    def _leave(self, error: AnalysisError | FlowError) -> None:
        """Keep what was computed; where a script stops the run, it can continue once the script is corrected."""
        wanted = self.case.checkpoint
        of_script = isinstance(error, AnalysisError) and self._analyses and self._analyses.states_are_whole
        if of_script and (wanted.every or wanted.minutes):
            self._checkpoint()
        if isinstance(error, AnalysisError):
            self._tell(f"stopped by an analysis at step {self.step}, t = {self.time:g}; {self._way_on()}")
        # Readers of a stream are to see its end. A second failure tells less than the error that is raised.
        with suppress(_core.Error, OSError):
            self._close_outputs()

    def _way_on(self) -> str:
        if self._has_checkpoint:
            return "go on with --resume"
        return "there is no checkpoint to go on from: start again, with --overwrite"

    def _close_outputs(self) -> None:
        with self.timed("output"):
            for output in self._outputs:
                output.close()
        if self._analyses:
            self._analyses.close()

    def _sum_up(self, total: float) -> None:
        """Print where the time of the run went."""
        analyses = self._analyses.phases if self._analyses else []
        ours = {name: self.seconds[name] for name in ("diagnostics", "output", "checkpoint", *analyses)}
        solver = self.flow.times
        # Ranks that arrive early wait for the others there, so that not all of this time is movement of data.
        solver["transposes, waiting"] = solver.pop("transposes")
        phases = spread(self.comm, {**solver, **ours})
        if self.comm.rank == 0:
            summary_table({name: times for name, times in phases.items() if times[2] > 0}, total)
            for output in self._outputs:
                output_table(f"{output.section.name}: {output.section.path}", output.summary, output.notes)
            sys.stdout.flush()


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
