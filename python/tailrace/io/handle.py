"""The open compiled series that a `Series` and its steps share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from tailrace.core import InputError, IoError
from tailrace.core import Series as CompiledSeries

from .dataset import Dataset
from .dataset_core import DatasetCore


class Handle:
    """Owns an open `core.Series` until it is dropped; or what stands in its place for files of another program."""

    def __init__(self, core: CompiledSeries | DatasetCore) -> None:
        self._core: CompiledSeries | None = cast(CompiledSeries, core)
        self._path = str(core.path)
        self.dataset: Dataset | None = core.dataset if isinstance(core, DatasetCore) else None

    @property
    def is_open(self) -> bool:
        """Whether the series is still held. Local."""
        return self._core is not None

    def core(self) -> CompiledSeries:
        """The compiled series. Local.

        :raises InputError: it is closed.
        """
        if self._core is None:
            raise InputError(
                f"{self._path}: the series is closed; a field of it is read at its first use, which must come before"
            )
        return self._core

    def drop(self) -> None:
        """Let go of the series. Of one that was not closed, complete steps stay and an open one is lost. Local."""
        self._core = None

    @contextmanager
    def raise_on_all_ranks(self) -> Iterator[CompiledSeries]:
        """Around the local preparation of a collective call: an error of one rank is raised on all ranks.

        Where the block fails, this rank takes part in the agreement with which the collective call of the other ranks
        begins, and tells them. Where it does not fail, nothing is communicated.

        :raises InputError, IoError: the error of this rank, the second for an IoError or a lack of memory.
        """
        core = self.core()
        try:
            yield core
        except Exception as error:
            core.refuse(str(error), not isinstance(error, IoError | MemoryError))
            raise  # not reached: refusing raises
