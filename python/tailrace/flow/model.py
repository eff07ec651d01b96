"""A flow in memory: its grid, how the ranks share it, the solver, its time."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.case.schedule import next_step
from tailrace.core import Flow32, Flow64, InputError, ProcessGrid, build_info, can_share_memory, tune_process_grid
from tailrace.fields.field import Field
from tailrace.fields.operators import Operators
from tailrace.fields.parity import polar
from tailrace.fields.vector import Vector
from tailrace.io.names import COMPONENTS
from tailrace.parallel import agree, extreme

from . import first_step
from .body import put_into
from .checkpoint import State
from .ends import Ends, counts_walls_twice, settles_through
from .field_cache import FieldCache
from .given_forces import GivenForces
from .initial.beginning import Beginning
from .measuring.energy import EnergyBudget
from .measuring.measures import Measures
from .memory import check_memory
from .options import grid_of, options_of, shape_of
from .stored_state import about_of, blocks_of, check_fits, description_of, stretching_of
from .time_step import TimeStep, settling_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpi4py import MPI
    from numpy.typing import NDArray

    from tailrace.case.case import Case
    from tailrace.case.scripts import Force
    from tailrace.io.placement import Block

    from .checkpoint import OpenCheckpoint
    from .initial.beginning import InitialFlow


class FlowError(RuntimeError):
    """The flow is not finite any more: the computation was unstable."""


class Model:
    """The flow of a case on the ranks of `comm`: made, stepped, measured. All methods are collective unless told local.

    :param case: a validated case; its outputs, analyses and checkpoints are not used here.
    :param comm: the ranks; COMM_WORLD by default.
    :param checkpoint: the state to begin with; the initial flow of the case by default.
    :param flow: the initial flow instead of that of the case: a function of x, y, z that returns three arrays; three
        arrays of this rank's part, (nz, ny, nx); a Vector; or a Step, whose vector "u" is used. A Vector or a Step may
        have another number of points in the same box; it is then interpolated. The divergence of the flow is removed.
    :param forcing: a body force instead of that of the case: a function of x, y, z and the time t that returns three
        arrays or numbers. Each rank calls it for its own points, at the time of each stage of a step.
    :raises InputError: the case does not fit the ranks or their memory, or the checkpoint does not fit the case; or the
        flow or the forcing fails, has another shape, or is not finite.

    >>> grid = {"points": (16, 12, 8), "lengths": (2 * np.pi,) * 3, "boundaries": ("periodic",) * 3}
    >>> case = tr.Case(case={"reynolds": 100.0}, grid=grid, time={"dt": 0.01, "steps": 3})
    >>> model = tr.Model(case)
    >>> round(model.measure()["kinetic_energy"], 6)  # of the Taylor-Green vortex: 1/8
    0.125
    >>> model.advance(), model.step
    (0.01, 1)
    """

    def __init__(
        self,
        case: Case,
        comm: MPI.Comm | None = None,
        checkpoint: OpenCheckpoint | None = None,
        *,
        flow: InitialFlow | None = None,
        forcing: Force | None = None,
    ) -> None:
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        self.case, self.comm = case, comm
        agree(comm, case.check_parameters)
        self.time = 0.0
        self.grid = grid_of(case.grid)
        make = Flow64 if case.numerics.precision == "double" else Flow32
        least = make.least_bytes_per_node(case.time.scheme)
        least += least // 3 * len(case.scalar)  # a scalar as a component of the velocity
        least += 3 * (8 if case.numerics.precision == "double" else 4) * case.numerics.implicit_y
        if forcing is not None or case.case.forcing is not None or case.forcing.band is not None:
            least += 24 if case.numerics.precision == "double" else 12
        check_memory(self.shape, least, comm)
        self.processes, self._transpose = self._share_work(checkpoint.state if checkpoint else None)
        self.flow = make(self.grid, self.processes, agree(comm, lambda: options_of(case)), self._transpose)
        #: The device that computes the steps; empty where it is the processor.
        self.device: str = agree(comm, self.flow.accelerate) if case.numerics.device == "gpu" else ""
        self.box = self.flow.box
        self._velocity: Vector | None = None
        self._finite_step = 0  # the last step that was checked and found finite
        self._forces = GivenForces(case, self.flow, self.grid, comm, forcing)
        self._forced = False  # whether the solver has the force already
        self._time_step = TimeStep(case, self.grid, comm)
        self._ends = Ends(case, self.flow, self.grid, comm)
        if case.body is not None:
            shape, word = agree(comm, lambda: shape_of(case)), case.body.shape
            put_into(self.flow, shape, f"the body '{word}'", case.body.refinement)
        self.measures = Measures(case, self.flow, self.grid, self.processes, comm)
        self.energy = EnergyBudget(case, self.flow, given=self._forces.function is not None)
        self._beginning = Beginning(case, self.flow, self.grid, comm)
        self._remarks: list[str] = []  # about how the flow begins
        if checkpoint:
            self.restore(checkpoint)
        else:
            self._initialise(flow)
        self._set_coriolis(self.time)
        self._time_step.begin(self.rate)
        if self._forces:
            self.flow.add_force()
            self._forced = True
            self._set_force(0.0)  # the pressure of the first state needs it

    # ---- making ------------------------------------------------------------------------------------------------------
    def _share_work(self, before: State | None) -> tuple[ProcessGrid, str]:
        """The process grid and the way of transposing: as given, as in the run we resume, or the fastest measured."""
        wanted = self.case.parallel
        handle = self.comm.py2f()
        rows, cols = wanted.rows, wanted.cols
        if self.case.numerics.device == "gpu":
            rows = rows or 1  # devices have slabs
        transpose: str = wanted.transpose
        as_before = before and rows in (0, before.rows) and cols in (0, before.cols)
        if before and as_before and before.ranks == self.comm.size:
            # Another process grid or way of transposing would be as right, but not the same to the last bit.
            rows, cols = before.rows, before.cols
            if transpose == "auto" and (before.transpose != "shared" or can_share_memory(handle)):
                transpose = before.transpose
        try:
            rows, cols, transpose, _ = tune_process_grid(handle, self.grid.nodes, rows, cols, transpose)[0]
        except InputError as error:  # on every rank
            if (rows, cols) == (0, 0):
                raise
            words = f"parallel.rows = {rows}, parallel.cols = {cols}"
            raise InputError(f"{words}: {error} (--set parallel.rows=0 --set parallel.cols=0)") from None
        return ProcessGrid(handle, rows, cols), transpose

    def _initialise(self, flow: InitialFlow | None) -> None:
        self._remarks = self._beginning.set(flow)
        if self.case.case.project:
            self.project()  # a formula free of divergence is so in the schemes up to their order only
        else:
            self.velocity_changed()

    def _set_coriolis(self, time: float) -> None:
        if self.case.forcing.coriolis_until is not None:
            self.flow.set_coriolis(self.case.forcing.coriolis_at(time))

    def _set_force(self, since_now: float, dt: float | None = None) -> None:
        """Set the force at a time in a step of this size, by default the nominal one."""
        self._forces.set(self.time + since_now, self.step, self.dt if dt is None else dt)

    def _prepare(self, dt: float, start: float, end: float) -> None:
        if self._forces:
            self._set_force(start, dt)
        self._ends.set(self.time + start, self.time + end)

    # ---- the state ---------------------------------------------------------------------------------------------------
    @property
    def state(self) -> State:
        """Where the flow stands, besides its fields. Local."""
        grid = self.processes
        return State(self.step, self.time, grid.rows, grid.cols, self._transpose, self.comm.size, self.dt)

    def blocks(self) -> dict[str, Block]:
        """Everything a state consists of, by name: this rank's blocks, views of the solver's memory. Local."""
        return blocks_of(self.flow, self.case)

    @property
    def description(self) -> dict[str, Any]:
        """What a checkpoint says about the case, so that only a case that fits can resume it. Local."""
        described = description_of(self.case, self._forces.name)
        described |= {"energy": self.energy.state}
        return described | ({"measures": self.measures.state} if self.measures.state else {})

    def restore(self, checkpoint: OpenCheckpoint) -> None:
        """Take over the state of a checkpoint, written on any number of ranks.

        :raises InputError: it was written by a case with another grid, scheme or precision.
        """
        agree(self.comm, lambda: check_fits(self.case, checkpoint))
        for name, block in self.blocks().items():
            count = tuple(block.data.shape[::-1])
            block.data[...] = checkpoint.read(name, (block.start, count))
        self.flow.steps = checkpoint.state.step
        self.time = checkpoint.state.time
        self._time_step.restore(checkpoint.state.dt)
        self.measures.state = [float(number) for number in checkpoint.about.get("measures", [])]
        self.energy.state = [float(number) for number in checkpoint.about.get("energy", [])]
        self.flow.invalidate()
        self._finite_step = self.step

    # ---- looking -----------------------------------------------------------------------------------------------------
    @property
    def step(self) -> int:
        """Steps since the start of the flow. Local."""
        return int(self.flow.steps)

    @property
    def dt(self) -> float:
        """The nominal time step. The next step has this size, unless it is shortened to end at a time. Local."""
        return self._time_step.size

    @property
    def shape(self) -> tuple[int, int, int]:
        """Nodes in x, y, z. Local."""
        x, y, z = self.grid.nodes
        return x, y, z

    def fields(self) -> FieldCache:
        """The fields of the present state. They are valid until the next step. Local."""
        return FieldCache(self.flow, self.shape, tuple(scalar.name for scalar in self.case.scalar))

    def field(self, name: str) -> NDArray[Any]:
        """This rank's part of a field, (nz, ny, nx): ux, uy, uz as views, derived ones computed.

        :raises InputError: there is no such field.
        """
        return self.fields()(name).data

    def operators(self) -> Operators:
        """The schemes of the solver for fields of this flow, on the same process grid and in the same precision."""
        numerics = self.case.numerics
        operators = Operators(
            self.grid.nodes, self.grid.lengths, self.grid.boundaries, comm=self.comm, processes=self.processes,
            interpolation=numerics.interpolation, dtype="float64" if numerics.precision == "double" else "float32",
            **stretching_of(self.case),
        )  # fmt: skip
        if self._transpose == "shared" and self.processes.rows == 1:  # all ranks can reach the solver's velocity
            for component in range(3):
                operators.register_shared(self.flow.velocity(component))
        return operators

    @property
    def about(self) -> dict[str, Any]:
        """What an output says about the run, so that it can be analysed without the case. Local."""
        return about_of(self.case)

    def rate(self) -> float:
        """The largest sum |u_d| / h_d of a node, by which time steps are limited; infinite where one is not finite.

        What a scalar settles by is added to it, as if it were the fastest where the flow is.
        """
        return float(self.flow.rate()) + settling_rate(self.case, self.grid)

    def measure(self) -> dict[str, float]:
        """The volume averages of the present state, by the names of the columns of the time series.

        In units of the velocity scale U = 1 and the length scale L = 1.
        """
        averages = self.flow.averages(self.dt)
        power = self._forces.power(self.time, self.step, self.dt)
        energy = self.energy(self.step, self.time, power, averages)
        return {"step": self.step, "time": self.time, "dt": self.dt, **averages, **self.measures(self.time), **energy}

    def concerns(self) -> list[str]:
        """What makes the flow depend on the ranks, or the first step meaningless; a line for each reason."""
        kinds = self.grid.boundaries  # walls balance a constant force across them
        pull = [abs(a) * (kind == "periodic") for a, kind in zip(self.case.forcing.acceleration, kinds, strict=True)]
        for number, scalar in enumerate(self.case.scalar):
            # The pressure balances what is the same everywhere.
            least, most = self._extremes(self.flow.scalar(number))
            pull = [p + abs(b) * (most - least) / 2 for p, b in zip(pull, scalar.buoyancy, strict=True)]
        for d in range(3) if self._forced else ():
            pull[d] += max(map(abs, self._extremes(self.flow.force(d))))
        x, y, z = pull
        state = first_step.FirstState(self.dt, self.rate(), (x, y, z))
        remarks = list(self._remarks)
        if self.device and build_info()["gpu"] == "host":
            remarks.append(
                f"the steps are computed on {self.device}; build Tailrace with -DTAILRACE_GPU=CUDA for a GPU"
            )
        remarks += settles_through(self.case) + counts_walls_twice(self.case)
        return [*remarks, *first_step.concerns(self.case, self.grid, state)]

    def _extremes(self, values: NDArray[Any]) -> tuple[float, float]:
        """The least and the largest of all ranks."""
        from mpi4py import MPI

        least = self.comm.allreduce(float(values.min(initial=math.inf)), op=MPI.MIN)
        return least, self.comm.allreduce(float(values.max(initial=-math.inf)), op=MPI.MAX)

    def check_finite(self, cfl: float = math.nan) -> None:
        """Look for values that are not finite; a step that was found finite is not checked again.

        :param cfl: the last CFL number that is known, for the message.
        :raises FlowError: a value is not finite; the message names the component and the node.
        """
        if self._finite_step == self.step > 0:
            return
        bad = self.flow.find_bad_point()
        if bad is None and (name := self._bad_scalar()) is not None:
            raise FlowError(
                f"the scalar '{name}' is not finite at step {self.step}, t = {self.time:g}; at step "
                f"{self._finite_step} it was. The time step is probably too large; {self._time_step.remedy}"
            )
        if bad is None:
            self._finite_step = self.step
            return
        component, node = bad
        place = ", ".join(f"{'xyz'[d]} = {self.grid.coordinates(d)[node[d]]:.4g}" for d in range(3))
        raise FlowError(
            f"the flow is not finite at step {self.step}, t = {self.time:g}: {COMPONENTS[component]} at node "
            f"{tuple(node)} ({place}); at step {self._finite_step} it was. The time step is probably too large"
            f"{f': the last CFL number was {cfl:.3g}' if math.isfinite(cfl) else ''}; {self._time_step.remedy}"
        )

    def _bad_scalar(self) -> str | None:
        """The name of the first scalar with a value that is not finite. Collective."""
        bad = len(self.case.scalar)
        for number in reversed(range(bad)):
            values = self.flow.scalar(number)
            if not math.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
                bad = number
        bad = int(extreme(self.comm, bad, largest=False))
        return self.case.scalar[bad].name if bad < len(self.case.scalar) else None

    # ---- changing ----------------------------------------------------------------------------------------------------
    @property
    def velocity(self) -> Vector:
        """The velocity: the memory of the solver, to read and to write, `model.velocity.x[...] *= 2`.

        `project` must be called after a change. Set it as a whole, as `model.velocity = (ux, uy, uz)`, to any initial
        flow that `Model` takes. Collective at the first access, then local; setting is collective.

        Adams-Bashforth schemes keep the right-hand sides of earlier steps. These belong to the velocity before the
        change, and the next one or two steps are extrapolated from them.
        """
        if self._velocity is None:
            operators = self.operators()
            parts = enumerate(COMPONENTS)
            self._velocity = Vector(
                *(Field(self.flow.velocity(d), operators, parity=polar(d), name=name) for d, name in parts)
            )
        return self._velocity

    @velocity.setter
    def velocity(self, values: InitialFlow) -> None:
        self._beginning.fill(values, "the velocity")
        self.velocity_changed()

    def project(self) -> None:
        """Remove the divergence of the velocity, after it was changed, and forget what was computed from it."""
        self.flow.project()
        if self._forced:
            self._set_force(0.0)  # of the present time: that of the last stage is another one
        self.velocity_changed()
        self._time_step.limit(self.rate)

    def velocity_changed(self) -> None:
        """Forget what is known of the former velocity. Local."""
        self.flow.invalidate()
        self.energy.forget()
        self.measures.forget()
        self._finite_step = min(self._finite_step, max(self.step - 1, 0))

    # ---- stepping ----------------------------------------------------------------------------------------------------
    def advance(self, targets: Sequence[float | None] | None = None) -> float:
        """Make one step, which is shorter if a target time is closer.

        :returns: its size.
        """
        self._time_step.update(self.step, self.rate)
        dt, after = next_step(self.time, self.dt, targets or [])
        if not after > self.time:
            self.check_finite()
            raise FlowError(
                f"the time step {dt:.3g} that the velocity allows at step {self.step} does not change the time "
                f"t = {self.time:g} any more: the velocity has grown without bound. To fix this, "
                f"{self._time_step.remedy}"
            )
        self.measures.before_step(self.time)
        prepare = partial(self._prepare, dt) if self._forced or self._ends.change else None
        self._set_coriolis(self.time + dt / 2)
        work = self._forces.work_of_step(self.step, dt, lambda: self.flow.step(dt, prepare))
        if self.device and self._velocity is not None:  # a script may read or change it at any time
            for component in range(3):
                self.flow.velocity(component)
        if work is not None:
            self.energy.gave(work)
        self.time = after
        return dt
