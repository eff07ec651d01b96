"""Snapshots and statistics of a run: a headerless file for each variable and number."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.core import IoError
from tailrace.formats.flat_array import FlatArray

from .arrays import FlatDataset, fitting, known_aliases
from .run import Xcompact3dRun
from .xdmf import time_in

NAME = re.compile(r"(\w[\w.+-]*)-(\d{1,12})\.bin")
STATISTIC = re.compile(r"([a-z]\w*)\.dat(\d{1,12})")


class Xcompact3dSnapshots(FlatDataset):
    """The files `NAME-NUMBER.bin` of a directory. `only`: read only this file."""

    pattern = NAME

    def __init__(self, path: str, directory: Path, run: Xcompact3dRun, only: str | None = None) -> None:
        super().__init__(path)
        self.directory, self.run = directory, run
        self._shapes = run.shapes(self.coarsening)
        found = self._find(only)
        self.files = [
            str(run.source),
            *(str(directory / name) for _, files in sorted(found.items()) for name in files.values()),
        ]
        found = self._fitting(found)
        self._files = [files for _, files in sorted(found.items())]
        self.steps = [self.step(number) for number in sorted(found)]
        self.attributes = run.dataset_attributes()
        self.aliases = known_aliases(self._files)
        self.notes += run.notes()
        self.removable = [str(directory / name) for files in self._files for name in files.values()]
        self._set_times(sorted(found))
        self._set_grid()

    @property
    def coarsening(self) -> int:
        """Every n-th point is stored."""
        return self.run.coarsening[0]

    def step(self, number: int) -> tuple[int, float]:
        """Time step and time of the files with a number."""
        return self.run.step(number)

    def arrays(self, position: int) -> dict[str, FlatArray]:
        """The arrays of a step."""
        return {
            name: fitting(self.directory / file, self._shapes) for name, file in sorted(self._files[position].items())
        }

    def array(self, position: int, name: str) -> FlatArray:
        """One array, without checking the other files."""
        return fitting(self.directory / self._files[position][name], self._shapes)

    def _find(self, only: str | None) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = {}
        try:
            names = [only] if only else sorted(entry.name for entry in self.directory.iterdir())
        except OSError as error:
            raise IoError(f"{self.directory}: cannot be listed: {error.strerror}") from None
        for name in sorted(names, key=len):  # without zeros before the number first
            match = self.pattern.fullmatch(name)
            if match is None:
                continue
            variables = found.setdefault(int(match[2]), {})
            if match[1] in variables:
                self.notes.append(f"{self.directory / name}: left out; {variables[match[1]]} has the same number")
            else:
                variables[match[1]] = name
        return found

    def _fitting(self, found: dict[int, dict[str, str]]) -> dict[int, dict[str, str]]:
        """The files with fields on the points of the run; notes say why others are left out.

        :raises IoError: there are no such files.
        """
        kept: dict[int, dict[str, str]] = {}
        on_cells: dict[str, list[str]] = {}
        first: IoError | None = None
        for number, files in sorted(found.items()):
            for name, file in sorted(files.items()):
                try:
                    fitting(self.directory / file, self._shapes)
                except IoError as error:
                    first = first or error
                    if self._is_on_cells(file):
                        on_cells.setdefault(name, []).append(file)
                    else:
                        self.left_out.append(f"{error}: left out")
                    continue
                kept.setdefault(number, {})[name] = file
        if first and not kept:
            raise first
        for name, names in on_cells.items():
            cells = " x ".join(map(str, self.run.cells))
            self.notes.append(f"{name}: left out: {len(names)} files ({names[0]}, ...) have the size of {cells} cells")
        return kept

    def _is_on_cells(self, file: str) -> bool:
        try:
            fitting(self.directory / file, [self.run.cells])
        except IoError:
            return False
        return True

    def _set_times(self, numbers: list[int]) -> None:
        """Take times from the XDMF files beside the snapshots, if they have any; those of Xcompact3D do not."""
        if numbers and time_in(self.directory / f"snapshot-{numbers[0]}.xdmf") is not None:
            for at, number in enumerate(numbers):
                time = time_in(self.directory / f"snapshot-{number}.xdmf")
                if time is not None:
                    self.steps[at] = (self.steps[at][0], time)

    def _set_grid(self) -> None:
        first = self._files[0]
        shape = fitting(self.directory / first.get("ux", min(first.values())), self._shapes).shape
        self.grid = self.run.grid(shape, self.coarsening)
        if shape != self.run.points:
            self.notes.append(
                f"the fields have {' x '.join(map(str, shape))} of the {' x '.join(map(str, self.run.points))} points "
                "of the run"
            )


class Xcompact3dStatistics(Xcompact3dSnapshots):
    """The files `NAME.datSTEP` of `statistics`: running means up to that time step."""

    pattern = STATISTIC

    @property
    def coarsening(self) -> int:
        """Every n-th point is stored."""
        return self.run.coarsening[1]

    def step(self, number: int) -> tuple[int, float]:
        """The number in the name is the time step."""
        return number, number * self.run.dt if self.run.dt else float(number)
