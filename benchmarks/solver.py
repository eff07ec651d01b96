"""Speed and memory of the flow solver: seconds per RK3 step, the time of its parts, and the speed-up by a second rank.

    python benchmarks/solver.py [repetitions]

Each figure is min / median / max over the repetitions. Speed-ups are ratios of runs that alternate. "two independent"
starts two one-rank runs at the same time. This is the best that two ranks can reach on this machine.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from measure import repeat, result_of, spread, start_ranks

RUN = str(Path(__file__).with_name("solver_run.py"))
STEPS = 8


def median_step(result: Any) -> float:
    return statistics.median(result["seconds"])


def one(kind: str, nodes: int, ranks: int) -> Any:
    return result_of(start_ranks(ranks, RUN, kind, str(nodes), str(STEPS)))


def two_independent(kind: str, nodes: int) -> float:
    """Seconds per step of each of two one-rank runs that share the machine."""
    runs = [start_ranks(1, RUN, kind, str(nodes), str(STEPS)) for _ in range(2)]
    return statistics.mean(median_step(result_of(run)) for run in runs)


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for kind, nodes in (("periodic", 128), ("free-slip", 129)):
        rounds = repeat(repetitions, lambda k=kind, n=nodes: (one(k, n, 1), one(k, n, 2), two_independent(k, n)))
        single, double, independent = zip(*rounds, strict=True)
        ones, twos = [median_step(r) for r in single], [median_step(r) for r in double]
        print(f"{nodes}^3 {kind}, RK3, double, no output")
        print(f"  one rank, s per step:        {spread(ones)}")
        for name in single[0]["phases"]:
            print(f"    {name:12}               {spread([r['phases'][name] for r in single])}")
        print(f"  memory, doubles per point:   {spread([r['doubles_per_point'] for r in single], '.1f')}")
        print(f"  bandwidth (a + b -> c), GB/s: {spread([r['bandwidth'] / 1e9 for r in single], '.1f')}")
        print(f"  max |div u| L / U:           {max(r['divergence'] for r in single + double):.1e}")
        print(f"  two ranks, s per step:       {spread(twos)}   ({double[0]['grid']})")
        print(f"    of it transposes, waiting  {spread([r['phases']['transposes'] for r in double])}")
        ratios = [a / b for a, b in zip(ones, twos, strict=True)]
        print(f"  two ranks over one:          {spread(ratios, '.2f')}")
        limits = [2 * a / i for a, i in zip(ones, independent, strict=True)]
        print(f"  two independent runs:        {spread(limits, '.2f')}")
        shares = [a / b for a, b in zip(ratios, limits, strict=True)]
        print(f"  share of that reached:       {spread(shares, '.2f')}")


main()
