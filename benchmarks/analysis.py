"""Analysis from Python beside the kernels in C++, and the time that it costs inside and beside a simulation.

    python benchmarks/analysis.py [--repetitions N] [--only operators,inside,beside,adapt] [--nodes N]

`tailrace bench analysis` measures the same operators over ranks and sizes. Here the gradients of four fields are held
against the kernels in C++, and against 10.8 s of CPU time, which Py4Incompact3D needs for three derivatives of a 128^3
field on a similar machine. Simulation and analysis have one rank each. Runs with and without analysis alternate. Each
figure is min / median / max.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from measure import names_of, repeat, result_of, spread, start_ranks

import tailrace as tr
from tailrace.bench.compute.flow import FlowKind, MadeFlow
from tailrace.bench.compute.operators import OPERATIONS, enstrophy, waves
from tailrace.bench.compute.rounds import ComputeSetting

REFERENCE = 10.8  # CPU seconds of the reference for three derivatives of one field
KERNELS = Path(__file__).parents[1] / "build/python/benchmarks/gradient"
RUN = str(Path(__file__).with_name("analysis_run.py"))
CASE = """
[case]
reynolds = 1600
[grid]
points = [{n}, {n}, {n}]
lengths = ["2*pi", "2*pi", "2*pi"]
boundaries = ["periodic", "periodic", "periodic"]
[time]
dt = 0.005
steps = {steps}
[diagnostics]
every = 1000000
"""
STREAM = """
[[output]]
name = "beside"
fields = ["ux", "uy", "uz"]
every = {every}
engine = "sst"
path = "stream"
parameters = {{ wait_for_reader = 60, policy = "{policy}" }}
"""
SKIP = 5  # number of steps at the start of a run that are not counted
INSIDE = """
[[analysis]]
script = "enstrophy"
every = {every}
"""
SLOW = """
import time
import tailrace as tr
def analyse(step, *, seconds=0.0):
    value = 0.5 * tr.mean_square(tr.curl(step.vector("u")))
    time.sleep(seconds)
    return {"enstrophy": value}
