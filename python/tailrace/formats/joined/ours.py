"""A series of Tailrace as one of many files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tailrace.grids import triple
from tailrace.io import series
from tailrace.io.dataset import Dataset
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar


class SeriesDataset(Dataset):
    """The steps of a series, which is open only while it is read. `path`: where it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._series: series.ArraySeries | None = None
        with self._opened() as found:
            self.format = found.engine  # type: ignore[misc] # of this one
            self.steps = [(step.index, step.time) for step in found]
            self.attributes, self.grid, self.files = found.attributes, found.grid, found.files
            self._variables = [step.variables for step in found]
            self._scalars = [step.scalars for step in found]
            names = [{name[:-2] for name in one if name.endswith("_1")} for one in self._variables]
            self._vectors = [
                {name: tuple(f"{name}_{i + 1}" for i in range(3)) for name in some if step.components(name) == 3}
                for step, some in zip(found, names, strict=True)
            ]
        self.close()

    def _opened(self) -> series.ArraySeries:
        if self._series is None:
            from mpi4py import MPI

            self._series = series.open(self.path, "r", comm=MPI.COMM_SELF)
        return self._series

    def __getstate__(self) -> dict[str, Any]:
        """Without the open series."""
        return self.__dict__ | {"_series": None}

    def variables(self, position: int) -> dict[str, Stored]:
        """See `Dataset`."""
        return self._variables[position]

    def vectors(self, position: int) -> dict[str, tuple[str, str, str]]:
        """See `Dataset`."""
        return self._vectors[position]  # type: ignore[return-value] # of three

    def scalars(self, position: int) -> dict[str, Scalar]:
        """See `Dataset`."""
        return self._scalars[position]

    def read(self, position: int, name: str, box: Box, out: NDArray[Any]) -> None:
        """See `Dataset`."""
        values = self._opened().steps[position].read(name, Box(triple(box.start), triple(box.count)))
        out[...] = values.reshape(out.shape)

    def check(self, position: int) -> list[str]:
        """What its checksums find."""
        return self._opened().steps[position].verify()

    def unchecked(self, position: int) -> list[str]:
        """The variables of a step that have no checksum."""
        return list(self._opened().steps[position].unchecked)

    def share(self, other: Dataset) -> None:
        """See `Dataset`."""
        super().share(other)
        if isinstance(other, SeriesDataset) and self._variables == other._variables:
            self._variables, self._vectors = other._variables, other._vectors

    def close(self) -> None:
        """See `Dataset`."""
        if self._series is not None:
            self._series.close()
            self._series = None
