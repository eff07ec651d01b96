"""The byte order of files without records, which do not contain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tailrace.core import IoError

from ..files.frames import Frames, whole_frames
from ..run.run import PencilRun
from ..run.sources import snapshots_in
from .fortran import FortranSnapshot

_MOST_TIMES = 1000  # that are compared
_WORD = {"<": "little-endian", ">": "big-endian"}


def order_of(run: PencilRun) -> str | None:
    """ "<" or ">", from the record marks in other files of the run; None if it has no such files."""
    if run.points is not None and run.points.order is not None:
        return run.points.order
    for source in snapshots_in(run.data)[0]:
        try:
            if not source.is_hdf5:
                return FortranSnapshot(run, source).head.order
        except IoError:
            continue  # it is damaged: another file may tell it
    return None


def frames_in_order(run: PencilRun, path: Path, size: int, time: int, data: int) -> Frames:
    """Frames without records, in the byte order of their run, with a note if it is guessed.

    :param size: bytes of a frame; `time` and `data` are offsets in it, see `Frames`.
    :raises IoError: the size of the file is not a multiple of `size`.
    """
    count, _ = whole_frames(path, size, False)
    both = {order: Frames(path, order + run.dim.real, size, time, data, (), count) for order in "<>"}
    order = order_of(run)
    if order is not None:
        return both[order]
    order, notes = guessed(path, {order: frames.raw_times(_MOST_TIMES) for order, frames in both.items()})
    return replace(both[order], notes=tuple(notes))


def guessed(path: Path, times: Mapping[str, Sequence[float]]) -> tuple[str, list[str]]:
    """The byte order in which times look like those of a run, and a note.

    :param times: the times of the file in each byte order that its size allows.
    """
    order = min(times, key=lambda order: _doubt(times[order]))
    return order, [f"{path}: is read as {_WORD[order]}, as its times look best so: no file of records tells its order."]


def _doubt(times: Sequence[float]) -> tuple[int, int]:
    """How unlikely these are times of a run: the number of absurd values, then the number of steps back."""
    values = np.abs(np.asarray(times, "f8"))
    good = np.isfinite(values) & ((values == 0) | ((values > 1e-20) & (values < 1e20)))
    with np.errstate(invalid="ignore"):
        back = int((~(np.diff(np.asarray(times, "f8")) > 0)).sum())
    return int((~good).sum()), back