"""


def cpu(work: object) -> float:
    start = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - start


# ---- operators -------------------------------------------------------------------------------------------------------
def operators(n: int, repetitions: int) -> None:
    fields = waves((n, n, n))
    work = lambda: OPERATIONS["gradients"].work(fields)  # noqa: E731
    cpu(work)
    kernels, ours, shares = [], [], []
    for _ in range(repetitions):
        done = subprocess.run([KERNELS, str(n), "5"], capture_output=True, text=True, check=True)
        kernels.append(statistics.median(map(float, done.stdout.strip("[]\n").split(","))))
        ours.append(statistics.median(repeat(5, lambda: cpu(work))))
        shares.append(kernels[-1] / ours[-1])
    print(f"gradients of four {n}^3 fields, s of CPU:       {spread(ours, '.4f')}")
    print(f"  bare kernels, s of CPU:                   {spread(kernels, '.4f')}")
    print(f"  share of the bare kernels' rate:          {spread(shares, '.2f')}")
    if n == 128:
        print(f"  times Py4Incompact3D's rate:              {spread([4 * REFERENCE / s for s in ours], '.0f')}")


# ---- beside a simulation ---------------------------------------------------------------------------------------------
def balance(n: int, repetitions: int) -> None:
    """Compare the time of the enstrophy with the time of a solver step. Both alternate on the same core."""
    from mpi4py import MPI

    flow = MadeFlow(FlowKind("periodic"), ComputeSetting("solver", 1, (n, n, n)), MPI.COMM_SELF, "alltoall")
    ops = tr.Operators((n, n, n), (2 * np.pi,) * 3, ("periodic",) * 3)
    velocity = [tr.Field(flow.core.velocity(i), ops) for i in range(3)]
    enstrophy(velocity)
    pairs = repeat(5 * repetitions, lambda: (cpu(flow.step), cpu(lambda: enstrophy(velocity))))
    print(f"enstrophy of {n}^3 on one core")
    print(f"  a solver step, s of CPU:                  {spread([a for a, _ in pairs])}")
    print(f"  enstrophy, s of CPU:                      {spread([b for _, b in pairs], '.4f')}")
    print(f"  step / enstrophy:                         {spread([a / b for a, b in pairs], '.1f')}")


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def run(case: str, analysis: list[str] | None = None) -> tuple[list[float], list[str]]:
    """Run a case. Returns the seconds of each step, and the output of the analysis beside it."""
    import os

    before = Path.cwd()
    with folder() as place:
        os.chdir(place)
        try:
            Path("case.toml").write_text(case)
            Path("slow.py").write_text(SLOW)
            with Path("simulation.txt").open("w") as errors:
                reader = None
                if analysis is not None:
                    command = [sys.executable, "-m", "tailrace.cli", "analyse", *analysis, "sst:stream"]
                    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                result = result_of(start_ranks(1, RUN, "case.toml", str(SKIP), errors=errors))
            said = reader.communicate(timeout=600)[0].splitlines() if reader else []
        finally:
            os.chdir(before)
    return result, said


def within(taken: list[float], every: int) -> list[float]:
    """The extra time of a step with an analysis, relative to the steps without an analysis that follow in the same run.
    An analysis beside the run may last until the second step after its own begins, so only later steps count.
    """
    shares = []
    first = -(SKIP + 1) % every  # the steps of a run are numbered from 1
    for start in range(first, len(taken) - every + 1, every):
        cycle = taken[start : start + every]
        without = statistics.mean(cycle[min(2, every - 1) :])
        shares.append(sum(cycle) / without - every)
    return shares


def slowdowns(n: int, repetitions: int, steps: int) -> None:
    """Compare runs with and without an analysis in turn, and steps with and without an analysis within one run."""
    kinds = {
        "inside, every step": (INSIDE.format(every=1), None),
        "beside, every step": (STREAM.format(every=1, policy="block"), ["enstrophy"]),
        "beside, every fifth step": (STREAM.format(every=5, policy="block"), ["enstrophy"]),
    }
    bare_case = CASE.format(n=n, steps=steps)
    bare, found, taken, said = [], {name: [] for name in kinds}, {}, {}
    inside, beside = [], []
    for _ in range(repetitions):
        bare.append(statistics.mean(run(bare_case)[0]))
        for name, (more, analysis) in kinds.items():
            taken[name], said[name] = run(bare_case + more, analysis)
            found[name].append(statistics.mean(taken[name]) / bare[-1] - 1)
        beside += within(taken["beside, every fifth step"], 5)
        inside += within(run(bare_case + INSIDE.format(every=2))[0], 2)
    print(f"a run of {n}^3 on one rank, s per step:        {spread(bare)}")
    for name, shares in found.items():
        print(f"  {name + ':':42}{spread([100 * share for share in shares], '.1f')} % slower")
        for line in said[name]:
            if line.startswith(("simulation", "analysis (", "the ", "neither")):
                print(f"      {line}")
    print("a step with an analysis against those without of the same run, % of a step (quartiles)")
    for name, shares in (("inside", inside), ("beside", beside)):
        low, middle, high = (100 * part for part in statistics.quantiles(shares, n=4))
        print(f"  {name + ':':42}{low:.1f} / {middle:.1f} / {high:.1f}")


def adapt(n: int, repetitions: int, steps: int) -> None:
    """Run an analysis that sleeps as long as ten steps take, with the policy `adapt`."""
    bare_case = CASE.format(n=n, steps=steps)
    shares = []
    for _ in range(repetitions):
        bare = statistics.mean(run(bare_case)[0])
        case = bare_case + STREAM.format(every=1, policy="adapt")
        taken, said = run(case, ["slow.py", f"--set=seconds={10 * bare}"])
        shares.append(statistics.mean(taken) / bare - 1)
    print("adapt, share 2 %, an analysis that takes ten steps")
    print(f"  against the bare run:                     {spread([100 * share for share in shares], '.1f')} % slower")
    print("      " + "\n      ".join(said))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--steps", type=int, default=45)
    sections = ["operators", "inside", "beside", "adapt"]
    parser.add_argument("--only", type=names_of(sections), default=sections)
    options = parser.parse_args()
    wanted = options.only
    if "operators" in wanted:
        operators(options.nodes, options.repetitions)
    if "inside" in wanted:
        balance(options.nodes, options.repetitions)
    if "beside" in wanted:
        slowdowns(options.nodes, options.repetitions, options.steps)
    if "adapt" in wanted:
        adapt(options.nodes, min(options.repetitions, 3), options.steps)


if __name__ == "__main__":
    main()
