"""Variants that take turns in rounds, and the events of each: begin, records, failure, end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tailrace.core import InputError, IoError

from ..options import RoundOptions
from ..records.records import Cell, Failure, Measurement
from .events import Begin, Done, Emit, Note
from .job import Job
from .timing import Timing


class Outcome:
    """The state of a variant in a round: the cell that is being measured, and whether all is right so far."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.right = cell, True


class RoundRobin:
    """The rounds of one setting of a job. All methods are local; ranks that measure together call the same ones.

    :param number: the number of the setting in the job.
    :param emit: gets the events, on rank 0: records, and a `Begin` before each of them.
    :param directory: a temporary directory, removed from the messages of failures.
    """

    def __init__(self, job: Job, number: int, emit: Emit, directory: Path | None = None) -> None:
        self._job, self._number, self._emit, self._directory = job, number, emit, directory
        self._variant = ""
        self.failed = {name for setting, name in job.failed if setting == number}  # variants that are not tried again
        self.round = self.order = 0

    def run(self, variants: Mapping[str, Callable[[], bool]], rhythm: RoundOptions, first: int = 0) -> None:
        """Run all rounds of all variants. A variant is a function that returns False if it has failed.

        :param rhythm: its seed gives the order in a round, which is the same on all ranks.
        :param first: the number of the first round; round 0 does not count.
        """
        names = list(variants)
        shuffle = random.Random(rhythm.seed).shuffle
        for number in range(first, rhythm.rounds + 1):
            shuffle(names)  # the data of one variant may still be on the way to the disk while the next one writes
            for order, name in enumerate(names):
                if name in self.failed or (self._number, number, name) in self._job.done:
                    continue
                self.round, self.order, self._variant = number, order, name
                if not variants[name]():
                    self.failed.add(name)
                self._emit(Done(self._number, number, name))

    def begin(self, cell: Cell, outcome: Outcome, variant: str = "") -> None:
        """Begin to measure a cell: from now on every failure belongs to it.

        :param variant: the variant of the cell, if it is not the one that has its turn.
        """
        outcome.cell = cell
        self._emit(Begin(cell, self.round, self._number, variant or self._variant))

    def keep(
        self,
        cell: Cell,
        timing: Timing,
        size: int,
        *,
        disturbed: str = "",
        counts: Mapping[str, float] | None = None,
        verified: bool | None = None,
        stacks: Mapping[str, float] | None = None,
    ) -> None:
        """Emit the record of a round that counts; for round 0, only stacks or wrong values.

        :param size: bytes of the values on all ranks.
        """
        if self.round == 0 and not stacks and verified is not False:
            return
        record = Measurement(
            cell, self.round, timing.seconds, size, self.order, timing.phases, timing.per_rank, dict(counts or {}),
            dict(stacks or {}), verified, disturbed,
        )  # fmt: skip
        self._emit(record)

    def note(self, text: str) -> None:
        """Emit a message for the user that is not a failure of a cell."""
        self._emit(Note(text))

    @contextmanager
    def failures(self, cell: Cell) -> Iterator[Outcome]:
        """Around a measurement: an error that all ranks have becomes a failure of the current cell."""
        outcome = Outcome(cell)
        try:
            yield outcome
        except (InputError, IoError, OSError, MemoryError) as error:
            outcome.right = False
            text = str(error) or type(error).__name__
            if self._directory is not None:
                text = text.replace(str(self._directory), "...")
            self._emit(Failure(outcome.cell, self.round, text))
