"""Texts of numbers of a run: the history of the Taylor-Green vortex, and probes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.case.document import ConfigError
from tailrace.core import IoError
from tailrace.files.regular import open_regular
from tailrace.formats.file_bytes import head
from tailrace.formats.fortran_numbers import real_of
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored

from .arrays import entries
from .history import HISTORY_COLUMNS, read_history, read_time_evol
from .run import Xcompact3dRun

HISTORY = "time_evol.dat"
_PROBE = re.compile(r"probe(P?)(\d{4})|probe_d([xyz])_(\d{4})")
_WIDTHS = (24, 14)  # letters of a number, with all digits and with 6
_PUBLISHED_COLUMNS = 17
_MOST_BYTES = 256 << 20  # of a history, which is read as a whole


class History(Dataset):
    """`time_evol.dat` as one step with a list for each column; the times are corrected."""

    format = "xcompact3d-history"
    about = "each row is printed with the time of the step before; the times here are corrected"

    def __init__(self, path: Path, run: Xcompact3dRun | None) -> None:
        super().__init__(str(path))
        self._dt = run.dt if run else None
        self.notes = [self.about]
        self._rows = len(self._table(self.notes))
        self.steps = [(0, 0.0)]
        self.files = [str(path)]
        self.attributes = run.dataset_attributes() if run else {}

    def variables(self, position: int) -> dict[str, Stored]:
        """A list for each column."""
        return {name: Stored("float64", (1, self._rows, 1), True) for name in HISTORY_COLUMNS}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with rows of a column."""
        (_, y, _), (nx, ny, nz) = box
        table = self._table([])
        if len(table) < self._rows:
            raise IoError(f"{self.path}: has {len(table)} rows; expected {self._rows}, as when it was opened")
        out[...] = table[name][None, y : y + ny, None][:nz, :, :nx]

    def _read_table(self, notes: list[str]) -> NDArray[Any]:
        return read_time_evol(self.path, self._dt, notes)

    def _table(self, notes: list[str]) -> NDArray[Any]:
        size = Path(self.path).stat().st_size
        if size > _MOST_BYTES:
            raise IoError(f"{self.path}: has {size} bytes; expected a history of at most {_MOST_BYTES}")
        try:
            return self._read_table(notes)
        except ConfigError as error:
            raise IoError(str(error)) from None


class PublishedHistory(History):
    """A published table of the Taylor-Green vortex. Its comments name the code, and its times are right."""

    about = "-d(energy)/dt, a column of its own in the table, is read as dissipation2"

    def _read_table(self, notes: list[str]) -> NDArray[Any]:
        return read_history(self.path)


def is_published(path: Path) -> bool:
    """Whether a text has comments that name Incompact3d, and rows with the columns of the published table."""
    begin = head(path, 8192)
    if not begin.startswith(b"#") or b"Incompact3d" not in begin:
        return False
    rows = [line.split() for line in begin.split(b"\n")[:-1] if line.strip() and not line.startswith(b"#")]
    return bool(rows) and all(len(row) == _PUBLISHED_COLUMNS for row in rows)


class Probe(Dataset):
    """A file of `probes` as one step of lists. Its records have equal length: a time and the values at a point."""

    format = "xcompact3d-probe"

    def __init__(self, path: Path, run: Xcompact3dRun | None) -> None:
        super().__init__(str(path))
        size = path.stat().st_size
        record = head(path, 1 << 16).split(b"\n")[0]
        self._width = next((width for width in _WIDTHS if len(record) and len(record) % width == 0), 0)
        self._record = len(record) + 1
        count = len(record) // self._width if self._width else 0
        self._names = _columns(path, count)
        if not self._names or size % self._record:
            raise IoError(
                f"{path}: has {size} bytes and a first line of {len(record)} letters; expected records of one length, "
                "of at least two numbers of 24 or 14 letters each and the end of the line: it is cut off, or no probe"
            )
        self._rows = size // self._record
        self.steps = [(0, 0.0)]
        self.files = [str(path)]
        self.attributes = run.dataset_attributes() if run else {}

    def variables(self, position: int) -> dict[str, Stored]:
        """A list for each column."""
        return {name: Stored("float64", (1, self._rows, 1), True) for name in self._names}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """Fill `out` with rows of a column; records that were never written are NaN."""
        (_, y, _), (_, rows, _) = box
        at, most = self._names.index(name), max(1, (1 << 20) // self._record)
        with open_regular(self.path, "rb", buffering=0) as file:
            for first in range(0, rows, most):
                count = min(most, rows - first)
                file.seek((y + first) * self._record)
                text = file.read(count * self._record)
                if len(text) != count * self._record:
                    raise IoError(f"{self.path}: ends before record {y + first + count}: it is cut off")
                for row in range(count):
                    out[0, first + row, 0] = self._number(text, row, at, y + first + row)

    def _number(self, text: bytes, row: int, at: int, number: int) -> float:
        begin = row * self._record + at * self._width
        word = text[begin : begin + self._width]
        if not word.strip(b"\0 "):
            return np.nan
        try:
            return real_of(word.decode("latin-1").strip())
        except ValueError:
            found = word[:30].decode("ascii", "replace")
            raise IoError(
                f"{self.path}: byte {number * self._record + at * self._width}: found {found!r}, expected a number"
            ) from None


def _columns(path: Path, count: int) -> list[str]:
    match = _PROBE.fullmatch(path.name)
    if match is None or count < 2:
        return []
    if match[1]:
        return ["t", "pp"] if count == 2 else []
    if not match[3]:
        names = ["t", "ux", "uy", "uz"]
        return [*names, *(f"phi{at:02}" for at in range(1, count - 3))] if count >= 4 else []
    axis = match[3]
    names = ["t", *(f"d{name}/d{axis}" for name in ("ux", "uy", "uz"))]
    pressure = ["dpp/dx", "dpp/dy", "dpp/dz"] if axis == "x" else []
    scalars = count - len(names) - len(pressure)
    return [*names, *(f"dphi{at:02}/d{axis}" for at in range(1, scalars + 1)), *pressure] if scalars >= 0 else []


def table_at(path: Path, run: Callable[[], Xcompact3dRun | None]) -> Dataset | None:
    """The table of a run at a path; None for another file. Raises IoError if it is damaged."""
    try:
        if path.name == HISTORY:
            known = run()
            return History(path, known) if known else None
        if path.suffix == ".dat" and is_published(path):
            return PublishedHistory(path, None)
        if _PROBE.fullmatch(path.name) and path.parent.name == "probes":
            return Probe(path, run())
    except IoError:
        raise
    except OSError as error:
        raise IoError(f"{path}: cannot be read: {error.strerror}") from None
    return None


def probes_in(directory: Path) -> list[Path]:
    """The probes of a run."""
    return entries(directory / "probes", _PROBE)
