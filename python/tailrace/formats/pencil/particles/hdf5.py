"""Particles and stalkers in HDF5 files: `PVARn.h5`, `PSTALKn.h5`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tailrace.core import IoError
from tailrace.io.placement import Box, Stored

from ..dataset import PencilDataset
from ..files.hdf5 import open_hdf5, plain, read_values, time_of
from ..run.run import PencilRun

_NAME = re.compile(r"(PVAR|PSTALK)(\d{1,9})\.h5|pvar\.h5")
_TYPES = {("f", 4): "float32", ("f", 8): "float64", ("i", 4): "int32", ("i", 8): "int64"}


def is_lists(path: Path) -> bool:
    """Whether a file has particles or stalkers, by its name."""
    return _NAME.fullmatch(path.name) is not None


class Hdf5Lists(PencilDataset):
    """Lists with one column: the groups `part` or `stalker`, and `proc`. A file is a step.

    :param path: a file, or the data directory of several.
    :param files: the files, all of one kind.
    """

    def __init__(self, path: Path, run: PencilRun, files: Sequence[Path]) -> None:
        self._files = sorted((_ListFile(file) for file in files), key=lambda file: file.index)
        super().__init__(str(path), run, self._files[0].kind)
        self.steps = [(file.index, file.time) for file in self._files]
        if run.points is not None and self._files[0].kind != "PSTALK":
            self.grid = run.points.placed(False, None)
        self.files = [str(file.path) for file in self._files]

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset.variables`."""
        return self._files[position].stored

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset.read`."""
        if 0 not in box.count:
            self._files[position].read(name, box.start[1], box.count[1], out)


class _ListFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        match = _NAME.fullmatch(path.name)
        kind = (match[1] if match else None) or "pvar"
        self.kind, self.index = kind, int(match[2]) if match and match[2] else 0
        self._places: dict[str, str] = {}
        self.stored: dict[str, Stored] = {}
        with open_hdf5(path) as file:
            self.time = time_of(file)
            rows = 0
            for group in ("stalker" if kind == "PSTALK" else "part", "proc"):
                for name in file.get(group, ()):
                    data = plain(file, f"{group}/{name}")
                    dtype = None if data is None else _TYPES.get((data.dtype.kind, data.dtype.itemsize))
                    if data is None or data.ndim != 1 or dtype is None:
                        raise IoError(f"{path}: its {group}/{name} is no list of numbers in the file itself")
                    rows = rows or len(data)
                    if group != "proc" and len(data) != rows:
                        raise IoError(f"{path}: its {group}/{name} has {len(data)} values; others have {rows}")
                    self._places[str(name)] = f"{group}/{name}"
                    self.stored[str(name)] = Stored(dtype, (1, len(data), 1), True)
        if not self.stored:
            raise IoError(f"{path}: has no particles: the file is damaged")

    def read(self, name: str, begin: int, count: int, out: NDArray[Any]) -> None:
        """Rows [begin, begin + count) of a list."""
        shape = self.stored[name].shape[1:2]
        read_values(self.path, self._places[name], shape, (slice(begin, begin + count),), out.reshape(-1))
