"""The history of the Taylor-Green vortex, and single snapshots as arrays.

The layouts are those of Xcompact3D since 2020. Two properties are important: the files of fields have no header and no
time, and each row of `time_evol.dat` has the time of the step before the step of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.case.document import ConfigError, Problem, read_text
from tailrace.core import IoError
from tailrace.formats.fortran_numbers import real_of
from tailrace.grids import triple
from tailrace.io.names import RAW_NAMES

from ...case.xcompact3d.input import read_input
from ...case.xcompact3d.namelist import Namelist
from .arrays import fitting

__all__ = ["HISTORY_COLUMNS", "read_history", "read_input", "read_snapshot", "read_time_evol"]

_MOST_LETTERS = 1 << 28
_LONGEST_LINE = 4096
HISTORY_COLUMNS = ("t", "kinetic_energy", "dissipation", "dissipation2", "enstrophy")


def read_time_evol(path: str | Path, dt: float | None = None, notes: list[str] | None = None) -> NDArray[Any]:
    """The history of a Taylor-Green run, with corrected times.

    Xcompact3D prints (itime - 1) dt beside the averages of step itime, so the time of every row is one step too early.
    This function returns the correct times. All columns are averages over the volume: `kinetic_energy` = <u.u>/2,
    `dissipation` = 2 nu <S_ij S_ij>, `dissipation2` = -nu <u . lap u>, `enstrophy` = <w.w>/2, with U = L = 1.

    A last line without line end is left out: a run may still be writing it. If a restarted run has written rows of the
    same time again, the last one is taken.

    :param dt: the time step of that run; if it is not given, it is read from `input.i3d` beside the file.
    :param notes: gets a sentence about omitted rows.
    :returns: a structured array with the fields of `HISTORY_COLUMNS`.
    :raises ConfigError: the file is not a history, or dt does not match its times.
    """
    path = Path(path)
    if dt is None:
        dt = _dt_beside(path)
    notes = [] if notes is None else notes
    text = read_text(path, most=_MOST_LETTERS)
    whole, end, last = text.rpartition("\n")
    if last.strip() and len(last) <= _LONGEST_LINE:
        notes.append(f"{path}: its last line is left out: it has no end, so a run is still writing it, or was stopped")
    rows = _table(path, 5, whole + end if len(last) <= _LONGEST_LINE else text)
    counts = rows[:, 0] / dt
    off = np.abs(counts - np.rint(counts)) > 1e-4 * np.maximum(1.0, 1e-6 * counts)
    if off.any():
        time = rows[int(np.argmax(off)), 0]
        raise ConfigError.single(path, "dt", f"time {time:g} is no multiple of dt = {dt:g}; give that run's dt")
    rows[:, 0] = (np.rint(counts) + 1) * dt
    _, backwards = np.unique(rows[::-1, 0], return_index=True)
    if len(backwards) < len(rows):
        more = len(rows) - len(backwards)
        notes.append(
            f"{path}: {more} rows are left out: later rows have the same times, as a restarted run writes them"
        )
    return _structured(rows[::-1][backwards])


def read_history(path: str | Path, dt: float | None = None) -> NDArray[Any]:
    """A history for comparison: `time_evol.dat`, or the published table of the 512^3 simulation.

    The published table (17 columns, correct times) contains -d(energy)/dt beside the dissipation. This function returns
    that column as `dissipation2`.
    """
    path = Path(path)
    text = read_text(path, most=_MOST_LETTERS)
    width = next((len(words) for _, words in _rows_of(path, text)), 0)
    if width == 17:
        rows = _table(path, 17, text)
        return _structured(rows[:, [0, 1, 3, 2, 4]])
    return read_time_evol(path, dt)


def _structured(rows: NDArray[np.float64]) -> NDArray[Any]:
    table = np.empty(len(rows), dtype=[(name, np.float64) for name in HISTORY_COLUMNS])
    for at, name in enumerate(HISTORY_COLUMNS):
        table[name] = rows[:, at]
    return table


def _dt_beside(path: Path) -> float:
    beside = path.parent / "input.i3d"
    if not beside.is_file():
        raise ConfigError.single(path, "dt", f"is needed to correct the times, and there is no {beside} with it")
    reader = Namelist(beside)
    dt = reader.real("BasicParam", "dt")
    if reader.problems or not dt > 0:
        problems = reader.problems or [Problem("BasicParam.dt", f"must be greater than 0 (found {dt})")]
        raise ConfigError(str(beside), problems)
    return float(dt)


def _rows_of(path: Path, text: str) -> Iterable[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            reason = f"has {len(line)} letters; expected a row of numbers, of at most {_LONGEST_LINE}"
            raise ConfigError.single(path, f"line {number}", reason)
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.split()


def _table(path: Path, width: int, text: str) -> NDArray[np.float64]:
    rows = []
    for number, words in _rows_of(path, text):
        try:
            rows.append([real_of(word) for word in words])
        except ValueError:
            reason = f"is not a row of numbers: {' '.join(words)[:60]}"
            raise ConfigError.single(path, f"line {number}", reason) from None
        if len(words) != width:
            raise ConfigError.single(path, f"line {number}", f"must have {width} columns; it has {len(words)}")
    if not rows:
        raise ConfigError.single(path, "", "has no rows")
    return np.array(rows)


def read_snapshot(
    directory: str | Path, number: int, points: Sequence[int], fields: Sequence[str] = ("ux", "uy", "uz")
) -> dict[str, NDArray[Any]]:
    """Fields of a snapshot, from the files `<field>-<number>.bin`.

    :param directory: the directory of the files, or the run directory with the files in `data`.
    :param number: the number in the file name; Xcompact3D uses step / ioutput.
    :param points: (nx, ny, nz); the files do not contain it.
    :param fields: names of Tailrace (pressure, vorticity, q) or of Xcompact3D (pp, vort, critq).
    :returns: one array (nz, ny, nx) of float64 or float32 per field, with the name from `fields` as key.
    :raises ConfigError: a file is missing, or its size fits neither precision.
    """
    directory = Path(directory)
    if not list(directory.glob("*.bin")) and (directory / "data").is_dir():
        directory = directory / "data"
    nx, ny, nz = points
    return {name: _read_field(directory, RAW_NAMES.get(name, name), number, (nz, ny, nx)) for name in fields}


def _read_field(directory: Path, name: str, number: int, shape: tuple[int, int, int]) -> NDArray[Any]:
    path = directory / f"{name}-{number}.bin"
    if not path.is_file():
        files = list(directory.glob(f"{name}-*.bin")) or list(directory.glob("*.bin"))
        present = sorted(file.name for file in files)
        raise ConfigError.single(
            path, "", f"there is no such file; there are {', '.join(present[:8]) or 'no .bin files'}"
        )
    try:
        array = fitting(path, [triple(reversed(shape))])
    except IoError as error:
        raise ConfigError.single(path, "", str(error).removeprefix(f"{path}: ")) from None
    return np.fromfile(path, array.dtype).reshape(shape)
