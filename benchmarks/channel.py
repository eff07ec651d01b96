"""A stretched channel beside a periodic box of as many points: seconds per RK3 step, and memory.

    python benchmarks/channel.py [rounds]

Flows take turns, a step at a time, on one rank, so that a busy machine slows all of them alike. Times are of the
processor; the table has the least and the median, and the ratio of the least to that of the box. Memory is what each
flow adds to a program of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from mpi4py import MPI

from tailrace import core as _core

POINTS = (128, 129, 84)
KINDS = ("box", "walls", "stretched", "one-sided", "scalar")
NAMES = {
    "box": "periodic box of 128 points in y", "walls": "channel, uniform", "stretched": "channel, stretched",
    "one-sided": "the same, one-sided at walls", "scalar": "channel, stretched, one scalar",
}  # fmt: skip


def make(kind: str) -> Any:
    """A flow with small random velocities, after one step."""
    nodes = (POINTS[0], POINTS[1] - (kind == "box"), POINTS[2])
    across = "periodic" if kind == "box" else "dirichlet"
    law = ("walls", 0.26) if kind not in ("box", "walls") else ()
    grid = _core.Grid(nodes, (8.0, 2.0, 4.0), ("periodic", across, "periodic"), *law)
    options = _core.FlowOptions(1 / 4200, "rk3", "aggressive")
    if kind != "box":
        options.set_flow_rate(0, 2 / 3)
    if kind == "one-sided":
        options.set_wall_divergence(kind)
    if kind == "scalar":
        none = (0.0, 0.0, 0.0)
        ends = (("given", "given"),) * 3
        options.add_scalar(_core.ScalarOptions(1 / 4200, grid.boundaries, ends, none, none, None, None))
    flow = _core.Flow64(grid, _core.ProcessGrid(MPI.COMM_SELF.py2f(), 1, 1), options, "alltoall")
    dice = np.random.default_rng(1)
    for component in range(3):
        for plane in flow.velocity(component):  # plane by plane: the memory of a whole field is not needed
            plane[...] = 0.1 * dice.random(plane.shape)
    flow.project()
    flow.step(1e-4, None)
    return flow


def _memory(kind: str) -> float:
    """Doubles for each point."""
    found = subprocess.run([sys.executable, __file__, "--memory", kind], capture_output=True, text=True, check=True)
    return float(found.stdout)


def _peak() -> int:
    """The most memory of this program so far, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def main() -> None:
    """Measure, and print a table."""
    if sys.argv[1:2] == ["--memory"]:
        before = _peak()
        make(sys.argv[2])
        print((_peak() - before) / 8 / np.prod(POINTS))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    flows = {kind: make(kind) for kind in KINDS}
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, flow in flows.items():
            start = time.process_time()
            flow.step(1e-4, None)
            times[kind].append(time.process_time() - start)
    print(
        f"{POINTS[0]} x {POINTS[1]} x {POINTS[2]} points, one rank, {rounds} rounds; seconds of the processor per step"
    )
    for kind, found in times.items():
        ratio = min(found) / min(times["box"])
        print(
            f"{NAMES[kind]:<32} least {min(found):.3f}  median {median(found):.3f}  ratio {ratio:.2f}  "
            f"{_memory(kind):.1f} doubles per point"
        )


main()
