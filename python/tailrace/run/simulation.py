"""A running simulation: Python drives, C++ computes.

    simulation = tr.Simulation(tr.load_case("tgv.toml"))
    simulation.run()

or step it yourself with `advance`, and look at it with `field` and `measure`.
"""

from __future__ import annotations

import time as clock
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tailrace import _core
from tailrace.case.schedule import next_step
from tailrace.flow import initial
from tailrace.flow.checkpoint import CheckpointStore, OpenCheckpoint, State
from tailrace.flow.initial import COMPONENTS
from tailrace.io import series
from tailrace.parallel import agree

from .outputs import FieldCache
from .runner import FlowError, Runner

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.analysis.state import Packed
    from tailrace.case.case import Case
    from tailrace.fields.operators import Operators

__all__ = ["FlowError", "Simulation", "run"]


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
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes_checkpoints = 0
        self.store = CheckpointStore(case.checkpoint.path, case.checkpoint.keep, comm)
        checkpoint = self.resumed_from = self.store.newest(self.say) if resume else None
        self.grid = _core.Grid(case.grid.points, case.grid.lengths, case.grid.boundaries)
        self.processes, self._transpose = self._share_work(checkpoint.state if checkpoint else None)
        make = _core.Flow64 if case.numerics.precision == "double" else _core.Flow32
        self.flow = make(
            self.grid, self.processes, case.viscosity, case.time.scheme, case.numerics.interpolation, self._transpose
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
        velocity, name = (own, self.case.case.flow) if own else (initial.taylor_green(self.grid), "taylor-green")
        components = initial.evaluate(velocity, self.grid, self.box, name, self.comm)
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
        self.say(f"resuming from {checkpoint.path}: step {self.step}, t = {self.time:g}")

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

    @property
    def about(self) -> dict[str, Any]:
        """What an output says of the run, so that it can be analysed without the case."""
        case = self.case
        return {
            "name": case.case.name,
            "reynolds": case.case.reynolds,
            "dt": case.time.dt,
            "lengths": list(case.grid.lengths),
            "boundaries": ",".join(case.grid.boundaries),
            "interpolation": case.numerics.interpolation,
        }

    def lend_velocity(self, operators: Operators) -> None:
        """Tell operators made on `processes` where the velocity is in reach of all ranks, so that it is not copied."""
        if self._transpose == "shared" and self.processes.rows == 1:
            for component in range(3):
                values: Any = self.flow.velocity(component)
                operators.core.know(values)

    def measure(self) -> dict[str, float]:
        """The volume averages of the present state, as in the time series."""
        numbers = self.flow.numbers(self.case.time.dt)
        # In units of U = 1 and the classic L = 1: the box only scales with them.
        return {"step": self.step, "time": self.time, "dt": self.case.time.dt, **numbers}

    def __repr__(self) -> str:
        nx, ny, nz = self.shape
        return (
            f"<Simulation {self.case.case.name}: {nx} x {ny} x {nz} nodes, Re {self.case.case.reynolds:g}, "
            f"{self.comm.size} rank(s) as {self.processes.rows} x {self.processes.cols}, "
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
        return Runner(self).go()

    def write_checkpoint(self, more: Packed | None = None) -> None:
        """Store the present state so that `resume` finds it.

        :param more: what others than the flow have to go on from.
        """
        with self.timed("checkpoint"):
            state = State(
                self.step, self.time, self.processes.rows, self.processes.cols, self._transpose, self.comm.size
            )
            case = self.case
            about: dict[str, Any] = {
                "lengths": list(case.grid.lengths),
                "boundaries": ",".join(case.grid.boundaries),
                "scheme": case.time.scheme,
                "precision": case.numerics.precision,
                "reynolds": case.case.reynolds,
            }
            x, y, z = self.box[0]
            blocks = {name: series.Block(data, self.shape, (x, y, z)) for name, data in self._state_arrays().items()}
            if more is not None:
                blocks.update(more.blocks)
                about.update(more.about)
            lists = more.lists if more is not None else {}
            self.bytes_checkpoints += self.store.write(state, blocks, about, lists)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the time of a block under the name of a phase."""
        start = clock.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] += clock.perf_counter() - start

    def say(self, text: str) -> None:
        """Print a line on rank 0."""
        if self.comm.rank == 0:
            print(text, flush=True)


def run(case: Case, *, resume: bool = False) -> int:
    """Compute a case on COMM_WORLD.

    :returns: the exit code: 0 done, 143 stopped on request (SIGTERM, Ctrl-C) after a checkpoint.
    :raises InputError, IoError, FlowError: on every rank alike.
    """
    return Simulation(case, resume=resume).run()
