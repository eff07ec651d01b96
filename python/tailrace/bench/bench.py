"""The base class of benchmarks: a command of `tailrace bench` with its options, and the jobs that it measures."""

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
    """A benchmark with the options of its command.

    A derived class is a frozen dataclass. Its docstring is the help of the command. Its fields are the options: each is
    `Annotated` with a `typer.Option`, or is a group of options (see `options`). Each has a default. The module of
    the class is read before a command is known: what it does not need for the options, `jobs` imports.
    """

    name: ClassVar[str]  # of the command, and of `bench` in its records
    paired: ClassVar[bool] = False  # whether the program of each job is a producer that needs its consumer beside it
    results: ResultOptions
    directories: Sequence[str] | None = None  # directories to write in, as the user gave them; None: it writes nothing
    against: Path | None = None  # earlier results
    darshan: bool = False  # whether Darshan watches the ranks

    @abstractmethod
    def jobs(self, directories: dict[str, Path], started: int | None = None) -> list[Job]:
        """The jobs to measure, one after the other. Local; the same on all ranks.

        :param directories: directories of this run alone, by the names that the user gave.
        :param started: ranks of the job that this program runs in; None outside MPI: then it starts ranks itself.
        :raises ValueError: an option is wrong, or does not fit another one.
        :raises InputError: a file that an option names does not have the needed data.
        """

    def conclusions(self, measured: Iterable[Measurement]) -> list[str]:
        """Lines for the user about the measurements; most benches only have tables."""
        return []
