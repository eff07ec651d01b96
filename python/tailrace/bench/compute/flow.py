"""The flows whose steps are measured: boxes with a vortex, and channels."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.core import Flow32, Flow64, FlowOptions, Grid, InputError, ProcessGrid, ScalarOptions, tune_process_grid
from tailrace.flow.initial.ready import taylor_green
from tailrace.flow.initial.values import evaluate
from tailrace.grids import Triple, triple
from tailrace.parallel import agree

from ..output.peak import Peak

if TYPE_CHECKING:
    from mpi4py import MPI

    from .rounds import ComputeSetting

BOXES = ("periodic", "free-slip")
CHANNELS = ("channel", "stretched")
GPU = "gpu"  # the way of computing steps on devices
_CFL = 0.05  # the velocity is 1 at most: small enough for the nodes at the walls of a stretched channel


@dataclass(frozen=True)
class FlowKind:
    """A flow without its size.

    :param name: periodic and free-slip, Taylor-Green vortices; channel and stretched, random motion between walls.
    :param scalars: the number of scalars that the flow carries; for channels only.
    """

    name: str
    scalars: int = 0

    @property
    def boundaries(self) -> tuple[str, str, str]:
        """The boundaries in x, y and z."""
        return ("periodic", "dirichlet", "periodic") if self.name in CHANNELS else (self.name,) * 3

    def nodes(self, points: Triple) -> Triple:
        """The nodes for `points`: one more in a direction with ends, which is fastest for powers of two."""
        return triple([n + (kind != "periodic") for n, kind in zip(points, self.boundaries, strict=True)])

    @property
    def word(self) -> str:
        """The word of this flow, as `flow_of` reads it."""
        return f"{self.name},scalars={self.scalars}" if self.scalars else self.name

    def grid(self, nodes: Triple) -> Grid:
        """The grid of the flow with these nodes."""
        if self.name in CHANNELS:
            law = ("walls", 0.26) if self.name == "stretched" else ()
            return Grid(nodes, (8.0, 2.0, 4.0), self.boundaries, *law)
        length = 2 * pi if self.name == "periodic" else pi
        return Grid(nodes, (length,) * 3, self.boundaries)

    def options(self, grid: Grid) -> FlowOptions:
        """The options of the compiled flow."""
        if self.name in BOXES:
            return FlowOptions(1 / 1600, "rk3", "aggressive")
        options = FlowOptions(1 / 4200, "rk3", "aggressive")
        options.set_flow_rate(0, 2 / 3)
        none, ends = (0.0, 0.0, 0.0), (("given", "given"),) * 3
        for _ in range(self.scalars):
            options.add_scalar(ScalarOptions(1 / 4200, grid.boundaries, ends, none, none, None, None))
        return options


def flow_of(text: str) -> FlowKind:
    """A flow from a word such as "periodic" or "stretched,scalars=2". Raises ValueError if there is no such flow."""
    name, sign, rest = text.partition(",")
    key, _, number = rest.partition("=")
    if name not in (*BOXES, *CHANNELS) or (sign and (key != "scalars" or not number.isdigit() or name in BOXES)):
        raise ValueError(
            f"--flow {text}: expected {', '.join(BOXES)}, {', '.join(CHANNELS)}, or a channel with scalars "
            "as stretched,scalars=2"
        )
    return FlowKind(name, int(number or 0))


class MadeFlow:
    """A flow that is ready to step. Its first step is done, which touches all memory and makes the plans. Collective.

    :param way: how data move between ranks; "auto": the fastest variant, measured; `GPU`: a device computes.
    """

    def __init__(self, kind: FlowKind, setting: ComputeSetting, comm: MPI.Comm, way: str) -> None:
        self._setting, self._comm = setting, comm
        with Peak() as peak:
            self._make(kind, way)
            self.step()
            comm.barrier()  # a rank shares memory with others that touch it later
        size = comm.allreduce(float(peak.private + peak.part))
        self._counts = {
            "numbers_per_point": size / setting.item / prod(setting.shape),
            "rows": float(self._rows),
            "cols": float(self._cols),
        }

    def _make(self, kind: FlowKind, way: str) -> None:
        comm = self._comm
        grid = kind.grid(self._setting.shape)
        rows, transpose = (1, "alltoall") if way == GPU else (0, way)
        self._rows, self._cols, method, _ = tune_process_grid(comm.py2f(), grid.nodes, rows, 0, transpose)[0]
        make = Flow32 if self._setting.precision == "float32" else Flow64
        processes = ProcessGrid(comm.py2f(), self._rows, self._cols)
        self.core: Any = make(grid, processes, kind.options(grid), method)
        if way == GPU:
            agree(comm, self.core.accelerate)
        self._dt = _CFL * min(min(grid.distances(d)) for d in range(3))
        self._length = grid.lengths[0]
        if kind.name in BOXES:
            values = evaluate(taylor_green(grid), grid, self.core.box, "taylor-green", comm)
            for component in range(3):
                self.core.velocity(component)[...] = values[component]
            return
        dice = np.random.default_rng(comm.rank)
        for component in range(3):
            for plane in self.core.velocity(component):  # plane by plane, which saves the memory of another field
                plane[...] = 0.1 * dice.random(plane.shape)
        self.core.project()

    def step(self) -> dict[str, float]:
        """Make one step; returns the seconds of this rank by phase. No phase contains another. Collective."""
        before = self.core.times
        self.core.step(self._dt, None)
        return {name: seconds - before[name] for name, seconds in self.core.times.items()}

    def counts(self) -> dict[str, float]:
        """Memory, process grid, and the largest divergence times the length of the box. Collective.

        :raises InputError: the flow is not finite any more.
        """
        divergence = self.core.max_divergence() * self._length
        if not isfinite(divergence):
            raise InputError(
                f"the flow is not finite after {self.core.steps} steps of {self._dt:.3g}; use fewer rounds or points"
            )
        return {**self._counts, "divergence": divergence}
