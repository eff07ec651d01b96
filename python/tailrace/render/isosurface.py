"""Isosurfaces of a field, drawn by VTK (the extra `render`) without a display.

VTK works in a child process: a graphics library that is missing or broken may end the program that loads it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from .picture_names import head
from .quantities import Quantity, quantity
from .slices import coordinates_of
from .stored import chosen_steps, open_stored
from .style import COLOURS, IMAGE_STYLE, TITLE, PlotError, in_name, plain
from .surface_program import NO_GRAPHICS, NO_LIBRARY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailrace.steps.stored_step import StoredStep

_SIZE = (1300, 1100)  # pixels of the image in the picture
_LIMIT = 600  # seconds that VTK may take


def draw_isosurface(
    path: str | Path,
    field: str | None = None,
    *,
    values: Sequence[float] = (),
    step: int | None = None,
    time: float | None = None,
    grid: Path | None = None,
) -> tuple[Figure, str]:
    """Surfaces on which a field has given values.

    :param field: see `slices.read_plane`.
    :param values: by default one, a standard deviation above the mean (of lambda2 below it).
    :returns: the figure, and a name for its file.
    :raises PlotError: there is no such field or step, a value is not in it, or VTK or its graphics library is missing.
    """
    with open_stored(Path(path), grid) as stored:
        (one,) = chosen_steps(stored, [] if step is None else [step], [] if time is None else [time])
        shown = quantity(one, field, stored.path)
        if min(shown.shape) < 2:
            raise PlotError(f"{stored.path}: '{shown.name}' is a plane; an isosurface needs a volume")
        data = np.ascontiguousarray(shown.read(None), dtype=np.float32)
        wanted = _values(stored.path, shown, data, values)
        data, places = _closed(one, shown, data)
        title = f"{shown.name} = {', '.join(f'{value:.4g}' for value in wanted)}, t = {one.time:.4g}"
        position = stored.steps.position_of(one.index)
        image = render(data, places, wanted)
        return _figure(image, title), f"{head(Path(path))}-{in_name(shown.name)}-isosurface-step{position}.png"


def _values(path: str, shown: Quantity, data: NDArray[Any], values: Sequence[float]) -> list[float]:
    """The values of the surfaces; each must lie within the range of the field."""
    finite = data[np.isfinite(data)]
    if not finite.size:
        raise PlotError(f"{path}: '{shown.name}' has no finite value")
    low, high = float(finite.min()), float(finite.max())
    for value in values:
        if not low < value < high:
            raise PlotError(f"{path}: '{shown.name}' is {low:.4g} to {high:.4g}; there is no surface at {value:g}")
    if low == high:
        raise PlotError(f"{path}: '{shown.name}' is {low:.4g} everywhere; there is no surface in it")
    if values:
        return list(values)
    away = float(finite.std(dtype=float)) * (-1 if shown.name == "lambda2" else 1)
    default = float(finite.mean(dtype=float)) + away
    return [default if low < default < high else 0.5 * (low + high)]


def _closed(
    step: StoredStep, shown: Quantity, data: NDArray[Any]
) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The field with the closing planes of periodic directions, and its coordinates (without a grid, node numbers)."""
    places = coordinates_of(step, shown)
    if places is None:
        x, y, z = (np.arange(count, dtype=float) for count in shown.shape)
        return data, (x, y, z)
    known = step.known
    if known.grid is not None:
        periodic = [kind == "periodic" for kind in known.grid.boundaries]
        data = np.pad(data, [(0, int(one)) for one in reversed(periodic)], mode="wrap")
        x, y, z = (
            np.append(along, along[0] + length) if one else along
            for along, length, one in zip(places, known.grid.lengths, periodic, strict=True)
        )
        places = (x, y, z)
    return data, places


def render(
    data: NDArray[Any], places: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], values: Sequence[float]
) -> NDArray[np.uint8]:
    """An image of surfaces in a box, (rows, columns, 3).

    :param data: (nz, ny, nx), float32.
    :param places: coordinates in x, y, z.
    :raises PlotError: VTK or its graphics library is missing, or fails.
    """
    with tempfile.TemporaryDirectory(prefix="tailrace-") as name:
        folder = Path(name)
        np.save(folder / "data.npy", data)
        for axis, along in zip("xyz", places, strict=True):
            np.save(folder / f"{axis}.npy", along)
        about = {"values": list(values), "colours": COLOURS, "size": _SIZE}
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
        command = [sys.executable, "-P", str(Path(__file__).with_name("surface_program.py")), str(folder)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            raise PlotError(f"VTK did not draw the isosurface within {_LIMIT} s") from None
        if done.returncode:
            raise PlotError(_why(done.returncode, done.stderr))
        return _without_margins(np.load(folder / "image.npy"))


def _without_margins(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = (np.flatnonzero((image < 250).any(axis=(2, other))) for other in (1, 0))
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _why(code: int, errors: str) -> str:
    lines = errors.strip().splitlines()
    last = lines[-1] if lines else ""
    if code in (NO_LIBRARY, NO_GRAPHICS):
        return last
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else "failed"
    return (
        f"VTK {how} when it drew the isosurface{': ' + last if last else ''}. Is the graphics library whole? Debian: "
        "libegl1 and libgl1-mesa-dri"
    )


def _figure(image: NDArray[np.uint8], title: str) -> Figure:
    rows, columns, _ = image.shape
    with rc_context(IMAGE_STYLE):
        figure = Figure(figsize=(columns / 180, rows / 180 + 0.3), layout="constrained")
        axes = figure.subplots()
        axes.imshow(image, interpolation="lanczos")
        axes.set_axis_off()
        axes.set_title(plain(title), **TITLE)
    return figure
