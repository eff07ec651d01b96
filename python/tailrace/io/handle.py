"""The open series that a `Series` and its steps share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from traceback import walk_tb
from types import TracebackType
from typing import TypeVar

from tailrace.core import InputError, IoError
from tailrace.core import Series as CompiledSeries

from .dataset import Dataset
from .dataset_reader import DatasetReader
from .readable import Readable

Opened = TypeVar("Opened", bound=Readable)


class Handle:
    """Owns an open series, of Tailrace or of another program, until `drop`."""

    def __init__(self, opened: CompiledSeries | DatasetReader) -> None:
        self._opened: CompiledSeries | DatasetReader | None = opened
        self._path = opened.path
        self.dataset: Dataset | None = opened.dataset if isinstance(opened, DatasetReader) else None

    @property
    def is_open(self) -> bool:
        """Whether the series is still held."""
        return self._opened is not None

    def reader(self) -> Readable:
        """The series, to read. Raises InputError if it is closed."""
        return self._held()

    def writer(self) -> CompiledSeries:
        """The series, to write. Raises InputError if it is closed, or of another program."""
        opened = self._held()
        if isinstance(opened, DatasetReader):
            raise InputError(f"{self._path}: is open to read; only series of Tailrace can be written")
        return opened

    def stream(self) -> CompiledSeries | None:
        """The series, if it may be a stream that measures its cost; None for files of another program."""
        opened = self._held()
        return None if isinstance(opened, DatasetReader) else opened

    def _held(self) -> CompiledSeries | DatasetReader:
        if self._opened is None:
            raise InputError(
                f"{self._path}: the series is closed; use it before, or open it again (fields are read at first use)"
            )
        return self._opened

    def drop(self, trace: TracebackType | None = None) -> None:
        """Release the series. If it was not closed, complete steps stay and an open step is lost.

        :param trace: of an error that ends its use. Who keeps the error keeps the functions that it went through: those
            of this package forget the series, or its file would stay locked as long as the error is there.
        """
        self._opened = None
        for frame, _ in walk_tb(trace):
            if frame.f_globals.get("__name__", "").startswith("tailrace."):
                with suppress(RuntimeError):  # it still runs
                    frame.clear()


@contextmanager
def raise_on_all_ranks(opened: Opened) -> Iterator[Opened]:
    """Put this around the local preparation of a collective call: an error of one rank is raised on all ranks.

    The collective call of the other ranks begins with an agreement. If the block fails, this rank takes part in that
    agreement and reports the error. If the block does not fail, nothing is communicated.

    :raises InputError, IoError: the error of this rank, the second for an IoError or a lack of memory.
    """
    try:
        yield opened
    except Exception as error:
        opened.refuse(str(error), not isinstance(error, IoError | MemoryError))
        raise  # not reached: refusing raises
