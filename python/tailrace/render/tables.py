"""Time series and other tables (.csv): the picture of a run, and any column over time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from tailrace.files.marks import TIME_SERIES, is_ours
from tailrace.files.regular import open_regular
from tailrace.formats.pencil import time_series as pencil
from tailrace.io.time_series import read_provenance, read_time_series
from tailrace.steps.abscissae import Kind, kind_of

from .curves import Curve
from .quantities import unknown
from .stored import check_there
from .style import COLOURS, STYLE, TITLE, PlotError, begin_at_zero, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

RUN = ("kinetic_energy", "dissipation", "dissipation_laplacian", "enstrophy")
_TAKEN = "dissipation_laplacian"
RUN_TIME = "time  t U / L"
Columns = Mapping[str, "NDArray[Any]"]


def run_name(path: Path, paths: Sequence[Path]) -> str:
    """A name for a file in a legend, with its directory if several files have the same name."""
    same = sum(other.name == path.name for other in paths) > 1
    name = str(path.parent / path.stem) if same else path.stem.replace("_", " ")
    return plain(name.lstrip("_ ") or path.name)  # in legends a name that begins with _ is left out


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """The columns of a time series, or of another table: a line of names, then lines of numbers, with commas.

    Lines that begin with # are comments. A `time_series.dat` or `time_series.h5` of the Pencil Code is read, too.

    :raises PlotError, TimeSeriesError: it is not such a table.
    :raises OSError: it cannot be read.
    """
    if pencil.is_time_series(path):
        return pencil.read_time_series(path)[0]
    if is_ours(path, TIME_SERIES) and path.stat().st_size:
        return read_time_series(path)
    with open_regular(path, encoding="utf-8", errors="replace") as file:
        lines = [(number, line) for number, line in enumerate(file, 1) if line.strip() and line[0] != "#"]
    if not lines:
        raise PlotError(f"{path}: is empty")
    names = [word.strip().strip('"') for word in lines[0][1].split(",")]
    if any(_is_number(name) or not name for name in names) or len(set(names)) < len(names):
        raise PlotError(f"{path}: is no table: its first line is not the different names of columns, with commas")
    rows = np.empty((len(lines) - 1, len(names)))
    for row, (number, line) in zip(rows, lines[1:], strict=True):
        words = line.split(",")
        if len(words) != len(names) or not all(_is_number(word) for word in words):
            raise PlotError(f"{path}, line {number}: expected {len(names)} numbers, found: {line.strip()[:60]}")
        row[:] = [float(word) for word in words]
    return {name: rows[:, at].copy() for at, name in enumerate(names)}


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def is_of_a_run(columns: Columns) -> bool:
    """Whether a table has the columns of the picture of a run."""
    return "time" in columns and all(name in columns for name in RUN)


def kind_of_table(columns: Columns) -> Kind:
    """The kind of picture of a table: time series if it has times, else the kind of its first column."""
    return "time-series" if "time" in columns else kind_of(next(iter(columns)))


def table_curves(path: Path, columns: Columns, label: str, names: Sequence[str], x: str | None) -> list[Curve]:
    """Columns of a table over its time or its first column.

    :param names: the columns to draw; all if empty.
    :param x: the column that is the abscissa instead.
    :raises PlotError: a column does not exist; the message has all names.
    """
    over = x or ("time" if "time" in columns else next(iter(columns)))
    for name in (over, *names):
        if name not in columns:
            raise PlotError(f"{path}: {unknown('column', name, list(columns))}")
    if not len(columns[over]):
        raise PlotError(f"{path}: has no rows yet")
    shown = list(names) or [name for name in columns if name not in (over, "step", "time")]
    if not shown:
        raise PlotError(f"{path}: has no column but {', '.join(columns)}")
    x_label = RUN_TIME if over == "time" and _is_by_a_run(path) else over
    if kind_of(over) == "spectrum":
        x_label = f"wave number  {over}"
    return [Curve(name, columns[over], columns[name], x_label, label) for name in shown]


def _is_by_a_run(path: Path) -> bool:
    """Whether a table is in the units of a run: the velocity and length scales of its flow."""
    return path.suffix == ".csv" and is_ours(path, TIME_SERIES) and bool(read_provenance(path).get("case"))


def history(path: Path, dt: float | None = None) -> Columns:
    """The columns of the picture of a run, from a time series, or from a history of Xcompact3D.

    :param dt: the time step of a `time_evol.dat`, if there is no `input.i3d` beside it.
    :raises PlotError, TimeSeriesError, ConfigError: the file has no rows, or is not of the expected kind.
    """
    check_there(path)
    columns: Columns
    if path.suffix == ".csv":
        columns = read_time_series(path)
    else:
        from tailrace.formats.xcompact3d.history import read_history

        table = read_history(path, dt)
        columns = {name: table[name] for name in ("kinetic_energy", "dissipation", "enstrophy")} | {
            "time": table["t"],
            "dissipation_laplacian": table["dissipation2"],
        }
    missing = [name for name in RUN if name not in columns]
    if missing:
        raise PlotError(f"{path}: has no column {', '.join(missing)}; draw the time series of a run")
    if not len(columns["time"]):
        raise PlotError(f"{path}: has no rows yet; is the run still at its first steps?")
    return columns


def draw_runs(runs: Mapping[str, Columns], reference: tuple[str, Columns] | None = None) -> Figure:
    """Kinetic energy, dissipation and enstrophy over time, one colour per run.

    The solid line of the dissipation is computed from the strain, the dashed line from the Laplacian. If the flow is
    resolved, both lines are the same.

    A single run with the column energy_residual also has the balance of its energy.

    :param runs: the columns of each run by name, see `history`.
    :param reference: a name and columns, drawn as black dots.
    """
    (only, *others) = runs.values()
    balanced = not others and reference is None and bool(np.isfinite(only.get("energy_residual", np.nan)).any())
    with rc_context(STYLE):
        figure = Figure(figsize=(7.0, 10.4 if balanced else 8.2), layout="constrained")
        panels = figure.subplots(4 if balanced else 3, 1, sharex=True)
        if balanced:
            _draw_balance(panels[3], only)
        for (name, columns), colour in zip(runs.items(), itertools.cycle(COLOURS), strict=False):
            _draw_run(panels[:3], name, columns, colour)
        if reference is not None:
            _draw_reference(panels, *reference, until=max(columns["time"][-1] for columns in runs.values()))
        for panel, title in zip(
            panels[:3], ("Kinetic energy  ⟨u·u⟩/2", "Dissipation", "Enstrophy  ⟨ω·ω⟩/2"), strict=True
        ):
            panel.set_title(title, **TITLE)
            begin_at_zero(panel)
            panel.margins(x=0.01)
        panels[1].legend(loc="best")
        if len(runs) > 1 or reference is not None:
            panels[0].legend(loc="lower left")
        panels[-1].set_xlabel(RUN_TIME)
    return figure


def _draw_balance(panel: Axes, columns: Columns) -> None:
    """What forces give, what the solver takes, what the energy gains, and what is left."""
    work, taken, left = (columns.get(name, 0.0 * columns["time"]) for name in ("work", _TAKEN, "energy_residual"))
    parts = {"work": work, "− dissipation": -taken, "d energy / dt": work - taken + left, "residual": left}
    for (label, values), colour in zip(parts.items(), COLOURS, strict=False):
        if label != "work" or np.any(work):
            panel.plot(columns["time"], values, color=colour, lw=1.2, label=label)
    share = np.nanmax(np.abs(left)) / max(np.nanmax(np.abs(taken)), np.nanmax(np.abs(work)), 1e-300)
    panel.set_title(f"Balance of energy, residual up to {share:.1g} of the largest part", **TITLE)
    panel.legend(loc="best", ncols=2)


def _draw_run(panels: Sequence[Axes], name: str, columns: Columns, colour: str) -> None:
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


def _draw_reference(panels: Sequence[Axes], name: str, columns: Columns, until: float) -> None:
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
        panel.plot(columns["time"][some], columns[key][some], label=f"reference: {plain(name)}", **style)
