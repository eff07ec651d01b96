"""One measured run of a case. Prints the seconds of each counted step, including its output, as JSON.

analysis_run.py CASE SKIP      the first SKIP steps are not counted
"""

from __future__ import annotations

import itertools
import json
import sys
import time

from mpi4py import MPI

import tailrace as tr


def main() -> None:
    path, skip = sys.argv[1], int(sys.argv[2])
    simulation = tr.Simulation(tr.load_case(path), overwrite=True)  # one round after another
    moments: list[float] = []
    advance = simulation.advance

    def timed(*arguments: object) -> float:
        moments.append(time.perf_counter())  # all work of the previous step is done here
        return advance(*arguments)  # type: ignore[arg-type]

    simulation.advance = timed  # type: ignore[method-assign]
    simulation.run()
    counted = moments[skip:]
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps([b - a for a, b in itertools.pairwise(counted)]))


main()
