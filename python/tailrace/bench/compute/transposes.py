"""The benchmark of transposes: how the data of a field move between ranks, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tailrace.core import can_share_memory, tune_process_grid
from tailrace.grids import Triple

from ..options import RoundOptions
from ..ranks.events import Emit
from ..ranks.job import Job
from ..ranks.round_robin import RoundRobin
from ..ranks.timing import Timing
from ..records.records import Cell
from .rounds import TRANSPOSES, ComputeRounds, ComputeSetting, Timed, Variants

if TYPE_CHECKING:
    from mpi4py import MPI

METHODS = tuple(word for word in TRANSPOSES if word != "auto")
_MOVES = 4  # moves of a round: from x to y to z pencils and back


@dataclass(frozen=True)
class TransposeProgram:
    """The benchmark of transposes on one number of ranks."""

    settings: tuple[ComputeSetting, ...]
    methods: tuple[str, ...]
    rhythm: RoundOptions

    @property
    def tasks(self) -> int:
        """The number of tasks of all settings; see `job.RankProgram`."""
        grids = sum(len(process_grids(setting.ranks, setting.shape)) for setting in self.settings)
        return (self.rhythm.rounds + 1) * (grids * len(self.methods) + 2 * len(self.settings))

    def run(self, comm: MPI.Comm, job: Job, emit: Emit) -> None:
        """Measure all settings. Collective."""
        for number, setting in enumerate(self.settings):
            rounds = TransposeRounds(comm, setting, RoundRobin(job, number, emit))
            rounds.round_robin.run(rounds.variants(self.methods), self.rhythm)


class TransposeRounds(ComputeRounds):
    """The rounds of one setting."""

    def variants(self, methods: tuple[str, ...]) -> Variants:
        """Every method on every process grid, and the limits. Collective."""
        found = self.memory_limits()
        for rows, cols in process_grids(self.setting.ranks, self.setting.shape):
            for method in methods:
                if method == "shared" and not self._share(cols):
                    self.round_robin.note(f"shared on {rows} x {cols} ranks: a row is on several nodes; left out")
                    continue
                name = f"{method},cols={cols},rows={rows}"
                cell = self.setting.cell("transpose", name, parameters={"rows": rows, "cols": cols, "method": method})
                size = _MOVES * self.setting.points * self.setting.item
                found[name] = partial(self.measure, cell, partial(self._round, cell, rows, cols, method), size)
        return found

    def _share(self, cols: int) -> bool:
        """Whether the ranks of each row of the process grid can map each other's memory. Collective."""
        row = self.comm.Split(self.comm.rank // cols, self.comm.rank)
        try:
            return all(self.comm.allgather(can_share_memory(row.py2f())))
        finally:
            row.Free()

    def _round(self, cell: Cell, rows: int, cols: int, method: str) -> Timed:
        """The measurement by which a run chooses its method: the faster of two rounds, after one that makes plans."""
        [(_, _, _, seconds)] = tune_process_grid(self.comm.py2f(), cell.shape, rows, cols, method)
        share = (rows - 1) / rows + (0 if method == "shared" else (cols - 1) / cols)
        moved = _MOVES / 2 * share * self.setting.points * self.setting.item
        return Timing(seconds, {}, {}), {"between_ranks": moved}


def process_grids(ranks: int, shape: Triple) -> list[tuple[int, int]]:
    """The process grids (rows, columns) in which every rank has points. Rows split x and y, columns y and z."""
    x, y, z = shape
    pairs = [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]
    return [(rows, cols) for rows, cols in pairs if rows <= min(x, y) and cols <= min(y, z)]
