"""Write a collection of VTK's XML files: `NAME.pvd`, and `NAME.pvd.steps` with a file for each step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from tailrace.core import InputError
from tailrace.files.whole import allocate, publish, write_text
from tailrace.formats.writer import Writer
from tailrace.grids import UniformGrid, triple
from tailrace.io.placement import Box, Stored
from tailrace.io.values import Scalar
from tailrace.parallel import agree, on_root

from .layout import TYPES, Layout, counts, layout_of


class VtkWriter(Writer):
    """Images, or rectilinear grids where the source is stretched. Lists are in the field data."""

    format = "pvd"
    family = "vtk"

    def prepare(self) -> None:
        """Nothing is made before the first step."""
        self._steps: list[tuple[float, str]] = []
        self._directory = Path(f"{self.path}.steps")
        self._draft = self._directory / ".step.tmp"
        self._file = -1
        self._index_and_time = (0, 0.0)

    def begin_step(  # noqa: D102
        self, index: int, time: float, variables: Mapping[str, Stored], scalars: Mapping[str, Scalar]
    ) -> None:
        for name, one in variables.items():
            if one.dtype not in TYPES:
                raise InputError(f"variable {name!r}: has the type {one.dtype}; VTK takes {', '.join(TYPES)}")
        if scalars and not any("numbers" in note for note in self.notes):
            self.notes.append("single numbers and texts of steps are left out: files of VTK have arrays")
        grid = self.grid or _grid_of(variables)
        self._layout: Layout = layout_of(self._draft, grid, variables, index=index, time=time)
        self._stretched, self._time = any(map(len, grid.uneven)), time
        self._joined: dict[str, str] = {}  # of each vector the first component that this rank has written
        on_root(self.comm, self._begin)
        self._file = agree(self.comm, lambda: os.open(self._draft, os.O_RDWR | os.O_CLOEXEC))

    def _begin(self) -> None:
        self._directory.mkdir(exist_ok=True)
        allocate(self._draft, self._layout.end)
        with self._draft.open("r+b") as file:
            for offset, text in counts(self._layout):
                file.seek(offset)
                file.write(text)

    def write(self, name: str, box: Box, values: NDArray[Any]) -> None:  # noqa: D102
        self._layout.arrays[name].write(self._file, box, values)
        for vector, parts in self._layout.parts.items():
            if name in parts:
                self._join(vector, name, parts.index(name), box, values)

    def _join(self, vector: str, name: str, component: int, box: Box, values: NDArray[Any]) -> None:
        """Write a component between the others, which are read again: no rank holds three components of its part."""
        array = self._layout.vectors[vector]
        (x, y, z), (nx, ny, nz) = box
        wide = Box((3 * x, y, z), (3 * nx, ny, nz))
        points = np.zeros((nz, ny, 3 * nx), array.dtype)
        if self._joined.setdefault(vector, name) != name:
            array.read(wide, points)
        points[:, :, component::3] = values
        array.write(self._file, wide, points)

    def end_step(self) -> None:  # noqa: D102
        agree(self.comm, self._close_file)
        name = f"step-{len(self._steps):06d}.{'vtr' if self._stretched else 'vti'}"
        on_root(self.comm, lambda: publish(self._draft, self._directory / name))
        self._steps.append((self._time, name))

    def _close_file(self) -> None:
        file, self._file = self._file, -1
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def abandon_step(self) -> None:  # noqa: D102
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self.comm.rank == 0:
            self._draft.unlink(missing_ok=True)

    def close(self) -> None:
        """Write the list of steps."""
        rows = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="1.0">', "<Collection>"]
        for time, name in self._steps:
            file = quoteattr(f"{self._directory.name}/{name}")
            rows.append(f'<DataSet timestep="{time!r}" part="0" file={file}/>')
        text = "\n".join([*rows, "</Collection>", "</VTKFile>", ""])
        on_root(self.comm, lambda: write_text(Path(self.path), text))


def _grid_of(variables: Mapping[str, Stored]) -> UniformGrid:
    """Points with the distance 1, if the source does not say where they are: those of the largest array."""
    shapes = [one.shape for one in variables.values() if not one.is_list]
    return UniformGrid(triple(max(shapes, key=lambda shape: int(np.prod(shape)), default=(1, 1, 1))))
