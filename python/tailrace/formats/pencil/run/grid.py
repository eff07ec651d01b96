"""The points of a run of the Pencil Code, with ghost zones: from `grid.dat` or an HDF5 file. All is local."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.io.placement import Box, StretchedGrid, Triple, UniformGrid

from ..files.records import Records
from ..snapshots.hdf5 import open_hdf5, refuse_large_chunks
from .dim import Dim, Run, read_dim

if TYPE_CHECKING:
    import h5py


@dataclass(frozen=True, eq=False)
class Axis:
    """A direction of the grid.

    :param points: coordinates, ghost zones too.
    :param spacing: where it is equal.
    :param length: of the box.
    :param inverse: 1 / (spacing at each point).
    :param tilde: -(second derivative of the mapping) / (first)^2 at each point: what second derivatives need.
    """

    points: NDArray[Any]
    spacing: float
    length: float
    inverse: NDArray[Any]
    tilde: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Points:
    """The grid in x, y, z; `ghosts` layers of each direction are ghost zones on each side."""

    axes: tuple[Axis, Axis, Axis]
    ghosts: Triple

    @property
    def lengths(self) -> tuple[float, float, float]:
        """Of the box."""
        x, y, z = (axis.length for axis in self.axes)
        return x, y, z

    def equal(self, direction: int) -> bool:
        """Whether its points are equally spaced, within the precision of the file."""
        along, g = self.axes[direction].points, self.ghosts[direction]
        if along.size == 2 * g + 1:  # a direction of one point, whose ghost zones say nothing
            return True
        step = np.diff(along)
        most = 16 * np.finfo(along.dtype).eps * max(abs(along[0]), abs(along[-1]), abs(step).max())
        return bool(np.ptp(step) <= most)

    def cut(self, box: Box) -> Points:
        """A part, with its own ghost zones; the box does not count them."""
        made = []
        for axis, start, count, g in zip(self.axes, box.start, box.count, self.ghosts, strict=True):
            here = slice(start, start + count + 2 * g)
            made.append(
                Axis(axis.points[here], axis.spacing, count * axis.spacing, axis.inverse[here], axis.tilde[here])
            )
        x, y, z = made
        return Points((x, y, z), self.ghosts)

    def placed(self, ghosts: bool, boundaries: tuple[str, str, str] | None) -> UniformGrid:
        """The grid for users.

        :param ghosts: with ghost zones.
        """
        used = [
            axis.points if ghosts else axis.points[g : axis.points.size - g]
            for axis, g in zip(self.axes, self.ghosts, strict=True)
        ]
        x, y, z = used
        points = (x.size, y.size, z.size)
        origin = (float(x[0]), float(y[0]), float(z[0]))
        first, second, third = (axis.spacing if axis.spacing > 0 else 1.0 for axis in self.axes)
        spacing = (first, second, third)
        if all(self.equal(direction) for direction in range(3)):
            return UniformGrid(points, origin, spacing, boundaries=boundaries)
        a, b, c = (() if self.equal(at) else tuple(map(float, along)) for at, along in enumerate(used))
        return StretchedGrid(points, origin, spacing, boundaries=boundaries, coordinates=(a, b, c))


def read_points(run: Run, order: str | None = None) -> Points | None:
    """The grid of the whole box; None where no file tells it.

    :raises IoError: a file is damaged, or does not fit the sizes.
    """
    for name in ("allprocs/grid.dat", "grid.dat"):
        if (run.data / name).is_file():
            return read_grid_file(run.data / name, run.dim, order)
    if (run.data / "grid.h5").is_file():
        with open_hdf5(run.data / "grid.h5") as file:
            return points_of_hdf5(file, run.dim)
    if run.dim.processes is not None and (run.data / "proc0" / "grid.dat").is_file():
        return _assembled(run, order)
    return None


def read_grid_file(path: Path, dim: Dim, order: str | None = None) -> Points:
    """A `grid.dat` of the whole box or of one process.

    :raises IoError: it is damaged or of another size.
    """
    held = dim.held
    with Records(path, order) as records:
        found: list[NDArray[Any]] = []
        for record in records:
            if len(found) == 5:
                break
            found.append(records.values(record, dim.real))
    counts = [sum(held) + 4, 3, 3, sum(held), sum(held)]
    sizes = [values.size for values in found]
    if len(found) < 2 or sizes != counts[: len(found)]:
        raise IoError(
            f"{path}: its records have {sizes} values; expected {counts} for {' x '.join(map(str, held))} points, "
            "ghost zones too"
        )
    points = _split(found[0][1:-3], held)
    spacing = found[1]
    lengths = found[2] if len(found) > 2 else [d * n for d, n in zip(spacing, dim.points, strict=True)]
    if len(found) == 5:
        inverse, tilde = _split(found[3], held), _split(found[4], held)
    else:  # an older version, for equal spacing only
        inverse = [np.full_like(along, 1.0 / d) for along, d in zip(points, spacing, strict=True)]
        tilde = [np.zeros_like(along) for along in points]
    return _checked(path, [*zip(points, spacing, lengths, inverse, tilde, strict=True)], dim.ghosts)


def points_of_hdf5(file: h5py.File, dim: Dim) -> Points | None:
    """The grid of an HDF5 file of the code; None where it has none.

    :raises IoError: its arrays are of another size.
    """
    import h5py

    if not isinstance(file.get("grid"), h5py.Group):
        return None
    path = Path(str(file.filename))
    axes = []
    for name, held, points in zip("xyz", dim.held, dim.points, strict=True):
        along = _array(file, path, f"grid/{name}", held)
        spacing = _array(file, path, f"grid/d{name}", 1, optional=True)
        step = float(spacing[0]) if spacing is not None else float(along[-1] - along[0]) / max(1, held - 1)
        length = _array(file, path, f"grid/L{name}", 1, optional=True)
        inverse = _array(file, path, f"grid/d{name}_1", held, optional=True)
        tilde = _array(file, path, f"grid/d{name}_tilde", held, optional=True)
        axes.append(
            (
                along,
                step,
                float(length[0]) if length is not None else step * points,
                np.full_like(along, 1.0 / step if step else 1.0) if inverse is None else inverse,
                np.zeros_like(along) if tilde is None else tilde,
            )
        )
    return _checked(path, axes, dim.ghosts)


def _array(file: h5py.File, path: Path, name: str, count: int, optional: bool = False) -> Any:
    import h5py

    data = file.get(name)
    if data is None and optional:
        return None
    if not isinstance(data, h5py.Dataset) or data.size != count or data.dtype.kind != "f" or data.dtype.itemsize > 8:
        found = f"{data.shape} of {data.dtype}" if isinstance(data, h5py.Dataset) else "none"
        raise IoError(f"{path}: its dataset {name} must have {count} real numbers; found {found}")
    refuse_large_chunks(data)
    return np.asarray(data[()]).reshape(-1).astype(data.dtype.newbyteorder("="))


def _split(values: NDArray[Any], held: Triple) -> list[NDArray[Any]]:
    native = values.astype(values.dtype.newbyteorder("="))
    return list(np.split(native, np.cumsum(held)[:-1]))


def _checked(path: Path, axes: list[Any], ghosts: Triple) -> Points:
    made = [Axis(along, float(d), float(length), inverse, tilde) for along, d, length, inverse, tilde in axes]
    for name, axis, g in zip("xyz", made, ghosts, strict=True):
        for what, values in (("coordinates", axis.points), ("spacing", np.array([axis.spacing, axis.length]))):
            if not np.isfinite(values).all():
                raise IoError(f"{path}: the {what} in {name} are not finite numbers: the file is damaged")
        if axis.points.size > 2 * g + 1 and (np.diff(axis.points) <= 0).any():
            raise IoError(f"{path}: the coordinates in {name} do not increase: the file is damaged")
    x, y, z = made
    return Points((x, y, z), ghosts)


def _assembled(run: Run, order: str | None) -> Points:
    """From the grids of the processes along each direction."""
    assert run.dim.processes is not None
    px, py, pz = run.dim.processes
    lines: list[dict[int, Axis]] = [{}, {}, {}]
    lengths: tuple[float, ...] = ()
    for process in range(px * py * pz):
        place = run.place(process)
        new = [at for at in range(3) if sum(place) == place[at] and place[at] not in lines[at]]
        if not new:
            continue
        directory = run.data / f"proc{process}"
        own = read_dim(directory / "dim.dat") if (directory / "dim.dat").exists() else run.dim.local()
        part = read_grid_file(directory / "grid.dat", own, order)
        lengths = part.lengths
        for at in new:
            lines[at][place[at]] = part.axes[at]
    axes = []
    for at, (line, count) in enumerate(zip(lines, run.dim.processes, strict=True)):
        parts = [line[i] for i in range(count)]
        g = run.dim.ghosts[at]
        cuts = [slice(0 if i == 0 else g, None if i == count - 1 else parts[i].points.size - g) for i in range(count)]
        joined = [
            np.concatenate([getattr(part, what)[cut] for part, cut in zip(parts, cuts, strict=True)])
            for what in ("points", "inverse", "tilde")
        ]
        axes.append((joined[0], parts[0].spacing, lengths[at], joined[1], joined[2]))
    return _checked(run.data / "proc0" / "grid.dat", axes, run.dim.ghosts)
