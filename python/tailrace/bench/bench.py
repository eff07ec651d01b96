"""What a benchmark is: a command of `tailrace bench` with its options, and the jobs that it measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .options import ResultOptions

if TYPE_CHECKING:
    from .ranks.job import Job
    from .records.records import Measurement


class Bench(ABC):
    """A benchmark, as its command has chosen it.

    A derived class is a frozen dataclass. Its docstring is the help of the command. Its fields are the options: each is
    `Annotated` with a `typer.Option`, or is a group of options (see `options`). Each has a default. The module of
    the class is read before a command is known: what it does not need for the options, `jobs` imports.
    """

    name: ClassVar[str]  # of the command, and of `bench` in its records
    paired: ClassVar[bool] = False  # whether the program of each job is a producer that needs its consumer beside it
    results: ResultOptions
    directories: Sequence[str] | None = None  # where it writes, as the user gave them; None: nowhere
    against: Path | None = None  # earlier results
    darshan: bool = False  # whether Darshan watches the ranks

    @abstractmethod
    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """What is measured, as jobs one after the other. Local; the same on all ranks.

        :param directories: of this run alone, by the user's names.
        :param started: ranks of the job that this program runs in; None outside MPI, where it starts ranks itself.
        :raises ValueError: an option is wrong, or does not fit another one.
        :raises InputError: a file that an option names has not what is needed.
        """

    def conclusions(self, measured: Iterable[Measurement]) -> list[str]:
        """Lines for the user about what was measured; most benches leave that to the tables."""
        return []
