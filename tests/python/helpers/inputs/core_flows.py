"""Flows made by the compiled core alone, on one rank, with fields that are functions of the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from tailrace import core as _core

Array = NDArray[np.float64]
PERIODIC = ("periodic", "periodic", "periodic")
CHANNEL = ("periodic", "dirichlet", "periodic")


def scalar(
    diffusivity: float,
    boundaries: Sequence[str] = PERIODIC,
    ends: Sequence[Sequence[str]] = (("given", "given"),) * 3,
    *,
    buoyancy: Sequence[float] = (0, 0, 0),
    settling: Sequence[float] = (0, 0, 0),
    least: float | None = None,
    most: float | None = None,
) -> _core.ScalarOptions:
    """A scalar of a flow."""
    given = [list(pair) for pair in ends]
    return _core.ScalarOptions(diffusivity, tuple(boundaries), given, tuple(buoyancy), tuple(settling), least, most)


def name_of_device() -> str:
    """The device of this process; empty where it has none."""
    try:
        return _core.device_name()
    except _core.InputError:
        return ""


class CoreFlow:
    """A flow on one rank: `x`, `y` and `z` are its coordinates, shaped so that they broadcast to (nz, ny, nx)."""

    def __init__(
        self,
        nodes: tuple[int, int, int],
        lengths: tuple[float, float, float],
        boundaries: Sequence[str] = PERIODIC,
        viscosity: float = 0.01,
        *,
        stretching: tuple[str, float] = ("", 0.0),
        scheme: str = "rk3",
        scalars: Sequence[_core.ScalarOptions] = (),
        single: bool = False,
        on_device: bool = False,
        **options: Any,
    ) -> None:
        self.grid = _core.Grid(nodes, lengths, tuple(boundaries), *stretching)
        chosen = _core.FlowOptions(viscosity, scheme, "aggressive")
        for each in scalars:
            chosen.add_scalar(each)
        for name, value in options.items():
            if name == "flow_rate":
                chosen.set_flow_rate(*value)
            elif name == "wall_divergence":
                chosen.set_wall_divergence(value)
            elif name == "hyperviscosity":
                for d in range(3):
                    chosen.set_hyperviscosity(d, *value)
            else:
                setattr(chosen, name, value)
        processes = _core.ProcessGrid(MPI.COMM_SELF.py2f(), 1, 1)
        kind = _core.Flow32 if single else _core.Flow64
        self.core = kind(self.grid, processes, chosen, "alltoall")
        if on_device:
            self.core.accelerate()
        self.x = np.array(self.grid.coordinates(0))[None, None, :]
        self.y = np.array(self.grid.coordinates(1))[None, :, None]
        self.z = np.array(self.grid.coordinates(2))[:, None, None]
        self.time = 0.0

    def velocity(self, component: int) -> Array:
        return self.core.velocity(component)

    def set(self, *components: Any) -> None:
        """The velocity, by arrays that broadcast to the grid."""
        for i, values in enumerate(components):
            self.core.velocity(i)[...] = values
        self.core.invalidate()

    def run(self, steps: int, dt: float, prepare: Callable[[float, float], None] | None = None) -> None:
        """Steps; `prepare` is called before each stage with the times of its start and end since the first step."""
        for _ in range(steps):
            start = self.time
            if prepare is None:
                self.core.step(dt, None)
            else:
                self.core.step(dt, lambda a, b, t=start: prepare(t + a, t + b))
            self.time += dt

    def error(self, component: int, exact: Any) -> float:
        return float(np.abs(self.core.velocity(component) - exact).max())


def order(coarse: float, fine: float, ratio: float = 2) -> float:
    """The order of accuracy that follows from two errors where the step becomes smaller by `ratio`."""
    return log2(coarse / fine) / log2(ratio)
