"""HDF5 files of numbered groups: averages and slices."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.formats.damage import errors_of
from tailrace.grids import triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar

from ..files.frames import latest
from ..files.hdf5 import number, open_hdf5, plain, read_values, time_of
from ..run.run import PencilRun
from .dataset import PlaneDataset

if TYPE_CHECKING:
    import h5py

_SLICE = re.compile(r"(\w{1,60})_((?:xy|xz|yz)\d?)", re.ASCII)
_AVERAGES = ("x", "y", "z", "xy", "xz", "yz")
_MOST_VARIABLES = 10_000


def is_numbered(path: Path) -> bool:
    """Whether a file is of this kind, by its name: `averages/z.h5`, `slices/bb1_xy.h5`."""
    kind = path.parent.name
    return path.suffix == ".h5" and (
        (kind == "averages" and path.stem in _AVERAGES)
        or (kind == "slices" and _SLICE.fullmatch(path.stem) is not None)
    )


class Numbered(PlaneDataset):
    """Averages, or the slices of one field. Raises IoError if the file is damaged, or of another size than the run."""

    def __init__(self, path: Path, run: PencilRun) -> None:
        self._is_slice = path.parent.name == "slices"
        match = _SLICE.fullmatch(path.stem)
        self._field = match[1] if match else ""
        self._axes = match[2][:2] if match else "".join(axis for axis in "xyz" if axis not in path.stem)
        shape = triple(n if axis in self._axes else 1 for axis, n in zip("xyz", run.dim.points, strict=True))
        super().__init__(str(path), run, f"{path.parent.name}/{path.stem}", shape)
        with open_hdf5(path) as file:
            groups, times = self._numbers(file)
            kept, self.notes = latest(path, times)
            self._groups = [groups[at] for at in kept]
            self._stored = {0: self._variables(file, self._groups[0])}  # position -> name -> type
        self.steps = [(int(self._is_slice) + at, times[frame]) for at, frame in enumerate(kept)]
        self.files = [str(path)]

    def _numbers(self, file: h5py.File) -> tuple[list[int], list[float]]:
        last = number(file, "last", "i")
        first = int(self._is_slice)
        if not first <= last < first + len(file):
            raise IoError(f"{self.path}: says 'last' is {last}; expected the number of one of its {len(file)} groups")
        groups = list(range(first, last + 1))
        return groups, [time_of(file, f"{group}/time") for group in groups]

    def _variables(self, file: h5py.File, group: int) -> dict[str, str]:
        names = ["data"] if self._is_slice else [str(n) for n in file[str(group)] if n not in ("time", "r")]
        found = {}
        for name in names[:_MOST_VARIABLES]:
            data = _array(file, f"{group}/{name}", self._dataset_shape())
            found[self._field if self._is_slice else name] = data.dtype.newbyteorder("=").name
        if not found:
            raise IoError(f"{self.path}: its group {group} has no array")
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stored": {0: self._stored[0]}}

    def _dataset_shape(self) -> tuple[int, ...]:
        """The shape of a dataset: only the stored directions, the slowest first."""
        return tuple(n for axis, n in zip("zyx", reversed(self._shape), strict=True) if axis in self._axes)

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`: each group has its own, because a run can start and end averages."""
        if position not in self._stored:
            with open_hdf5(Path(self.path)) as file:
                found = self._variables(file, self._groups[position])
            same = self._stored[0]
            self._stored[position] = same if found == same else found
        return {name: Stored(dtype, self._shape, False) for name, dtype in self._stored[position].items()}

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset.scalars`."""
        if not self._is_slice:
            return {}
        group = self._groups[position]
        with open_hdf5(Path(self.path)) as file:
            return {
                "position": number(file, f"{group}/position", "f"),
                "coordinate": number(file, f"{group}/coordinate", "i"),
            }

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        if 0 in box.count:
            return
        x, y, z = (slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
        places = tuple(part for axis, part in (("z", z), ("y", y), ("x", x)) if axis in self._axes)
        flat = out.reshape([n for axis, n in zip("zyx", out.shape, strict=True) if axis in self._axes])
        name = f"{self._groups[position]}/{'data' if self._is_slice else name}"
        read_values(Path(self.path), name, self._dataset_shape(), places, flat)

    def check(self, position: int) -> list[str]:
        """See `Dataset.check`."""

        def look() -> None:
            with open_hdf5(Path(self.path)) as file:
                self._variables(file, self._groups[position])
            self.scalars(position)

        return errors_of(look)


def _array(file: h5py.File, name: str, shape: tuple[int, ...]) -> Any:
    data = plain(file, name)
    if data is None or data.shape != shape or data.dtype.kind != "f" or data.dtype.itemsize not in (4, 8):
        found = "no array in the file itself" if data is None else f"{data.shape} of {data.dtype}"
        raise IoError(f"{file.filename}: its {name} is {found}; expected {shape} real numbers as the run has points")
    return data
