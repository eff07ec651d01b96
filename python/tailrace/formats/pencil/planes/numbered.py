"""HDF5 files of numbered groups: averages and slices. All is local."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored, Triple, triple
from tailrace.io.values import Scalar

from ..files.frames import latest
from ..run.dim import Run
from ..snapshots.hdf5 import open_hdf5, refuse_large_chunks
from .assembled import describe

if TYPE_CHECKING:
    import h5py

_SLICE = re.compile(r"(\w{1,60})_((?:xy|xz|yz)\d?)", re.ASCII)
_AVERAGES = ("x", "y", "z", "xy", "xz", "yz")
_MOST_VARIABLES = 10_000


def is_numbered(path: Path) -> bool:
    """By its name: `averages/z.h5`, `slices/bb1_xy.h5`."""
    kind = path.parent.name
    return path.suffix == ".h5" and (
        (kind == "averages" and path.stem in _AVERAGES)
        or (kind == "slices" and _SLICE.fullmatch(path.stem) is not None)
    )


class Numbered(Dataset):
    """Averages, or the slices of one field.

    :raises IoError: the file is damaged, or of another size than the run.
    """

    format = "pencil"

    def __init__(self, path: Path, run: Run) -> None:
        super().__init__(str(path))
        self._is_slice = path.parent.name == "slices"
        match = _SLICE.fullmatch(path.stem)
        self._field = match[1] if match else ""
        axes = (match[2] if match else "".join(axis for axis in "xyz" if axis not in path.stem))[:2]
        axes = "".join(axis for axis in axes if axis in "xyz")
        self._shape: Triple = triple(n if axis in axes else 1 for axis, n in zip("xyz", run.dim.points, strict=True))
        self._axes = axes
        with open_hdf5(path) as file:
            numbers, times = self._numbers(file)
            kept, self.notes = latest(path, times)
            self._groups = [numbers[at] for at in kept]
            self._stored = {0: self._variables(file, self._groups[0])}  # position -> name -> type
        self.steps = [(int(self._is_slice) + at, times[frame]) for at, frame in enumerate(kept)]
        self.files = [str(path)]
        describe(self, run, f"{path.parent.name}/{path.stem}", self._shape)

    def _numbers(self, file: h5py.File) -> tuple[list[int], list[float]]:
        last = _number(file, self.path, "last", "i")
        first = int(self._is_slice)
        if not first <= last < first + len(file):
            raise IoError(f"{self.path}: says 'last' is {last}; expected the number of one of its {len(file)} groups")
        numbers = list(range(first, int(last) + 1))
        times = [_number(file, self.path, f"{number}/time", "f") for number in numbers]
        if not np.isfinite(times).all():
            raise IoError(f"{self.path}: has a time that is no finite number: the file is damaged")
        return numbers, times

    def _variables(self, file: h5py.File, number: int) -> dict[str, str]:
        names = ["data"] if self._is_slice else [str(n) for n in file[str(number)] if n not in ("time", "r")]
        found = {}
        for name in names[:_MOST_VARIABLES]:
            data = _array(file, self.path, f"{number}/{name}", self._dataset_shape())
            found[self._field if self._is_slice else name] = data.dtype.newbyteorder("=").name
        if not found:
            raise IoError(f"{self.path}: its group {number} has no array")
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stored": {0: self._stored[0]}}

    def _dataset_shape(self) -> tuple[int, ...]:
        """Of a dataset: the directions that are there, the slowest first."""
        return tuple(n for axis, n in zip("zyx", reversed(self._shape), strict=True) if axis in self._axes)

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`: those of its own group, as averages can begin and end while a run goes on.

        :raises IoError: the group is damaged.
        """
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
        number = self._groups[position]
        with open_hdf5(Path(self.path)) as file:
            return {
                "position": float(_number(file, self.path, f"{number}/position", "f")),
                "coordinate": int(_number(file, self.path, f"{number}/coordinate", "i")),
            }

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        if 0 in box.count:
            return
        x, y, z = (slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
        places = tuple(part for axis, part in (("z", z), ("y", y), ("x", x)) if axis in self._axes)
        with open_hdf5(Path(self.path)) as file:
            where = f"{self._groups[position]}/{'data' if self._is_slice else name}"
            data = _array(file, self.path, where, self._dataset_shape())
            flat = out.reshape([n for axis, n in zip("zyx", out.shape, strict=True) if axis in self._axes])
            try:
                data.read_direct(flat, places)
            except (OSError, RuntimeError) as error:
                raise IoError(f"{self.path}: {where} cannot be read: {error}") from None

    def check(self, position: int) -> list[str]:
        """See `Dataset.check`."""
        try:
            with open_hdf5(Path(self.path)) as file:
                self._variables(file, self._groups[position])
            self.scalars(position)
        except IoError as error:
            return [str(error)]
        return []


def plain(file: h5py.File, name: str) -> Any:
    """A dataset whose values lie in the file itself, else None: links out of it could name any file."""
    import h5py

    try:
        data = file.get(name)
    except (KeyError, OSError, RuntimeError):
        return None
    if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual or data.file != file:
        return None
    refuse_large_chunks(data)
    return data


def _number(file: h5py.File, path: str, name: str, kind: str) -> Any:
    data = plain(file, name)
    if data is None or data.size != 1 or data.dtype.kind != kind:
        raise IoError(f"{path}: has no {name} with one {'whole' if kind == 'i' else 'real'} number: it is damaged")
    return np.asarray(data[()]).reshape(-1)[0].item()


def _array(file: h5py.File, path: str, name: str, shape: tuple[int, ...]) -> Any:
    data = plain(file, name)
    if data is None or data.shape != shape or data.dtype.kind != "f" or data.dtype.itemsize not in (4, 8):
        found = "no array in the file itself" if data is None else f"{data.shape} of {data.dtype}"
        raise IoError(f"{path}: its {name} is {found}; expected {shape} real numbers as the run has points")
    return data
