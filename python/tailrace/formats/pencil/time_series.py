"""`time_series.dat` and `time_series.h5`: the numbers that a run has printed at its time steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.files.regular import open_regular, refuse_special
from tailrace.formats.file_bytes import is_hdf5, peek
from tailrace.formats.fortran_numbers import real_of
from tailrace.io.placement import Box, Stored

from .dataset import PencilDataset
from .files.frames import latest
from .files.hdf5 import has_group, open_hdf5, plain
from .run.run import PencilRun

_HEAD = re.compile(r"#?\s*-{1,8}\w")
_COLUMN = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_MOST_COLUMNS = 2000
_MOST_ROWS = 10_000_000
_LONGEST = 1 << 17  # letters of a line


def is_time_series(path: Path) -> bool:
    """Whether a file is a time series: by its first line, or by the groups of an HDF5 file of that name."""
    if path.suffix == ".h5":
        return path.name == "time_series.h5" and is_hdf5(path) and _has_columns(path)
    head = peek(path, 400)
    return head.startswith(b"#--") and b"-t-" in head


def _has_columns(path: Path) -> bool:
    with open_hdf5(path) as file:
        return has_group(file, "t") and plain(file, "last") is not None


def read_time_series(path: Path) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The columns by name, `step` as int64, `time` and the others as float64; and notes."""
    cut: list[str] = []
    columns = _from_hdf5(path) if path.suffix == ".h5" else _from_text(path, cut)
    if "time" not in columns:
        raise IoError(f"{path}: has no column t; found {', '.join(columns)}")
    if not np.isfinite(columns["time"]).all():
        raise IoError(f"{path}: has a time that is no finite number: the file is damaged")
    kept, notes = latest(path, columns["time"].tolist())
    return {name: values[kept] for name, values in columns.items()}, [*cut, *notes]


def _names(path: Path, number: int, line: str) -> list[str]:
    words = [word for word in re.split(r"-+", line.strip().lstrip("#")) if word]
    names = [re.split(r"[\s(]", word)[0] for word in words]
    if not names or len(names) > _MOST_COLUMNS or len(set(names)) < len(names):
        raise IoError(f"{path}: line {number} must have the different names of columns; found {line[:60]!r}")
    wrong = next((name for name in names if not _COLUMN.fullmatch(name)), None)
    if wrong is not None:
        raise IoError(f"{path}: line {number} has {wrong[:40]!r}, which is no name of a column")
    return [{"it": "step", "t": "time"}.get(name, name) for name in names]


def _from_text(path: Path, notes: list[str]) -> dict[str, NDArray[Any]]:
    parts = _parts(path, notes)
    count = sum(len(rows) for _, rows in parts)
    every = list(dict.fromkeys(name for names, _ in parts for name in names))
    if not every:
        raise IoError(f"{path}: has no row")
    columns: dict[str, NDArray[Any]] = {"step": np.arange(count, dtype=float)} if "step" not in every else {}
    columns |= {name: np.full(count, np.nan) for name in every}
    at = 0
    for names, rows in parts:
        here = slice(at, at + len(rows))
        at += len(rows)
        if "step" not in names:
            columns["step"][here] = np.arange(here.start, here.stop)
        for name, values in zip(names, np.array(rows).T, strict=True):
            columns[name][here] = values
    step = columns["step"]
    if not np.isfinite(step).all() or (np.abs(step) > 2**53).any() or (step != np.rint(step)).any():
        raise IoError(f"{path}: its column it must have whole numbers")
    columns["step"] = step.astype(np.int64)
    return columns


def _parts(path: Path, notes: list[str]) -> list[tuple[list[str], list[list[float]]]]:
    """Names and rows. A new line of names comes when a run has restarted with other columns."""
    parts: list[tuple[list[str], list[list[float]]]] = []
    count = 0
    with open_regular(path, encoding="latin-1") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST), ""), 1):
            if line.startswith("#"):
                if _HEAD.match(line):
                    parts.append((_names(path, number, line), []))
                continue
            if not line.strip():
                continue
            if not parts:
                raise IoError(f"{path}: line {number} comes before the names of the columns: {line[:60]!r}")
            if not line.endswith("\n"):
                notes.append(f"{path} ends inside its last row, which is left out.")
                break  # the run was killed, or is just writing it
            count += 1
            if count > _MOST_ROWS:
                raise IoError(f"{path}: has more than {_MOST_ROWS} rows")
            names, rows = parts[-1]
            rows.append(_row(path, number, line, len(names)))
    return [(names, rows) for names, rows in parts if rows]


def _row(path: Path, number: int, line: str, count: int) -> list[float]:
    words = line.split()
    try:
        if len(words) != count:
            raise ValueError
        return [real_of(word) if word.strip("*") else np.nan for word in words]  # stars: the number was too long
    except ValueError:
        raise IoError(
            f"{path}: line {number} must have {count} numbers; found {len(words)}: {line.strip()[:60]!r}"
        ) from None


def _from_hdf5(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file with one dataset for each number: /<column>/<iteration>."""
    with open_hdf5(path) as file:
        groups = [str(name) for name in file if has_group(file, name)]
        if "t" not in groups or len(groups) > _MOST_COLUMNS:
            raise IoError(f"{path}: has no group t, so it is no time series; found {', '.join(groups[:8])}")
        told = plain(file, "last")  # groups behind it are of a run that was given up
        last = int(np.asarray(told[()]).reshape(-1)[0]) if told is not None and told.dtype.kind in "iu" else 10**9
        steps = sorted(int(name) for name in file["t"] if re.fullmatch(r"\d{1,9}", name) and int(name) <= last)
        if not steps or len(steps) > _MOST_ROWS:
            raise IoError(f"{path}: its group t has no value with the number of a time step")
        columns: dict[str, NDArray[Any]] = {"step": np.array(steps, np.int64)}
        for group in ["t", *(name for name in groups if name != "t")]:
            values = np.full(len(steps), np.nan)
            for at, step in enumerate(steps):
                data = plain(file, f"{group}/{step}")
                if data is None:
                    continue
                if data.size != 1 or data.dtype.kind not in "fi":
                    raise IoError(f"{path}: its {group}/{step} must be one number; found {data.shape} {data.dtype}")
                values[at] = np.asarray(data[()]).reshape(-1)[0]
            columns["time" if group == "t" else group] = values
    return columns


class TimeSeriesColumns(PencilDataset):
    """A time series as one step: each column is a list with one column and a row for each time.

    :param run: its run, if the data directory is known.
    """

    def __init__(self, path: Path, run: PencilRun | None = None) -> None:
        super().__init__(str(path), run, "time_series")
        refuse_special(path)
        columns, self.notes = read_time_series(path)
        self._types = {name: values.dtype.name for name, values in columns.items()}
        self._rows = len(columns["time"])
        self.steps = [(int(columns["step"][-1]), float(columns["time"][-1]))]
        self.files = [str(path)]
        self._columns: dict[str, NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_columns": None}

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        return {name: Stored(dtype, (1, self._rows, 1), True) for name, dtype in self._types.items()}

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        if self._columns is None:
            self._columns, _ = read_time_series(Path(self.path))
        values = self._columns[name][: self._rows]
        if len(values) < self._rows:
            raise IoError(f"{self.path}: has {len(values)} rows now; expected {self._rows}: it was replaced")
        begin = box.start[1]
        out[...] = values[begin : begin + box.count[1]].reshape(out.shape)

    def close(self) -> None:
        """See `Dataset.close`."""
        self._columns = None
