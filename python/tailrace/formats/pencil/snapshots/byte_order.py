"""The byte order of files without records, which do not tell it themselves. All functions are local."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tailrace.core import IoError

from ..files.frames import Frames
from ..files.records import Records
from ..run.dim import Run
from ..run.found import snapshots_in
from .fortran import RecordSnapshot

_MOST_TIMES = 1000  # that are compared
_WORD = {"<": "little-endian", ">": "big-endian"}


def order_of(run: Run) -> str | None:
    """ "<" or ">": from the marks of records that other files of the run have; None where there are none."""
    for name in ("allprocs/grid.dat", "grid.dat", "proc0/grid.dat"):
        try:
            if (run.data / name).is_file():
                with Records(run.data / name) as records:
                    return records.order
        except IoError:
            continue  # it is damaged: another file may tell it
    for source in snapshots_in(run.data)[0]:
        try:
            if not source.is_hdf5:
                return RecordSnapshot(run, source).head.order
        except IoError:
            continue
    return None


def frames_in_order(run: Run, frames: Frames) -> tuple[Frames, list[str]]:
    """Frames without records in the byte order of their run, and a note where that is a guess.

    :param frames: in any byte order.
    """
    order = order_of(run)
    if order is not None:
        return replace(frames, real=order + run.dim.real), []
    both = {order: replace(frames, real=order + run.dim.real) for order in "<>"}
    order, notes = guessed(frames.path, {order: one.raw_times(_MOST_TIMES) for order, one in both.items()})
    return both[order], notes


def guessed(path: Path, times: Mapping[str, Sequence[float]]) -> tuple[str, list[str]]:
    """The byte order in which times look like those of a run, and a note.

    :param times: the times of the file in each byte order that its size allows.
    """
    order = min(times, key=lambda order: _doubt(times[order]))
    return order, [f"{path}: is read as {_WORD[order]}, as its times look best so: no file of records tells its order."]


def _doubt(times: Sequence[float]) -> tuple[int, int]:
    """How little these look like times of a run: numbers beyond reason, then steps back."""
    values = np.abs(np.asarray(times, "f8"))
    good = np.isfinite(values) & ((values == 0) | ((values > 1e-20) & (values < 1e20)))
    with np.errstate(invalid="ignore"):
        back = int((~(np.diff(np.asarray(times, "f8")) > 0)).sum())
    return int((~good).sum()), back
