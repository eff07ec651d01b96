"""The plan of a producer and its consumer: the streams in their order. Both sides follow it without communication."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ..options import RoundOptions
from ..ranks.job import Job
from ..records.records import Cell
from .setting import CoupleSetting, StreamVariant


@dataclass(frozen=True)
class CoupleTask:
    """One stream. `number`: the number of the setting. `order`: the place of the stream in its round."""

    number: int
    setting: CoupleSetting
    variant: StreamVariant
    round: int
    order: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"couple.{self.number}.{self.round}.{self.order}"

    def cell(self, operation: str) -> Cell:
        """See `CoupleSetting.cell`."""
        return self.setting.cell(operation, self.variant)


@dataclass(frozen=True)
class CouplePlan:
    """Settings, all with the same numbers of ranks, and variants."""

    settings: tuple[CoupleSetting, ...]
    variants: tuple[StreamVariant, ...]
    rhythm: RoundOptions

    @property
    def size(self) -> int:
        """The number of streams."""
        return len(self.settings) * len(self.variants) * (self.rhythm.rounds + 1)

    def tasks(self, job: Job) -> Iterator[CoupleTask]:
        """The streams that a job has not done yet. Local, and the same on all ranks of both sides."""
        variants = list(self.variants)
        for number, setting in enumerate(self.settings):
            shuffle = random.Random(self.rhythm.seed).shuffle
            for turn in range(self.rhythm.rounds + 1):
                shuffle(variants)
                for order, variant in enumerate(variants):
                    if (number, variant.name) not in job.failed and (number, turn, variant.name) not in job.done:
                        yield CoupleTask(number, setting, variant, turn, order)
