"""This rank's part of a step as a data set of VTK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.fields.neighbours import Neighbours
from tailrace.fields.vector import Vector

if TYPE_CHECKING:
    from tailrace.fields.field import Field


class VtkPart:
    """The nodes of this rank with the first of the next ranks, so that no cell is missing between ranks. Collective.

    `grid` is a vtkImageData, or a vtkRectilinearGrid where y is stretched; `whole` the extent of all ranks.

    :param arrays: fields and vectors on nodes by their names.
    """

    def __init__(self, arrays: Mapping[str, Field | Vector]) -> None:
        first = next(iter(arrays.values()))
        field: Field = first[0] if isinstance(first, Vector) else first
        shape = field.operators.shape(field.centred)
        self._neighbours = Neighbours.of(field, 0, 1, wrapped=False)
        self._nodes = [self._neighbours.places(d) for d in range(3)]
        self.whole = tuple(end for n in shape for end in (0, n - 1))
        self.grid = self._places(field)
        for name, values in arrays.items():
            self._add(name, values)

    def _places(self, field: Field) -> Any:
        from vtkmodules.util.numpy_support import numpy_to_vtk
        from vtkmodules.vtkCommonDataModel import vtkImageData, vtkRectilinearGrid

        extent = [int(end) for nodes in self._nodes for end in (nodes[0], nodes[-1])] if self._some else [0, -1] * 3
        along = [np.asarray(field.grid.coordinates[d]) for d in range(3)]
        grid: Any
        if not field.operators.grid.stretching:
            grid = vtkImageData()
            grid.SetOrigin(*(float(x[0]) for x in along))
            grid.SetSpacing(*(float((x[-1] - x[0]) / (len(x) - 1)) if len(x) > 1 else 1.0 for x in along))
        else:
            grid = vtkRectilinearGrid()
            sets = (grid.SetXCoordinates, grid.SetYCoordinates, grid.SetZCoordinates)
            for set_along, x, nodes in zip(sets, along, self._nodes, strict=True):
                set_along(numpy_to_vtk(np.ascontiguousarray(x[nodes], np.float64), deep=True))
        grid.SetExtent(*extent)
        return grid

    @property
    def _some(self) -> bool:
        return all(map(len, self._nodes))

    def _add(self, name: str, values: Field | Vector) -> None:
        from vtkmodules.util.numpy_support import numpy_to_vtk

        each = values if isinstance(values, Vector) else [values]
        parts = [self._neighbours.extended(one.data).ravel() for one in each]
        if not self._some:
            return
        array = numpy_to_vtk(parts[0] if len(parts) == 1 else np.stack(parts, axis=-1), deep=True)
        array.SetName(name)
        self.grid.GetPointData().AddArray(array)
