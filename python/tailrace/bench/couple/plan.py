"""What a producer and its consumer do one after the other. Both follow the same plan, without talking about it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ..ranks.job import Job
from ..ranks.rounds import Rhythm
from ..records.records import Cell
from .setting import CoupleSetting, StreamWay


@dataclass(frozen=True)
class CoupleTask:
    """One stream.

    :param number: of the setting.
    :param order: the place in its round.
    """

    number: int
    setting: CoupleSetting
    way: StreamWay
    round: int
    order: int

    @property
    def name(self) -> str:
        """Of its files."""
        return f"couple.{self.number}.{self.round}.{self.order}"

    def cell(self, operation: str) -> Cell:
        """See `CoupleSetting.cell`."""
        return self.setting.cell(operation, self.way)


@dataclass(frozen=True)
class CouplePlan:
    """Settings, all with the same numbers of ranks, and ways."""

    settings: tuple[CoupleSetting, ...]
    ways: tuple[StreamWay, ...]
    rhythm: Rhythm

    @property
    def size(self) -> int:
        """The number of streams."""
        return len(self.settings) * len(self.ways) * (self.rhythm.rounds + 1)

    def tasks(self, job: Job) -> Iterator[CoupleTask]:
        """What is left to do of it. Local, and the same on all ranks of both sides."""
        ways = list(self.ways)
        for number, setting in enumerate(self.settings):
            shuffle = random.Random(self.rhythm.seed).shuffle
            for turn in range(self.rhythm.rounds + 1):
                shuffle(ways)
                for order, way in enumerate(ways):
                    if (number, way.name) not in job.failed and (number, turn, way.name) not in job.done:
                        yield CoupleTask(number, setting, way, turn, order)
