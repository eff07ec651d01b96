"""How long a case takes, from measured steps of the solver."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.bench.records.results import read_results
from tailrace.case.case import Case

from .request import BatchError, JobRequest, clock, margin, too_many

if TYPE_CHECKING:
    from tailrace.bench.records.records import Cell

_STAGES = {"euler": 1, "ab2": 1, "ab3": 1, "rk3": 3}  # right-hand sides of a step; the bench takes steps of rk3


@dataclass(frozen=True)
class Pace:
    """The work of one rank.

    :param rate: points of the grid that a rank takes through a step of RK3 in a second.
    :param words: what was measured.
    """

    rate: float
    words: str

    def step(self, case: Case, ranks: int) -> float:
        """Seconds of a step on so many ranks, if each is as fast as those that were measured."""
        per_point = _STAGES[case.time.scheme] / _STAGES["rk3"] * (1 + len(case.scalar) / 3)
        return math.prod(case.grid.points) * per_point / (self.rate * ranks)

    def nodes(self, case: Case, ranks_on: Callable[[int], int], seconds: int) -> int:
        """The least number of nodes on which the whole case fits into a job of so many seconds.

        :param ranks_on: the ranks of the simulation on a number of nodes.
        :raises BatchError: the number of steps is not known, or no number of nodes is enough.
        """
        steps = case.time.total_steps
        if steps is None:
            raise BatchError('with dt = "auto" the number of steps is not known before the run; give --nodes')
        for nodes in count(1):
            ranks = ranks_on(nodes)
            if too_many(case, ranks):
                break
            if ranks > 0 and steps * self.step(case, ranks) <= seconds - margin(case, nodes):
                return nodes
        raise BatchError(
            f"{steps} steps do not fit into {clock(seconds)} on any number of nodes; give --nodes: the job then goes "
            "on in another one"
        )

    def told(self, case: Case, job: JobRequest) -> str:
        """How long the case takes in such jobs, in a sentence."""
        step, steps = self.step(case, job.ranks), case.time.total_steps
        said = f"a step takes about {step:.3g} s on {job.ranks} ranks, if each is as fast as one of {self.words}"
        if steps is None:
            return said
        jobs = math.ceil(steps * step / (job.seconds - margin(case, job.nodes)))
        return f"{said}; {steps} steps take {clock(round(steps * step))}, in {jobs} job(s) of {clock(job.seconds)}"


def pace_of(files: Sequence[Path], case: Case) -> Pace:
    """The pace from files of results of `tailrace bench solver`: of the most ranks, and the flow most like the case.

    :raises ResultError: a file is no file of results.
    :raises BatchError: none has a step of the solver in this precision.
    """
    precision = "float64" if case.numerics.precision == "double" else "float32"
    device, on_gpu = case.numerics.device, case.numerics.device == "gpu"
    rounds: dict[Cell, list[float]] = defaultdict(list)
    for one in read_results(*files).measurements:
        cell = one.cell
        told = (cell.bench, cell.operation, cell.role, cell.precision, cell.name == "gpu")
        if told == ("solver", "step", "way", precision, on_gpu) and one.round:
            rounds[cell].append(one.seconds)
    if not rounds:
        raise BatchError(
            f"{', '.join(map(str, files))}: expected steps of the solver in {precision} on the {device}, found none; "
            f"measure them with tailrace bench solver --precision {precision} --device {device}"
        )
    wanted = _flow(case)
    best = max(rounds, key=lambda cell: (cell.source.partition(",")[0] == wanted, cell.ranks, math.prod(cell.shape)))
    scalars = 1 + (best.variables - 3) / 3
    rate = math.prod(best.shape) * scalars / (statistics.median(rounds[best]) * best.ranks)
    return Pace(rate, f"{best.words()}: {rate:.3g} points a second")


def _flow(case: Case) -> str:
    """The flow of the bench that has the ends of the case."""
    ends = {end for pair in case.grid.boundaries for end in ([pair] if isinstance(pair, str) else pair)}
    if ends == {"periodic"}:
        return "periodic"
    if ends <= {"periodic", "free-slip"}:
        return "free-slip"
    return "channel" if case.grid.stretching is None else "stretched"
