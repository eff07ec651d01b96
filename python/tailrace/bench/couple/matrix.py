"""The matrix of the benchmark of coupling: from the words of the command line to jobs. All is local."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..ranks.job import Job
from ..ranks.partition import check_fit, partition_of
from ..ranks.rounds import Rhythm
from .plan import CouplePlan
from .producer import ProducerProgram
from .setting import CoupleSetting, StreamVariant

POLICIES = ("block", "drop_newest", "drop_oldest", "adapt")


@dataclass(frozen=True)
class CoupleMatrix:
    """What is measured: every variant, for every split, size and cost, in every directory.

    :param splits: ranks of the producer and of the consumer.
    :param produce, consume: seconds of one core that a side computes for a step.
    """

    splits: tuple[tuple[int, int], ...]
    sizes: tuple[tuple[int, int, int], ...]
    queues: tuple[int, ...]
    policies: tuple[str, ...]
    produce: tuple[float, ...]
    consume: tuple[float, ...]
    variables: int
    steps: int
    precision: str
    rhythm: Rhythm

    def jobs(self, directories: dict[str, Path]) -> list[Job]:
        """The job of the producer of each split, which knows that of its consumer.

        :param directories: directories of this run alone, by the user's names.
        :raises ValueError: a rank would have no point of a size.
        """
        variants = tuple(StreamVariant(queue, policy) for policy in self.policies for queue in self.queues)
        jobs = []
        for producers, consumers in self.splits:
            settings = tuple(
                CoupleSetting(
                    name, producers, consumers, size, self.variables, self.steps, self.precision, produce, consume
                )
                for name in directories
                for size in self.sizes
                for produce in self.produce
                for consume in self.consume
            )
            for size in self.sizes:
                for ranks in (producers, consumers):
                    check_fit(size, partition_of("pencils", ranks))
            jobs.append(
                Job(producers, ProducerProgram(CouplePlan(settings, variants, self.rhythm), consumers), directories)
            )
        return jobs
