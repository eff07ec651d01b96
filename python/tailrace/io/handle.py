"""The open series that a `Series` and its steps share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tailrace.core import InputError, IoError
from tailrace.core import Series as CompiledSeries

from .dataset import Dataset
from .dataset_reader import DatasetReader
from .readable import Readable

Opened = TypeVar("Opened", bound=Readable)


class Handle:
    """Owns an open series until it is dropped: one of Tailrace, or the files of another program."""

    def __init__(self, opened: CompiledSeries | DatasetReader) -> None:
        self._opened: CompiledSeries | DatasetReader | None = opened
        self._path = opened.path
        self.dataset: Dataset | None = opened.dataset if isinstance(opened, DatasetReader) else None

    @property
    def is_open(self) -> bool:
        """Whether the series is still held."""
        return self._opened is not None

    def reader(self) -> Readable:
        """What is read.

        :raises InputError: it is closed.
        """
        return self._held()

    def writer(self) -> CompiledSeries:
        """What is written.

        :raises InputError: it is closed, or of another program.
        """
        opened = self._held()
        if isinstance(opened, DatasetReader):
            raise InputError(f"{self._path}: is open to read; only series of Tailrace can be written")
        return opened

    def stream(self) -> CompiledSeries | None:
        """What may be a stream, and knows what it has cost; None: files of another program."""
        opened = self._held()
        return None if isinstance(opened, DatasetReader) else opened

    def _held(self) -> CompiledSeries | DatasetReader:
        if self._opened is None:
            raise InputError(
                f"{self._path}: the series is closed; a field of it is read at its first use, which must come before"
            )
        return self._opened

    def drop(self) -> None:
        """Let go of the series. Of one that was not closed, complete steps stay and an open one is lost."""
        self._opened = None


@contextmanager
def raise_on_all_ranks(opened: Opened) -> Iterator[Opened]:
    """Around the local preparation of a collective call: an error of one rank is raised on all ranks.

    Where the block fails, this rank takes part in the agreement with which the collective call of the other ranks
    begins, and tells them. Where it does not fail, nothing is communicated.

    :raises InputError, IoError: the error of this rank, the second for an IoError or a lack of memory.
    """
    try:
        yield opened
    except Exception as error:
        opened.refuse(str(error), not isinstance(error, IoError | MemoryError))
        raise  # not reached: refusing raises
