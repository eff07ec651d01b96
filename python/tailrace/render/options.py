"""What a user chooses of a picture, and whether it fits together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tailrace.steps.abscissae import KINDS, Kind

from .curves import slope
from .style import AXES, Crop, PlotError


@dataclass(frozen=True)
class Options:
    """The choices of the user. An option that the kind of picture does not use is an error.

    :param kind: the kind of picture; by default that of the content.
    :param columns: columns of tables, numbers or arrays of series; by default all.
    :param x: the column or array that is the abscissa.
    :param field: the quantity on points, see `quantities.quantity`.
    :param axis: the direction normal to a slice, or along a profile or a one-dimensional spectrum.
    :param index, at: the place of a slice: a node, or a coordinate.
    :param steps, times: stored steps by position, -1 being the last, and by the nearest time.
    :param values: values of isosurfaces.
    :param log, loglog: a logarithmic axis of values; both axes logarithmic. Spectra always have both.
    :param range: the first and the last value of the colours of a slice, or of the axis of curves.
    :param crop: the part that is shown, of a slice or of curves: left, right, bottom and top, as the axes have them.
    :param colours: the colour map of a slice, of matplotlib; by default by its values.
    :param slopes: exponents of reference lines, as "-5/3"; both axes must be logarithmic.
    :param label: a name for each file in legends, in which {reynolds} is that key of its case; by default its name.
    :param reference: a history that runs are compared with, or a table of profiles for a channel.
    :param dt: the time step of a `time_evol.dat`.
    :param grid: a TOML file with the grid, for a series without one.
    """

    kind: Kind | None = None
    columns: Sequence[str] = ()
    x: str | None = None
    field: str | None = None
    axis: str | None = None
    index: int | None = None
    at: float | None = None
    steps: Sequence[int] = ()
    times: Sequence[float] = ()
    values: Sequence[float] = ()
    log: bool = False
    loglog: bool = False
    range: tuple[float, float] | None = None
    crop: Crop | None = None
    colours: str = ""
    slopes: Sequence[str] = ()
    label: str = ""
    reference: Path | None = None
    dt: float | None = None
    grid: Path | None = None

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [one.name for one in fields(self) if getattr(self, one.name) not in (one.default, [])]


_CURVES = {"kind", "columns", "x", "log", "loglog", "slopes", "range", "crop", "label"}
_OF_STEPS = {"field", "axis", "steps", "times", "grid"}
_USED: dict[Kind, set[str]] = {
    "time-series": {*_CURVES, "reference", "dt", "grid"},
    "spectrum": _CURVES | _OF_STEPS,
    "histogram": (_CURVES | _OF_STEPS) - {"axis"},
    "profile": _CURVES | _OF_STEPS,
    "slice": {"kind", "index", "at", "range", "crop", "colours", *_OF_STEPS},
    "isosurface": {"kind", "values", *_OF_STEPS} - {"axis"},
    "channel": {"kind", "steps", "times", "grid", "reference", "label"},
}
EACH: set[Kind] = {"slice", "isosurface"}  # kinds with one picture for each file
_FLAGS = {"columns": "--column", "slopes": "--slope", "steps": "--step", "times": "--time", "values": "--value"}


def check(options: Options) -> None:
    """Check each option by itself. Raises PlotError."""
    if options.kind is not None and options.kind not in KINDS:
        raise PlotError(f"--kind {options.kind}: expected one of {', '.join(KINDS)}")
    if options.axis is not None and options.axis not in AXES:
        raise PlotError(f"axis must be x, y or z (found {options.axis!r})")
    for text in options.slopes:
        slope(text)
    if options.range is not None and not options.range[0] < options.range[1]:
        raise PlotError(f"--range takes two rising numbers (found {options.range[0]:g} {options.range[1]:g})")
    if options.range is not None and (options.log or options.loglog) and options.range[0] <= 0:
        raise PlotError(f"--range {options.range[0]:g}: a logarithmic axis begins above 0")
    if options.crop is not None:
        left, right, bottom, top = options.crop
        if not (left < right and bottom < top):
            told = " ".join(f"{end:g}" for end in options.crop)
            raise PlotError(f"--crop takes left, right, bottom and top, rising in both directions (found {told})")


def check_used(options: Options, kinds: Sequence[Kind]) -> None:
    """Check that each option is of one of these kinds of pictures, and that they fit together. Raises PlotError."""
    for name in options.given():
        if not any(name in _USED[kind] for kind in kinds):
            users = [one for one in KINDS if name in _USED[one]]
            flag = _FLAGS.get(name, f"--{name}")
            raise PlotError(
                f"{flag} is for pictures of the kind {' or '.join(users)}; this is a {' and a '.join(kinds)}"
            )
    for name in ("steps", "times"):
        for kind in EACH.intersection(kinds):
            if len(getattr(options, name)) > 1:
                raise PlotError(f"{_FLAGS[name]}: a {kind} shows one step")
    if options.steps and options.times:
        raise PlotError("steps are given by --step or by --time; leave one of them out")
    if options.crop and options.range and not EACH.intersection(kinds):
        raise PlotError("--range and --crop both say the ends of the axis of values; leave one of them out")
    if options.slopes and not (options.loglog or "spectrum" in kinds):
        raise PlotError("--slope is a line between two logarithmic axes; add --loglog")
