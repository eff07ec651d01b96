"""Open the sources of pictures: series of any engine, and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tailrace.core import IoError, engine_at
from tailrace.files.missing import nothing_at
from tailrace.files.regular import refuse_special
from tailrace.formats.patterns import is_pattern
from tailrace.formats.recognise import format_in_child, is_series_of_ours, series_of_run
from tailrace.io import guard
from tailrace.steps import opening
from tailrace.steps.series import Series
from tailrace.steps.stored_step import StoredStep

from .style import PlotError

TABLES = (".csv", ".dat")  # endings
_CHECKPOINT = re.compile(r"step-\d+")


def open_stored(path: Path, grid: Path | None = None) -> Series:
    """Open a series of any engine, or the newest checkpoint in a directory of them.

    :param grid: a TOML file with the grid, for a series without one.
    :raises PlotError: the path does not exist, or is something else.
    :raises InputError, IoError, ConfigError: the series or the grid file cannot be read.
    """
    check_there(path)
    path = _newest_checkpoint(path) or series_of_run(path)
    engine = engine_at(str(path))
    ours = is_series_of_ours(path)
    if not engine and not format_in_child(path):
        raise PlotError(
            f"{path}: is no series and no table; pictures are drawn from series of any engine, checkpoints, .csv files "
            "and files of other programs, see docs/formats.md"
        )
    try:
        return opening.open(path, guard=not ours or not guard.vouched(path, engine), grid=grid)
    except IoError as error:
        if str(path) in str(error):
            raise
        raise IoError(f"{path} cannot be read: {error}") from None


def check_there(path: Path) -> None:
    """Check that there is something to draw at a path, or that it is a pattern of series.

    :raises PlotError: it does not exist, or is a stream or a pattern of tables.
    :raises OSError: it is a named pipe, a socket or a device.
    """
    if str(path).startswith("sst:"):
        raise PlotError(f"{path}: a stream is not stored; draw a series on disk, or return a figure from an analysis")
    if is_pattern(path) and path.suffix in TABLES:
        raise PlotError(f"{path}: a pattern is one series, and tables are none; give the files, without quotes")
    if not path.exists() and not is_pattern(path):
        raise PlotError(f"{path}: {nothing_at(path)}")
    refuse_special(path)


def _newest_checkpoint(path: Path) -> Path | None:
    if not path.is_dir():
        return None
    found = [entry for entry in path.iterdir() if entry.is_dir() and _CHECKPOINT.fullmatch(entry.name)]
    return max(found, key=lambda entry: int(entry.name[5:]), default=None)


def chosen_steps(stored: Series, steps: Sequence[int], times: Sequence[float]) -> list[StoredStep]:
    """Steps by position, and the ones nearest to times; without both, the last step.

    :raises PlotError: the series has no steps, or not the requested one.
    """
    count = len(stored)
    if not count:
        raise PlotError(f"{stored.path}: has no steps yet")
    found = []
    for at in steps or (() if times else (-1,)):
        if not -count <= at < count:
            raise PlotError(f"{stored.path}: there is no step {at}; there are {count}, counted from 0")
        found.append(stored[at])
    for time in times:
        first, last = stored.times[0], stored.times[-1]
        slack = (last - first) / max(1, count - 1) / 2 + 1e-9 * abs(last)
        if not first - slack <= time <= last + slack:
            raise PlotError(f"{stored.path}: there is no step near time {time:g}; its times are {first:g} to {last:g}")
        found.append(stored.at(time, method="nearest"))
    return found
