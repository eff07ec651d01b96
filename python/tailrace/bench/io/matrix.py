"""The matrix of the benchmark of input and output: from the words of the command line to jobs. All is local."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..ranks.eviction import check_drop
from ..ranks.job import Job
from ..ranks.partition import partition_of, shapes_of
from ..records.variants import USUAL, variant_of
from .rounds import READS, WRITES, IoProgram
from .setting import IoSetting
from .stored_values import shape_of

Size = tuple[int, int, int]  # in x, y, z


@dataclass(frozen=True)
class Matrix:
    """What is measured: every variant, on every number of ranks, of every size, in every directory."""

    ranks: tuple[int, ...]
    whole: tuple[Size, ...] = ()  # sizes that all numbers of ranks share: strong scaling
    each: tuple[Size, ...] = ()  # sizes of a rank's part: weak scaling
    engines: tuple[str, ...] = USUAL
    decomposition: str = "pencils"
    halo: int = 0
    variables: int = 1
    steps: int = 1
    precision: str = "float64"
    writes: tuple[str, ...] = WRITES
    reads: tuple[str, ...] = READS
    rounds: int = 5
    seed: int = 0
    drop_caches: bool = False
    source: str = ""

    def jobs(self, directories: dict[str, Path], nodes: int = 1) -> list[Job]:
        """One job for each number of ranks.

        :param directories: directories of this run alone, by the user's names.
        :raises ValueError: the numbers do not fit each other, or the caches cannot be dropped.
        :raises InputError: the source has no values.
        """
        if self.drop_caches:
            check_drop()
        variants = tuple(variant_of(text) for text in self.engines)
        jobs = []
        for ranks in self.ranks:
            partition = partition_of(self.decomposition, ranks)
            settings = [
                IoSetting(
                    name, ranks, min(nodes, ranks), partition, shape, self.halo, self.variables, self.steps,
                    self.precision, self.source,
                )
                for name in directories
                for shape in shapes_of(self.whole, self.each, partition)
            ]  # fmt: skip
            program = IoProgram(
                tuple(settings), variants, self.writes, self.reads, self.rounds, self.seed, self.drop_caches
            )  # fmt: skip
            jobs.append(Job(ranks, program, directories))
        return jobs


QUICK_SIZES: tuple[tuple[Size, ...], tuple[Size, ...]] = (((128, 128, 128),), ((128, 128, 64),))  # whole, each


def of_file(matrix: Matrix, source: str, variables: int | None) -> Matrix:
    """The matrix with the size, the type and the number of variables of a file.

    :param variables: at most so many; None for all.
    :raises InputError: the file has no values.
    """
    shape, names, dtype = shape_of(source)
    count = len(names) if variables is None else min(variables, len(names))
    return replace(matrix, whole=(shape,), each=(), variables=count, precision=dtype, source=source)
