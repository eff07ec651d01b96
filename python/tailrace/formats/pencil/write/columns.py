"""`time_series.h5`: one dataset for each number, `/<column>/<iteration>`. Collective, except `write`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.files.whole import publish, refuse_existing
from tailrace.io.placement import Box, Stored
from tailrace.parallel import on_root

from .schema import put
from .target import PARTIAL
from .texts import write_new

if TYPE_CHECKING:
    from mpi4py import MPI


class ColumnsFile:
    """The file while its columns are collected on rank 0.

    :param columns: lists of equal length; `step` is the number of the time step, `time` is called `t` there.
    :raises InputError: the file exists, or the columns are not such a table.
    """

    def __init__(self, path: Path, comm: MPI.Comm, columns: Mapping[str, Stored]) -> None:
        self.path, self._comm, self._columns = path, comm, dict(columns)
        self._parts: list[tuple[str, int, NDArray[Any]]] = []
        rows = {stored.shape[1] for stored in columns.values()}
        if "step" not in columns or len(rows) != 1 or any(stored.shape[0] != 1 for stored in columns.values()):
            raise InputError(
                f"{path}: a time series has lists of equal length, one is 'step'; found {', '.join(columns)}"
            )
        self._rows = rows.pop()
        on_root(comm, lambda: refuse_existing(path))

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:
        """Keep rows of a column."""
        self._parts.append((name, box.start[1], np.array(values).reshape(-1)))

    def finish(self) -> None:
        """Write the file. Raises InputError if a time step occurs twice; the format can hold it only once."""
        parts = self._comm.gather(self._parts)
        on_root(self._comm, lambda: self._write([one for some in parts or [] for one in some]))

    def abandon(self) -> None:
        """Drop the rows."""
        self._parts = []

    def _write(self, parts: list[tuple[str, int, NDArray[Any]]]) -> None:
        table = {
            name: np.full(self._rows, np.nan, stored.dtype) for name, stored in self._columns.items() if name != "step"
        }
        steps = np.zeros(self._rows, "i8")
        for name, begin, values in parts:
            (steps if name == "step" else table[name])[begin : begin + len(values)] = values
        numbers, counts = np.unique(steps, return_counts=True)
        if (counts > 1).any():
            twice = int(numbers[counts > 1][0])
            first, second = (int(row) for row in np.flatnonzero(steps == twice)[:2])
            raise InputError(
                f"{self.path}: the rows {first} and {second} (the first is 0) both have the time step {twice}; the "
                "format has one row for each. Convert the parts before and after the restart of the run separately, or "
                "choose another format"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(self.path.name + PARTIAL)
        partial.unlink(missing_ok=True)
        with h5py.File(partial, "x", libver=("earliest", "latest")) as file:
            for name, column in table.items():
                real = "f4" if column.dtype == np.dtype("f4") else "f8"
                group = file.create_group({"time": "t"}.get(name, name))
                for step, value in zip(steps, column, strict=True):
                    if not np.isnan(value):
                        put(group, str(step), float(value), real)
            put(file, "last", int(steps[-1]) if self._rows else 0)
            put(file, "step", int(steps[-1] - steps[-2]) if self._rows > 1 else 1)
            file.flush()
        publish(partial, self.path)
        write_new(self.path.with_suffix(".dat"), _text(steps, table))


def _text(steps: NDArray[Any], table: Mapping[str, NDArray[Any]]) -> str:
    """The table as text, with all digits: the code itself reads only texts."""
    names = ["it", *({"time": "t"}.get(name, name) for name in table)]
    lines = ["#--" + "---".join(names) + "---"]
    for at, step in enumerate(steps):
        lines.append(" ".join([str(step), *(f"{float(column[at]):.17g}" for column in table.values())]))
    return "".join(f"{line}\n" for line in lines)
