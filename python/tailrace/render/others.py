"""What a picture does not show: the other quantities of its file, and how to choose them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.steps.abscissae import is_abscissa

from . import arrays, tables
from .channel import is_channel
from .computed import default_field
from .options import Options
from .plot import is_table, kind_of_series
from .quantities import default_name, known_names
from .stored import chosen_steps, open_stored
from .thin import lines

if TYPE_CHECKING:
    from tailrace.steps.abscissae import Kind
    from tailrace.steps.series import Series
    from tailrace.steps.stored_step import StoredStep

_MOST = 8  # names in a line


def others(path: Path, options: Options) -> str:
    """A line about what else a file has; "" where everything is drawn, or the user has chosen by name.

    :raises PlotError: as `plot` does.
    """
    if options.columns or options.field is not None or options.x is not None or options.reference is not None:
        return ""
    if is_table(path):
        return _of_table(path, options)
    with open_stored(path, options.grid) as stored:
        return _of_series(path, stored, options)


def _of_table(path: Path, options: Options) -> str:
    if path.suffix == ".dat" or (options.kind or "time-series") != "time-series" or options.log or options.loglog:
        return ""
    columns = tables.read_table(path)
    if not tables.is_of_a_run(columns):
        return ""
    left = [name for name in columns if name not in (*tables.RUN, "step", "time")]
    return _line(path, "the picture of a run", [(left, "--column NAME")])


def _of_series(path: Path, stored: Series, options: Options) -> str:
    step = chosen_steps(stored, options.steps[:1], options.times[:1])[0]
    kind = kind_of_series(stored, options)
    fields, lists, numbers = known_names(step), list(arrays.lists(step, 1)), arrays.numbers(stored)
    shown, drawn = _drawn(step, stored.path, kind, options)
    planes = list(arrays.lists(step, 2))
    columns = [name for name in (*lists, *numbers) if not is_abscissa(name)]
    left = [
        ([name for name in (*fields, *planes) if name not in drawn], "--field NAME"),
        ([name for name in columns if name not in drawn], "--column NAME"),
    ]
    return _line(path, shown, left)


def _drawn(step: StoredStep, path: str, kind: Kind, options: Options) -> tuple[str, list[str]]:
    """What is drawn without a name, in words, and the names that these are and stand for."""
    if kind == "time-series":
        return "its numbers", arrays.numbers_of(step)
    if kind == "channel" and is_channel(step):
        return "a channel, by its profiles in wall units", []
    if kind in ("slice", "isosurface"):
        planes = arrays.lists(step, 2)
        name = next(iter(planes)) if planes and not known_names(step) else default_name(step)
        return name, [name]
    if kind == "profile" and (along := lines(step)):
        return "the fields along their line", along
    found = arrays.ordinates(step, path, [], None, options.axis) if arrays.lists(step, 1) else []
    same = [one for one in found if one.kind == kind]
    if not same or (known_names(step) and not any(one.over in arrays.lists(step, 1) for one in same)):
        name = default_field(step, kind)
        return f"the {kind} of {name}", [name]
    names = [one.name for one in same]
    return ", ".join(names[:_MOST]), names


def _line(path: Path, shown: str, left: Sequence[tuple[Sequence[str], str]]) -> str:
    words = [f"{_some(names)} ({way})" for names, way in left if names]
    return f"{path}: shown is {shown}; not shown: {'; '.join(words)}" if words else ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
