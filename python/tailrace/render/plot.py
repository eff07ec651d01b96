"""Pictures of any file that a run or an analysis has written. The kind of each file is recognised.

    from tailrace.render.plot import plot

    plot("time_series.csv")  # returns the paths of the pictures, here time_series.png
    plot(["a/spectrum.h5", "b/spectrum.h5"], slopes=["-5/3"])
    plot("snapshots.h5", field="q", axis="y", at=1.5, time=8.0, out="q.pdf")

Every kind of picture has a function of its own, which returns a figure of matplotlib: see `figures`, and the modules
`tables`, `arrays`, `computed`, `slices` and `isosurface`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.case.captions import caption
from tailrace.core import engine_at
from tailrace.files.marks import TIME_SERIES, is_ours
from tailrace.formats.patterns import is_pattern
from tailrace.formats.pencil.time_series import is_time_series
from tailrace.io.time_series import read_provenance
from tailrace.steps.abscissae import Kind, is_abscissa

from . import arrays, tables
from .channel import Profiles, draw_channel, is_channel, read_channel
from .computed import computed_curve
from .curves import Curve, Scales, draw_curves, slope
from .film import film_of
from .isosurface import draw_isosurface
from .options import EACH, Options, check, check_used
from .picture_names import apart, head
from .quantities import arrays as known_arrays
from .quantities import known_names, unknown
from .slices import Look, Plane, draw_plane, read_plane
from .stored import TABLES, check_there, chosen_steps, open_stored
from .style import PlotError, check_picture, in_name, plain, save, times_of
from .thin import line_curve, lines, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailrace.steps.series import Series
    from tailrace.steps.stored_step import StoredStep


def plot(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]], out: str | PathLike[str] | None = None, **options: Any
) -> list[Path]:
    """Draw files, and return the paths of the pictures: one for all curves of a kind, one for each slice or isosurface.

    :param out: the picture (.png, .pdf, .svg); by default it is a .png in the working directory, named after the file.
    :param options: see `Options`.
    :raises PlotError: something cannot be drawn; the message says why, and what can be drawn.
    :raises TimeSeriesError, InputError, IoError, ConfigError, OSError: a file cannot be read.
    """
    given = [Path(paths)] if isinstance(paths, str | PathLike) else [Path(path) for path in paths]
    target = None if out is None else check_picture(Path(out))
    drawn = figures(given, Options(**options), alone=target is not None)
    return [save(figure, target or name) for figure, name in drawn]


def film(path: str | PathLike[str], out: str | PathLike[str], rate: int = 25, **options: Any) -> int:
    """Make a film of a slice: all stored steps of a series, or those of `steps` and `times`. Returns the frames.

    :param out: the film (.mp4, .webm).
    :param rate: frames in a second.
    :param options: those of a slice, see `Options`.
    :raises PlotError: something cannot be drawn; the message says why.
    """
    chosen = Options(**options)
    check(chosen)
    check_used(replace(chosen, steps=(), times=()), ["slice"])
    with open_stored(Path(path), chosen.grid) as stored:
        steps = chosen_steps(stored, chosen.steps, chosen.times) if chosen.steps or chosen.times else stored
        positions = [stored.steps.position_of(one.index) for one in steps]

    def plane(step: int) -> Plane:
        return read_plane(
            Path(path), chosen.field, axis=chosen.axis, index=chosen.index, at=chosen.at, step=step, grid=chosen.grid,
        )  # fmt: skip

    return film_of(lambda: map(plane, positions), _look(chosen), Path(out), rate)


def figures(paths: Sequence[Path], options: Options, *, alone: bool = False) -> list[tuple[Figure, str]]:
    """The figures of files, each with a name for its file, which no other one has.

    :param alone: only one figure is wanted.
    :raises PlotError: see `plot`.
    """
    check(options)
    labels = _labels(paths, options)
    sources = [_source(path, label, options) for path, label in zip(paths, labels, strict=True)]
    kinds = list(dict.fromkeys(source.kind for source in sources))
    check_used(options, kinds)
    if alone and len(kinds) > 1:
        told = ", ".join(f"{source.path}: {source.kind}" for source in sources)
        raise PlotError(f"one picture shows files of one kind; leave -o out, or choose by --kind: {told}")
    if alone and kinds[0] in EACH and len(paths) > 1:
        raise PlotError("-o names one picture, but these files make several; leave it out or draw them one by one")
    found: list[tuple[Figure, str, Path]] = []
    for kind in kinds:
        same = [source for source in sources if source.kind == kind]
        if kind in EACH:
            draw = _draw_slice if kind == "slice" else _draw_surface
            found += [(*draw(source.path, options), source.path) for source in same]
        else:
            found.append((_draw_together(same, kind, options), _name(same[0], kind), same[0].path))
    names = apart([(name, path) for _, name, path in found])
    return [(figure, name) for (figure, *_), name in zip(found, names, strict=True)]


# ---- what files are --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Source:
    """A file, the kind of its picture, and a function that makes its curves."""

    path: Path
    label: str
    kind: Kind
    curves: Callable[[], list[Curve]] = list
    run: tables.Columns | None = None  # the table of a run


def _labels(paths: Sequence[Path], options: Options) -> list[str]:
    """What files are called in a legend; those of one name have the names of their files too, or their places."""
    plainly = [
        _label(path, options.label, options.grid) if options.label else tables.run_name(path, paths) for path in paths
    ]
    found = plainly
    for more in (lambda path: path.name, str):
        found = [
            plain(f"{label} ({more(path)})") if found.count(now) > 1 else now
            for label, now, path in zip(plainly, found, paths, strict=True)
        ]
    return found


def _source(path: Path, label: str, options: Options) -> _Source:
    if is_table(path):
        return _table(path, label, options)
    with open_stored(path, options.grid) as stored:
        kind = kind_of_series(stored, options)
    return _Source(path, label, kind, lambda: _series_curves(path, label, kind, options))


def _label(path: Path, text: str, grid: Path | None) -> str:
    """A text with the values of the case that a file was made from."""
    case = _case_of(path, grid) if "{" in text else ""
    try:
        return plain(caption(text, tomllib.loads(case)))
    except ValueError as error:
        raise PlotError(f"{path}: --label {text}: {error if case else 'the file tells no case'}") from None


def _case_of(path: Path, grid: Path | None) -> str:
    """Its text; empty where a file tells none."""
    if is_table(path):
        return read_provenance(path).get("case", "") if is_ours(path, TIME_SERIES) else ""
    with open_stored(path, grid) as stored:
        return str(chosen_steps(stored, (), ())[0].attributes.get("case", ""))


def is_table(path: Path) -> bool:
    """Whether a file is drawn by its columns. Raises PlotError where there is no such file."""
    check_there(path)
    if is_pattern(path):
        return False
    if path.is_dir() or path.suffix in TABLES:
        return path.is_file()
    if is_time_series(path):
        return True
    return path.stat().st_size > 0 and not engine_at(str(path)) and is_ours(path, TIME_SERIES)


def _table(path: Path, label: str, options: Options) -> _Source:
    is_history = path.suffix == ".dat" and not is_time_series(path)
    columns = tables.history(path, options.dt) if is_history else tables.read_table(path)
    kind = options.kind or tables.kind_of_table(columns)
    if options.x is not None and options.kind is None and "time" in columns:
        kind = "time-series"
    run = columns if kind == "time-series" and tables.is_of_a_run(columns) else None
    if kind in ("slice", "isosurface", "channel"):
        raise PlotError(f"{path}: is a table, which has no {kind}")
    return _Source(
        path, label, kind, lambda: tables.table_curves(path, columns, label, options.columns, options.x), run
    )


def kind_of_series(stored: Series, options: Options) -> Kind:
    """The kind of picture of a series: the requested one, else curves of arrays, slices of fields, or numbers."""
    if options.kind is not None:
        return options.kind
    step = chosen_steps(stored, options.steps[:1], options.times[:1])[0]
    names = _array_names(step, options)
    if options.columns and not names and not set(options.columns) <= set(lines(step)):
        there = arrays.numbers(stored)
        wrong = next((name for name in options.columns if name not in there), None)
        if wrong is not None:
            raise PlotError(
                f"{stored.path}: {unknown('array or number', wrong, [*arrays.lists(step, 1), *there, *lines(step)])}"
            )
        return "time-series"
    if options.values:
        return "isosurface"
    if is_channel(step) and not (names or options.x or options.field or options.log or options.loglog):
        return "channel"
    if names or options.x or _has_curves(step, options):
        found = arrays.ordinates(step, stored.path, names, options.x, options.axis)
        return arrays.chosen(stored.path, found, None, names)[0]
    if thin := _kind_of_thin(step, options):
        return thin
    if options.field is not None or known_names(step) or arrays.lists(step, 2):
        return "slice"
    if arrays.numbers(stored):
        return "time-series"
    raise PlotError(f"{stored.path}: has no field, no array and no number in step {step.index}")


def _kind_of_thin(step: StoredStep, options: Options) -> Kind | None:
    """The kind of a step all of whose fields are stored at one point, or along a line; None of another."""
    if options.index is not None or options.at is not None:
        return None
    there = known_arrays(step)
    if options.field is None and there and points(step) == there:
        return "time-series"
    return "profile" if there and lines(step) == there and options.field in (None, *there) else None


def _has_curves(step: StoredStep, options: Options, kind: Kind | None = None) -> bool:
    """Whether a step has arrays to draw. If it also has fields, only arrays over another array count."""
    there = arrays.lists(step, 1)
    if not there or options.field is not None:
        return False
    if arrays.lists(step, 2) and all(map(is_abscissa, there)):  # they are the places of planes
        return False
    found = arrays.ordinates(step, "", [], None, None)
    return not known_names(step) or any(one.over in there and kind in (None, one.kind) for one in found)


def _array_names(step: StoredStep, options: Options) -> list[str]:
    """The requested stored arrays of one dimension, from the columns or the field."""
    there = arrays.lists(step, 1)
    asked = [*options.columns, *([options.field] if options.field is not None else [])]
    return [name for name in asked if name in there]


# ---- drawing ---------------------------------------------------------------------------------------------------------
def _draw_together(sources: Sequence[_Source], kind: Kind, options: Options) -> Figure:
    if kind == "channel":
        several = [one for source in sources for one in _profiles(source.path, source.label, options)]
        return draw_channel(several, options.reference)
    whole = not (options.columns or options.x or options.log or options.loglog or options.range or options.crop)
    runs = {source.label: source.run for source in sources if source.run is not None}
    if kind == "time-series" and whole and len(runs) == len(sources):
        for source in sources:
            _check_rows(source)
        reference = options.reference
        compared = None if reference is None else (reference.name, tables.history(reference, options.dt))
        return tables.draw_runs(runs, compared)
    if options.reference is not None:
        raise PlotError(
            "--reference is for the picture of whole runs and of channels, without --column, --x, --log or --loglog"
        )
    curves = [curve for source in sources for curve in source.curves()]
    both = options.loglog or kind == "spectrum"
    slopes = tuple(slope(text) for text in options.slopes) if both else ()
    return draw_curves(curves, Scales(both, both or options.log, slopes, options.range, options.crop))


def _check_rows(source: _Source) -> None:
    if source.run is not None and not len(source.run["time"]):
        raise PlotError(f"{source.path}: has no rows yet; is the run still at its first steps?")


def _profiles(path: Path, label: str, options: Options) -> list[Profiles]:
    """The profiles of the chosen steps; for a step without profiles, the last ones stored before it."""
    with open_stored(path, options.grid) as stored:
        steps = []
        for step in chosen_steps(stored, options.steps, options.times):
            at = stored.steps.position_of(step.index)
            steps.append(next((stored[one] for one in range(at, -1, -1) if is_channel(stored[one])), step))
        times = times_of([step.time for step in steps])
        labels = [f"{label}, t = {time}" if len(steps) > 1 else label for time in times]
        return [read_channel(step, stored.path, name) for step, name in zip(steps, labels, strict=True)]


def _series_curves(path: Path, label: str, kind: Kind, options: Options) -> list[Curve]:
    with open_stored(path, options.grid) as stored:
        if kind == "time-series":
            if options.x is not None:
                raise PlotError(f"{stored.path}: the numbers of a series are drawn over its time; leave --x out")
            return _some(stored.path, kind, arrays.number_curves(stored, options.columns, label))
        curves = []
        steps = chosen_steps(stored, options.steps, options.times)
        for step, time in zip(steps, times_of([step.time for step in steps]), strict=True):
            note = f"t = {time}"
            name = f"{label}, {note}" if len(steps) > 1 else label
            along = lines(step) if kind == "profile" else []
            asked = [*options.columns, *([options.field] if options.field is not None else [])]
            if along and set(asked) <= set(along):
                curves += [line_curve(step, stored.path, one, name, note) for one in asked or along]
                continue
            names = _array_names(step, options)
            wrong = next((one for one in options.columns if one not in names), None)
            if wrong is not None:
                raise PlotError(f"{stored.path}: {unknown('array', wrong, list(arrays.lists(step, 1)))}")
            if names or options.x or _has_curves(step, options, kind):
                found = arrays.ordinates(step, stored.path, names, options.x, options.axis)
                curves += arrays.stored_curves(step, arrays.chosen(stored.path, found, kind, names)[1], name, note)
            else:
                curves.append(computed_curve(step, stored.path, kind, options.field, options.axis, name, note))
        return curves


def _some(path: str, kind: Kind, curves: list[Curve]) -> list[Curve]:
    if not curves:
        raise PlotError(f"{path}: has nothing that is drawn as {kind}")
    return curves


def _one(given: Sequence[Any]) -> Any:
    return given[0] if given else None


def _look(options: Options) -> Look:
    return Look(options.range, options.colours, options.crop)


def _draw_slice(path: Path, options: Options) -> tuple[Figure, str]:
    step, time = _one(options.steps), _one(options.times)
    with open_stored(path, options.grid) as stored:
        one = chosen_steps(stored, options.steps, options.times)[0]
        planes = arrays.lists(one, 2)
        name = options.field if options.field in planes else None
        if options.field is None and planes and not known_names(one):
            name = next(iter(planes))
        if name is not None:
            if options.axis is not None or options.index is not None or options.at is not None:
                raise PlotError(f"{stored.path}: '{name}' has two dimensions; leave --axis, --index and --at out")
            return arrays.draw_table(
                one, name, _look(options)
            ), f"{head(path)}-{name}-step{stored.steps.position_of(one.index)}.png"
    plane = read_plane(
        path, options.field, axis=options.axis, index=options.index, at=options.at, step=step, time=time,
        grid=options.grid,
    )  # fmt: skip
    return draw_plane(
        plane, _look(options)
    ), f"{head(path)}-{in_name(plane.field)}-{plane.axis}{plane.index}-step{plane.step}.png"


def _draw_surface(path: Path, options: Options) -> tuple[Figure, str]:
    return draw_isosurface(
        path, options.field, values=options.values, step=_one(options.steps), time=_one(options.times),
        grid=options.grid,
    )  # fmt: skip


def _name(source: _Source, kind: Kind) -> str:
    return f"{source.path.stem}.png" if is_table(source.path) else f"{head(source.path)}-{kind}.png"
