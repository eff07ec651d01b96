"""The time series of volume averages of a running simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any, Self

from tailrace.core import IoError
from tailrace.flow.model import Model
from tailrace.io.time_series import COLUMNS, DEFINITIONS, TimeSeries
from tailrace.parallel import agree, on_root


class Diagnostics:
    """The file, which rank 0 holds; its failure is raised on every rank. Collective; a context manager.

    :param resumed: go on after this step: later rows are dropped. None: a former file is replaced.
    :param provenance: see `io.provenance`.
    :raises TimeSeriesError, OSError: see `TimeSeries`.
    """

    def __init__(self, model: Model, resumed: int | None, provenance: Mapping[str, Any]) -> None:
        self._comm = model.comm
        case = model.case
        nx, ny, nz = model.shape
        title = f"{case.case.name}: Re = {case.case.reynolds:g}, {nx} x {ny} x {nz} nodes, {case.time.scheme}"

        def open_series() -> TimeSeries | None:
            if model.comm.rank != 0:
                return None
            try:
                return TimeSeries(
                    case.diagnostics.path,
                    title,
                    resumed,
                    columns=COLUMNS + model.measures.columns,
                    definitions=DEFINITIONS + model.measures.definitions,
                    provenance=provenance,
                )
            except OSError as error:
                if isinstance(error, IoError):
                    raise
                raise IoError(f"cannot write {case.diagnostics.path}: {error.strerror or error}") from error

        self._rows = agree(model.comm, open_series)

    def append(self, numbers: Mapping[str, float]) -> None:
        """Write a row.

        :raises IoError: the disk is full or gone.
        """
        self._on_root(lambda rows: rows.append(numbers))

    def sync(self) -> None:
        """Wait until all rows are on the disk.

        :raises IoError: they could not be written.
        """
        self._on_root(TimeSeries.sync)

    def _on_root(self, work: Callable[[TimeSeries], None]) -> None:
        def guarded() -> None:
            assert self._rows is not None
            try:
                work(self._rows)
            except OSError as error:
                raise IoError(f"cannot write {self._rows.path}: {error.strerror or error}") from error

        on_root(self._comm, guarded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What a full disk did not take is still in the buffer of the file and fails again; it was told once.
        with suppress(OSError) if kind else nullcontext():
            if self._rows:
                self._rows.close()
