"""One measured run of the solver: N steps without output. Rank 0 prints the figures as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from mpi4py import MPI

from tailrace import _core
from tailrace.flow import initial as flows


def bandwidth(points: int) -> float:
    """Bytes per second when two arrays are added into a third on this rank; the best of five attempts."""
    a, b, c = (np.ones(points) for _ in range(3))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.add(a, b, out=c)
        best = min(best, time.perf_counter() - start)
    return 3 * 8 * points / best


def main() -> None:
    kind, nodes, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    comm = MPI.COMM_WORLD
    length = (2 if kind == "periodic" else 1) * np.pi
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grid = _core.Grid((nodes,) * 3, (length,) * 3, (kind,) * 3)
    rows, cols, method, _ = _core.tune_process_grid(comm.py2f(), grid.nodes, 0, 0, "auto")[0]
    processes = _core.ProcessGrid(comm.py2f(), rows, cols)
    flow = _core.Flow64(grid, processes, _core.FlowOptions(1 / 1600, "rk3", "aggressive"), method)
    initial = flows.evaluate(flows.taylor_green(grid), grid, flow.box, "taylor-green", comm)
    for i, component in enumerate(initial):
        flow.velocity(i)[...] = component
    del initial, component
    flow.step(0.005, None)  # this step is not timed: it touches the memory pages and creates the FFT plans
    seconds, phases = [], dict(flow.times)
    for _ in range(steps):
        comm.barrier()
        start = time.perf_counter()
        flow.step(0.005, None)
        seconds.append(comm.allreduce(time.perf_counter() - start, op=MPI.MAX))
    phases = {name: (value - phases[name]) / steps for name, value in flow.times.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = comm.allreduce((peak - before) * 1024)
    divergence = flow.max_divergence()
    speed = comm.allreduce(bandwidth(4 * 10**6))
    if comm.rank == 0:
        result = {
            "seconds": seconds,
            "phases": phases,
            "doubles_per_point": memory / 8 / nodes**3,
            "bandwidth": speed,
            "grid": f"{rows} x {cols} {method}",
            "divergence": divergence * length,
        }
        print(json.dumps(result))


main()
