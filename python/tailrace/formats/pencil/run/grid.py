"""The points of a run of the Pencil Code, with ghost zones: from `grid.dat` or an HDF5 file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.grids import StretchedGrid, Triple, UniformGrid
from tailrace.io.placement import Box

from ..files.hdf5 import has_group, open_hdf5, plain
from ..files.records import Records
from .dimensions import Dimensions

if TYPE_CHECKING:
    import h5py


@dataclass(frozen=True, eq=False)
class Axis:
    """A direction of the grid.

    :param points: coordinates, with ghost zones.
    :param spacing: the spacing of equally spaced points.
    :param length: the length of the box.
    :param inverse: 1 / (spacing at each point).
    :param tilde: -(second derivative of the mapping) / (first)^2 at each point, needed for second derivatives.
    """

    points: NDArray[Any]
    spacing: float
    length: float
    inverse: NDArray[Any]
    tilde: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Points:
    """The grid in x, y, z.

    :param ghosts: layers of each direction that are ghost zones, on each side.
    :param order: the byte order of its `grid.dat`, "<" or ">"; None for an HDF5 file.
    """

    axes: tuple[Axis, Axis, Axis]
    ghosts: Triple
    order: str | None = None

    @property
    def lengths(self) -> tuple[float, float, float]:
        """The lengths of the box."""
        x, y, z = (axis.length for axis in self.axes)
        return x, y, z

    def equal(self, direction: int) -> bool:
        """Whether its points are equally spaced, within the precision of the file."""
        along, g = self.axes[direction].points, self.ghosts[direction]
        if along.size == 2 * g + 1:  # a direction of one point; its ghost zones mean nothing
            return True
        step = np.diff(along)
        most = 16 * np.finfo(along.dtype).eps * max(abs(along[0]), abs(along[-1]), abs(step).max())
        return bool(np.ptp(step) <= most)

    def cut(self, box: Box) -> Points:
        """A part of the grid, with its ghost zones; `box` does not count ghost zones."""
        made = []
        for axis, start, count, g in zip(self.axes, box.start, box.count, self.ghosts, strict=True):
            here = slice(start, start + count + 2 * g)
            own = (axis.points[here], axis.spacing, count * axis.spacing, axis.inverse[here], axis.tilde[here])
            made.append(Axis(*own))
        x, y, z = made
        return Points((x, y, z), self.ghosts, self.order)

    def places(self, ghosts: bool) -> tuple[NDArray[Any], ...]:
        """The coordinates along x, y and z, with ghost zones if `ghosts`."""
        return tuple(
            axis.points if ghosts else axis.points[g : axis.points.size - g]
            for axis, g in zip(self.axes, self.ghosts, strict=True)
        )

    def placed(self, ghosts: bool, boundaries: tuple[str, str, str] | None) -> UniformGrid:
        """The grid for users, with ghost zones if `ghosts`."""
        used = self.places(ghosts)
        x, y, z = used
        points = (x.size, y.size, z.size)
        origin = (float(x[0]), float(y[0]), float(z[0]))
        first, second, third = (axis.spacing if axis.spacing > 0 else 1.0 for axis in self.axes)
        spacing = (first, second, third)
        if all(self.equal(direction) for direction in range(3)):
            return UniformGrid(points, origin, spacing, boundaries=boundaries)
        a, b, c = (() if self.equal(at) else tuple(map(float, along)) for at, along in enumerate(used))
        return StretchedGrid(points, origin, spacing, boundaries=boundaries, coordinates=(a, b, c))


def read_points(data: Path, dim: Dimensions, place: Callable[[int], Triple]) -> Points | None:
    """The grid of the whole box; None if no file has it, or if the sizes are those of a part.

    :param place: the position of a process in the grid of processes.
    :raises IoError: a file is damaged, or does not fit the sizes.
    """
    if dim.processes is None:
        return None
    for name in ("allprocs/grid.dat", "grid.dat"):
        if (data / name).is_file():
            return read_grid_file(data / name, dim)
    if (data / "grid.h5").is_file():
        with open_hdf5(data / "grid.h5") as file:
            return points_of_hdf5(file, dim)
    return _assembled(data, dim, place) if (data / "proc0" / "grid.dat").is_file() else None


def read_grid_file(path: Path, dim: Dimensions) -> Points:
    """A `grid.dat` of the whole box or of one process. Raises IoError if it is damaged or of another size."""
    held = dim.held
    with Records(path) as records:
        order = records.order
        found = [records.values(record, dim.real) for record in itertools.islice(records, 5)]
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
    return _checked(path, zip(points, spacing, lengths, inverse, tilde, strict=True), dim.ghosts, order)


def points_of_hdf5(file: h5py.File, dim: Dimensions) -> Points | None:
    """The grid of an HDF5 file of the code; None if it has no grid.

    :raises IoError: its arrays are of another size.
    """
    if not has_group(file, "grid"):
        return None
    axes = []
    for name, held, points in zip("xyz", dim.held, dim.points, strict=True):
        along = _array(file, f"grid/{name}", held)
        spacing = _array(file, f"grid/d{name}", 1, optional=True)
        step = float(spacing[0]) if spacing is not None else float(along[-1] - along[0]) / max(1, held - 1)
        length = _array(file, f"grid/L{name}", 1, optional=True)
        inverse = _array(file, f"grid/d{name}_1", held, optional=True)
        tilde = _array(file, f"grid/d{name}_tilde", held, optional=True)
        if inverse is None:
            inverse = np.full_like(along, 1.0 / step if step else 1.0)
        long = float(length[0]) if length is not None else step * points
        axes.append((along, step, long, inverse, np.zeros_like(along) if tilde is None else tilde))
    return _checked(Path(str(file.filename)), axes, dim.ghosts)


def _array(file: h5py.File, name: str, count: int, optional: bool = False) -> Any:
    data = plain(file, name)
    if data is None and optional and name not in file:
        return None
    if data is None or data.size != count or data.dtype.kind != "f" or data.dtype.itemsize > 8:
        found = "none" if data is None else f"{data.shape} of {data.dtype}"
        raise IoError(f"{file.filename}: its dataset {name} must have {count} real numbers; found {found}")
    return np.asarray(data[()]).reshape(-1).astype(data.dtype.newbyteorder("="))


def _split(values: NDArray[Any], held: Triple) -> list[NDArray[Any]]:
    native = values.astype(values.dtype.newbyteorder("="))
    return list(np.split(native, np.cumsum(held)[:-1]))


def _checked(path: Path, axes: Iterable[Any], ghosts: Triple, order: str | None = None) -> Points:
    made = [Axis(along, float(d), float(length), inverse, tilde) for along, d, length, inverse, tilde in axes]
    for name, axis, g in zip("xyz", made, ghosts, strict=True):
        for what, values in (("coordinates", axis.points), ("spacing", np.array([axis.spacing, axis.length]))):
            if not np.isfinite(values).all():
                raise IoError(f"{path}: the {what} in {name} are not finite numbers: the file is damaged")
        if axis.points.size > 2 * g + 1 and (np.diff(axis.points) <= 0).any():
            raise IoError(f"{path}: the coordinates in {name} do not increase: the file is damaged")
    x, y, z = made
    return Points((x, y, z), ghosts, order)


def _assembled(data: Path, dim: Dimensions, place: Callable[[int], Triple]) -> Points:
    """The whole grid, assembled from the grids of processes along each direction."""
    assert dim.processes is not None
    lines: list[dict[int, Axis]] = [{}, {}, {}]
    order: str | None = None
    lengths: tuple[float, ...] = ()
    for process in range(dim.ranks):
        here = place(process)
        new = [at for at in range(3) if sum(here) == here[at] and here[at] not in lines[at]]
        if new:
            part = read_grid_file(data / f"proc{process}" / "grid.dat", dim.local())
            order, lengths = order or part.order, part.lengths
            for at in new:
                lines[at][here[at]] = part.axes[at]
    axes = []
    for line, count, g, length in zip(lines, dim.processes, dim.ghosts, lengths, strict=True):
        parts = [line[i] for i in range(count)]
        cuts = [slice(0 if i == 0 else g, None if i == count - 1 else parts[i].points.size - g) for i in range(count)]
        points, inverse, tilde = (
            np.concatenate([getattr(part, what)[cut] for part, cut in zip(parts, cuts, strict=True)])
            for what in ("points", "inverse", "tilde")
        )
        axes.append((points, parts[0].spacing, length, inverse, tilde))
    return _checked(data / "proc0" / "grid.dat", axes, dim.ghosts, order)
