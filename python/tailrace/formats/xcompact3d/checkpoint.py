"""The restart file of Xcompact3D: arrays one after the other, with `restart.info` beside it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray
from tailrace.grids import Triple, triple

from .arrays import FlatDataset, size_of
from .run import MOST_POINTS, Xcompact3dRun, read_namelist, refuse_problems, within

INFO = "restart.info"
_EARLIER = {2: (2,), 3: (2, 3)}  # itimescheme -> the right-hand sides that are stored
_LEVELS = {1: (1, 2), 2: (2, 3), 3: (3, 4), 4: (4, 5), 5: (2, 3), 6: (2, 5)}  # stored levels of drho and of rho


class Xcompact3dCheckpoint(FlatDataset):
    """The state of a run at one time step; `pp` is on the cells and holds pressure times a part of dt.

    :param run: the run from the input file; None without one.
    """

    format = "xcompact3d-checkpoint"

    def __init__(self, path: Path, run: Xcompact3dRun | None) -> None:
        super().__init__(str(path))
        info = path.parent / INFO
        self.steps, run = read_info(info, run, self.notes)
        names = layout(run)
        width = _find_width(path, run, names)
        if width is None:
            raise _wrong_size(path, info, run, names)
        bytes_of, cells = width
        self._arrays = placed(path, run, f"<f{bytes_of}", cells)
        self.grid = run.grid(run.points)
        self.attributes = {**run.dataset_attributes(), "itimescheme": run.scheme}
        self.aliases = {f"phi{number:02}": f"phi-{number:02}" for number in range(1, run.scalars + 1)}
        self.files = [str(path), str(info), *([str(run.source)] if run.source != info else [])]

    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays in the file."""
        last = max(array.end for array in self._arrays.values())
        size = size_of(Path(self.path))
        if size != last:
            raise IoError(f"{self.path}: has {size} bytes; expected {last}: it has changed since it was opened")
        return self._arrays


def is_checkpoint(path: Path, run: Xcompact3dRun | None) -> bool:
    """Whether a file beside a `restart.info` is the checkpoint: by its name, else by its size."""
    info = path.parent / INFO
    if not info.is_file():
        return False
    if path.name == "checkpoint":
        return True
    try:
        _, found = read_info(info, run, [])
        return _find_width(path, found, layout(found)) is not None
    except IoError:
        return False


def layout(run: Xcompact3dRun) -> list[str]:
    """The names of the arrays in their order; `pp` is the only one on cells."""
    earlier = _EARLIER.get(run.scheme, ())
    names = ["ux", "uy", "uz", *(f"du{axis}-{level}" for level in earlier for axis in "xyz"), "pp"]
    for scalar in range(1, run.scalars + 1):
        names += [f"phi-{scalar:02}", *(f"dphi-{scalar:02}-{level}" for level in earlier)]
    if run.density:
        slopes, levels = _LEVELS.get(run.scheme, (2, 3))
        names += [f"rho-{level:02}" for level in range(1, levels + 1)]
        names += [*(f"drho-{level:02}" for level in range(1, slopes + 1)), "mu"]
    if run.induction:
        names += ["bx", "by", "bz", *(f"db{axis}-{level}" for level in (2, 3) if run.scheme == 3 for axis in "xyz")]
    return names


def placed(path: Path, run: Xcompact3dRun, dtype: str, cells: Triple) -> dict[str, FlatArray]:
    """The arrays of a restart file, by their names. `cells`: the cells of the pressure."""
    arrays: dict[str, FlatArray] = {}
    offset = 0
    for name in layout(run):
        arrays[name] = FlatArray(path, offset, cells if name == "pp" else run.points, dtype)
        offset = arrays[name].end
    return arrays


def read_info(info: Path, run: Xcompact3dRun | None, notes: list[str]) -> tuple[list[tuple[int, float]], Xcompact3dRun]:
    """The step, and the run, completed from the file."""
    nml = read_namelist(info, "Time")
    index = within(nml, "Time", "itime", 0, 1 << 40)
    time = nml.real("Time", "tfield")
    points = [within(nml, "NumParam", key, 1, MOST_POINTS) for key in ("nx", "ny", "nz")]
    lengths = [nml.real("NumParam", key) for key in ("Lx", "Ly", "Lz")]
    scheme = within(nml, "NumParam", "itimescheme", 1, 9, run.scheme if run else 5)
    scalars = within(nml, "NumParam", "numscalar", 0, 99, run.scalars if run else 0)
    if nml.has("NumParam", "iscalar") and not nml.raw("NumParam", "iscalar"):
        scalars = 0
    if all(isinstance(length, int | float) for length in lengths) and not min(lengths) > 0:
        nml.reject("NumParam.Lx", f"and Ly, Lz must be greater than 0 (found {lengths})")
    refuse_problems(nml)
    if run is None:
        notes.append(f"{info}: there is no input.i3d with it: boundaries are not known, and lengths have 4 digits")
        run = Xcompact3dRun(info, triple(points), (float(lengths[0]), float(lengths[1]), float(lengths[2])), None)
    elif run.points != triple(points):
        raise IoError(f"{info}: says {points} points; expected {list(run.points)}, as in {run.source}")
    if run.dt and abs(index * run.dt - time) <= 1e-4:
        if round(time, 4) == time:  # Xcompact3D writes 4 digits after the point
            time = index * run.dt
    elif run.dt:
        notes.append(
            f"{info}: its time {time:g} is not itime * dt = {index * run.dt:g}: it is taken, with its 4 digits"
        )
    return [(index, float(time))], replace(run, scheme=scheme, scalars=scalars)


def _find_width(path: Path, run: Xcompact3dRun, names: list[str]) -> tuple[int, Triple] | None:
    """Bytes of a real number, and the shape of the cells; None if nothing fits the file's size."""
    size, nodes = size_of(path), math.prod(run.points) * (len(names) - 1)
    if run.ends is not None:
        choices = [run.cells]
    else:
        between = [(n, max(1, n - 1)) for n in run.points]
        choices = [triple(shape) for shape in itertools.product(*between)]
    fits = [
        (width, cells) for width in (8, 4) for cells in choices
        if size == width * (nodes + math.prod(cells))
    ]  # fmt: skip
    if len(set(fits)) > 1:
        raise IoError(
            f"{path}: its pressure can have {' or '.join(str(cells) for _, cells in fits)} cells in x, y, z; put the "
            "input.i3d of the run beside it, which says which directions are periodic"
        )
    return fits[0] if fits else None


def _wrong_size(path: Path, info: Path, run: Xcompact3dRun, names: list[str]) -> IoError:
    nodes = math.prod(run.points) * (len(names) - 1)
    total = nodes + math.prod(run.cells)
    return IoError(
        f"{path}: has {size_of(path)} bytes; expected {8 * total} (float64) or {4 * total} (float32) for "
        f"{', '.join(names)[:200]} on {' x '.join(map(str, run.points))} points, as {info} and {run.source} say: it is "
        "cut off, or of another run"
    )
