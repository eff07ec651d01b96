"""Draws the time series of a run, and slices through its fields, as PNG files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure  # without pyplot: no window, and no shared state with plots of the user
from numpy.typing import NDArray

from tailrace.io.regular import refuse_special
from tailrace.io.time_series import read_time_series

AXES = ("x", "y", "z")
# Colours that can be distinguished in grey and with every kind of colour vision (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE: dict[Any, Any] = {
    "figure.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
}
_POSITIVE = ("vorticity",)
DRAWN = ("kinetic_energy", "dissipation", "dissipation_laplacian", "enstrophy")


class PlotError(ValueError):
    """A picture cannot be drawn. The message says what is missing and what is available."""


def plot_time_series(
    paths: Sequence[str | Path], out: str | Path, reference: str | Path | None = None, dt: float | None = None
) -> Path:
    """Draw kinetic energy, dissipation and enstrophy over time, one colour per run.

    The solid line of the dissipation is computed from the strain, the dashed line from the Laplacian. If the flow is
    resolved, both lines are the same.

    :param paths: time series of runs.
    :param reference: a time series, a `time_evol.dat` of Xcompact3D, or the published table; drawn as black dots.
    :param dt: the time step of a `time_evol.dat`, if there is no `input.i3d` beside it.
    :raises PlotError, TimeSeriesError, ConfigError: a file has no rows, or is not of the expected kind.
    """
    runs = [(_run_name(Path(path), paths), _history(Path(path), dt)) for path in paths]
    with rc_context(STYLE):
        figure = Figure(figsize=(7.0, 8.2), layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        for (name, columns), colour in zip(runs, itertools.cycle(COLOURS), strict=False):
            _draw_run(panels, name, columns, colour)
        if reference is not None:
            _draw_reference(panels, Path(reference), dt, until=max(columns["time"][-1] for _, columns in runs))
        titles = ("Kinetic energy  ⟨u·u⟩/2", "Dissipation", "Enstrophy  ⟨ω·ω⟩/2")
        for panel, title in zip(panels, titles, strict=True):
            panel.set_title(title, loc="left", fontsize=11)
            panel.set_ylim(bottom=0)
            panel.margins(x=0.01)
        panels[1].legend(loc="upper left")
        if len(runs) > 1 or reference is not None:
            panels[0].legend(loc="lower left")
        panels[-1].set_xlabel("time  t U / L")
        return save(figure, out)


def _run_name(path: Path, paths: Sequence[str | Path]) -> str:
    """The name of a run: its file name, together with the directory if several runs have the same file name."""
    same = sum(Path(other).name == path.name for other in paths) > 1
    return str(path.parent / path.stem) if same else path.stem.replace("_", " ")


def _history(path: Path, dt: float | None) -> Mapping[str, NDArray[Any]]:
    if path.suffix == ".csv":
        columns = read_time_series(path)
    else:
        from tailrace.formats.xcompact3d import read_history

        table = read_history(path, dt)
        columns = {name: table[name] for name in ("kinetic_energy", "dissipation", "enstrophy")}
        columns["time"], columns["dissipation_laplacian"] = table["t"], table["dissipation2"]
    missing = [name for name in DRAWN if name not in columns]
    if missing:
        raise PlotError(f"{path}: has no column {', '.join(missing)}; draw the time series of a run")
    if not len(columns["time"]):
        raise PlotError(f"{path}: has no rows yet; is the run still at its first steps?")
    return columns


def _draw_run(panels: Sequence[Axes], name: str, columns: Mapping[str, NDArray[Any]], colour: str) -> None:
    time = columns["time"]
    marker = "o" if len(time) == 1 else None  # a line of one point is not visible
    labels: tuple[str | None, str | None] = ("2ν⟨S:S⟩ (strain)", "−ν⟨u·∇²u⟩ (Laplacian)")
    if panels[1].lines:  # the labels of the first run are enough
        labels = (None, None)
    energy, dissipation, enstrophy = panels
    energy.plot(time, columns["kinetic_energy"], color=colour, marker=marker, label=name)
    dissipation.plot(time, columns["dissipation"], color=colour, marker=marker, label=labels[0])
    dissipation.plot(time, columns["dissipation_laplacian"], color=colour, ls="--", lw=1.2, label=labels[1])
    enstrophy.plot(time, columns["enstrophy"], color=colour, marker=marker)


def _draw_reference(panels: Sequence[Axes], path: Path, dt: float | None, until: float) -> None:
    columns = _history(path, dt)
    shown = columns["time"] <= until * 1.02 + 1e-12  # a long reference would make a short run very narrow
    # Draw about forty dots, because a second line on top of an equal line would hide it.
    some = np.flatnonzero(shown)[:: max(1, int(shown.sum()) // 40)]
    keys = ("kinetic_energy", "dissipation_laplacian", "enstrophy")
    for panel, key in zip(panels, keys, strict=True):
        style: dict[str, Any] = {
            "color": "black",
            "ls": "none",
            "marker": "o",
            "ms": 3.2,
            "mfc": "white",
            "mew": 0.8,
            "zorder": 4,
        }
        panel.plot(columns["time"][some], columns[key][some], label=f"reference: {path.name}", **style)


@dataclass(frozen=True)
class Plane:
    """A slice through a field: its values and its position. The rows are along the second of the two directions."""

    values: NDArray[Any]
    field: str
    axis: str
    index: int
    time: float
    step: int
    origin: tuple[float, float, float] | None = None  # of the whole field in x, y, z; None if the file has no origin
    spacing: tuple[float, float, float] | None = None


def plot_slice(
    path: str | Path,
    out: str | Path | None = None,
    field: str | None = None,
    axis: str = "z",
    index: int | None = None,
    step: int = -1,
) -> Path:
    """Draw a plane of a field that is normal to `axis`.

    :param path: a VTKHDF file (.h5), a BP directory (.bp) or a directory of raw snapshots.
    :param out: the picture; by default, the name contains the file, field, plane and step.
    :param field: the variable; by default the vorticity, or the first variable if there is no vorticity.
    :param index: the node along `axis`, negative from the end; by default the middle.
    :param step: the position of the stored step, negative from the end.
    :raises PlotError: the file has no such field, plane or step; the message lists what is available.
    """
    path = Path(path)
    plane = read_plane(path, field, axis, index, step)
    if out is None:
        out = f"{path.stem}-{plane.field}-{axis}{plane.index}-step{plane.step}.png"
    with rc_context({**STYLE, "axes.grid": False}):
        return save(_draw_plane(plane), out)


def _draw_plane(plane: Plane) -> Figure:
    across, up = (name for name in AXES if name != plane.axis)
    height, width = plane.values.shape
    spacing = {name: plane.spacing[at] if plane.spacing else 1.0 for at, name in enumerate(AXES)}
    origin = {name: plane.origin[at] if plane.origin else 0.0 for at, name in enumerate(AXES)}
    size = (width * spacing[across], height * spacing[up])
    # Pixels are centred on the nodes, so the picture is half a spacing larger on each side.
    left, bottom = origin[across] - spacing[across] / 2, origin[up] - spacing[up] / 2
    colours, low, high, extend = _colours(plane)
    figure = Figure(figsize=_figure_size(*size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(
        plane.values,
        origin="lower",
        extent=(left, left + size[0], bottom, bottom + size[1]),
        cmap=colours,
        interpolation="bilinear",  # the fields are smooth between nodes
        vmin=low,
        vmax=high,
    )
    unit = "" if plane.spacing else " (node)"
    axes.set(xlabel=across + unit, ylabel=up + unit)
    place = f"{plane.axis} = {origin[plane.axis] + plane.index * spacing[plane.axis]:.4g}"
    where = place if plane.spacing else f"{plane.axis} node {plane.index}"
    axes.set_title(f"{plane.field} at {where}, t = {plane.time:.4g}", loc="left", fontsize=11)
    bar = figure.colorbar(image, ax=axes, extend=extend, shrink=0.85, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    return figure


def _figure_size(width: float, height: float) -> tuple[float, float]:
    """The size of a figure for the plane in its proportions, with colour bar and title, which fits on a page."""
    scale = 5.6 / max(width, height)
    return max(3.2, width * scale) + 1.3, max(1.4, height * scale) + 0.8


def _colours(plane: Plane) -> tuple[str, float, float, str]:
    """Colour map and limits: dark to bright from zero for fields that cannot be negative, otherwise white at zero.

    A few extreme points would hide the contrast of all others, so the limits leave out 0.5 percent of the points.
    """
    finite = plane.values[np.isfinite(plane.values)]
    if not finite.size:
        raise PlotError(
            f"{plane.field}: the plane {plane.axis} = {plane.index} of step {plane.step} has no finite value"
        )
    top = float(np.percentile(np.abs(finite), 99.5)) or float(np.abs(finite).max()) or 1.0
    if plane.field in _POSITIVE:
        return "inferno", 0.0, top, "max" if finite.max() > top else "neither"
    below, above = finite.min() < -top, finite.max() > top
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(
        (bool(below), bool(above)), "neither"
    )
    return "RdBu_r", -top, top, extend


def read_plane(path: Path, field: str | None, axis: str, index: int | None, step: int) -> Plane:
    """A plane of a stored field; see `plot_slice`. Only this plane is read from the file."""
    if axis not in AXES:
        raise PlotError(f"axis must be x, y or z (found {axis!r})")
    if not path.exists():
        raise PlotError(f"{path}: there is no such file or directory")
    refuse_special(path)
    if path.suffix in (".h5", ".hdf", ".hdf5", ".vtkhdf"):
        return _vtkhdf_plane(path, field, axis, index, step)
    if path.is_dir() or path.suffix in (".bp", ".bp4", ".bp5"):
        return _series_plane(path, field, axis, index, step)
    raise PlotError(
        f"{path}: slices are drawn from .h5 (VTKHDF), .bp, .sion and raw snapshots, time series from .csv files"
    )


def _vtkhdf_plane(path: Path, field: str | None, axis: str, index: int | None, step: int) -> Plane:
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise PlotError(f"{path}: HDF5 does not open it: {error}") from None
    with file:
        root = file.get("VTKHDF")
        if root is None or "PointData" not in root:
            raise PlotError(f"{path}: is not a VTKHDF file: there is no group /VTKHDF/PointData")
        name = _pick(path, field, list(root["PointData"]))
        data = root["PointData"][name]
        times = root["Steps/Values"][...] if "Steps" in root else None
        at = _resolve(path, "step", step, 1 if times is None else len(times))
        shape = data.shape if times is None else data.shape[1:]
        node = _node(path, axis, index, shape)
        cut: list[Any] = [slice(None)] * 3
        cut[2 - AXES.index(axis)] = node
        if times is not None:
            offsets = root.get(f"Steps/PointDataOffsets/{name}")
            cut.insert(0, int(offsets[at]) if offsets is not None else at)
        values = _magnitude(np.asarray(data[tuple(cut)]))
        origin, spacing = (
            tuple(map(float, root.attrs[key])) if key in root.attrs else None for key in ("Origin", "Spacing")
        )
        time = float(times[at]) if times is not None else 0.0
        return Plane(values, name, axis, node, time, at, origin, spacing)  # type: ignore[arg-type]


def _series_plane(path: Path, field: str | None, axis: str, index: int | None, step: int) -> Plane:
    from tailrace.io import series

    with series.open(path) as stored:
        at = _resolve(path, "step", step, len(stored))
        current = stored[at]
        name = _pick(path, field, current.names)
        shape = current.variables[name][1]
        node = _node(path, axis, index, shape[::-1])
        start, count = [0, 0, 0], list(shape)
        start[AXES.index(axis)], count[AXES.index(axis)] = node, 1
        values = np.squeeze(current.read(name, (start, count)), axis=2 - AXES.index(axis))
        grid = stored.grid
        origin, spacing = (grid.origin, grid.spacing) if grid else (None, None)
        return Plane(values, name, axis, node, float(current.time), at, origin, spacing)


def _pick(path: Path, field: str | None, names: list[str]) -> str:
    if field is None and names:
        return "vorticity" if "vorticity" in names else names[0]
    if field not in names:
        raise PlotError(f"{path}: there is no field {field!r}; there are {', '.join(names) or 'none'}")
    return str(field)


def _resolve(path: Path, what: str, index: int, count: int) -> int:
    if not -count <= index < count:
        there = f"there are {count}, counted from 0" if count else "there are none"
        raise PlotError(f"{path}: there is no {what} {index}; {there}")
    return index % count


def _node(path: Path, axis: str, index: int | None, shape: Sequence[int]) -> int:
    count = shape[2 - AXES.index(axis)]
    return count // 2 if index is None else _resolve(path, f"node in {axis}", index, count)


def _magnitude(values: NDArray[Any]) -> NDArray[Any]:
    """The lengths of a plane of vectors. A plane of numbers is returned unchanged."""
    return np.sqrt((values**2).sum(axis=-1)) if values.ndim == 3 else values


def save(figure: Figure, out: str | Path) -> Path:
    """Write a picture. Missing directories are created."""
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(out, bbox_inches="tight", pad_inches=0.1)  # the title may be wider than the image
    except ValueError as error:  # matplotlib does not know the extension
        raise PlotError(f"{out}: {error}") from None
    return out
