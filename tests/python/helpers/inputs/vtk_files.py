"""Files of VTK, written by VTK itself in all of its forms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Form(NamedTuple):
    """How values are written: `mode` is "Ascii", "Binary" or "Appended"; a `compressor` is "", "ZLib" or "LZMA"."""

    mode: str
    base64: bool
    compressor: str
    wide: bool  # lengths of 64 bits

    def __str__(self) -> str:
        return (
            f"{self.mode}-{'base64' if self.base64 else 'raw'}-{self.compressor or 'plain'}-{64 if self.wide else 32}"
        )


FORMS = [
    Form(mode, base64, compressor, wide)
    for mode, base64, compressor, wide in itertools.product(
        ("Ascii", "Binary", "Appended"), (True, False), ("", "ZLib", "LZMA"), (True, False)
    )
    if (mode == "Appended" or base64) and (mode != "Ascii" or (wide and not compressor))
]
DEFAULT = Form("Appended", True, "ZLib", False)  # what VTK and ParaView write if nothing is said


def points(extent: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The numbers of the points of an extent in x, y, z, each (nz, ny, nx)."""
    along = [np.arange(extent[2 * d], extent[2 * d + 1] + 1.0) for d in (2, 1, 0)]
    return reversed(np.meshgrid(*along, indexing="ij"))


def values(extent: tuple[int, ...], salt: float = 0) -> np.ndarray:
    """No two points have the same value, whatever piece they are in."""
    x, y, z = points(extent)
    return x + 100 * y + 10_000 * z + salt


def write(
    path: Path,
    extent: tuple[int, ...] = (0, 5, 0, 3, 0, 2),
    *,
    form: Form = DEFAULT,
    salt: float = 0,
    stretched: bool = False,
) -> Path:
    """A grid with p (float64), f (float32), n (int16) and U (three components) on points, c on cells, and its time."""
    from vtkmodules.vtkIOXML import vtkXMLImageDataWriter, vtkXMLRectilinearGridWriter

    writer = vtkXMLRectilinearGridWriter() if stretched else vtkXMLImageDataWriter()
    writer.SetInputData(_grid(extent, salt, stretched))
    writer.SetFileName(str(path))
    getattr(writer, f"SetDataModeTo{form.mode}")()
    writer.SetEncodeAppendedData(form.base64)
    getattr(writer, f"SetCompressorTypeTo{form.compressor or 'None'}")()
    writer.SetBlockSize(512)  # several blocks
    (writer.SetHeaderTypeToUInt64 if form.wide else writer.SetHeaderTypeToUInt32)()
    assert writer.Write() == 1
    return path


def _grid(extent: tuple[int, ...], salt: float, stretched: bool) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData, vtkRectilinearGrid

    grid = vtkRectilinearGrid() if stretched else vtkImageData()
    grid.SetExtent(*extent)
    if stretched:
        for d, set_coordinates in enumerate((grid.SetXCoordinates, grid.SetYCoordinates, grid.SetZCoordinates)):
            along = np.arange(extent[2 * d], extent[2 * d + 1] + 1.0)
            set_coordinates(numpy_to_vtk(along + 0.1 * along**2, deep=True))
    else:
        grid.SetOrigin(1.0, 2.0, 3.0)
        grid.SetSpacing(0.5, 0.25, 0.125)

    def add(where: Any, name: str, array: np.ndarray) -> None:
        made = numpy_to_vtk(np.ascontiguousarray(array), deep=True)
        made.SetName(name)
        where.AddArray(made)

    whole = values(extent, salt)
    for name, array in (("p", whole), ("f", whole.astype("f4")), ("n", (whole % 997).astype("i2"))):
        add(grid.GetPointData(), name, array.reshape(-1))
    add(grid.GetPointData(), "U", np.stack([whole, 2 * whole, -whole], axis=-1).reshape(-1, 3))
    cells = tuple(one if n % 2 == 0 else one - 1 for n, one in enumerate(extent))
    add(grid.GetCellData(), "c", values(cells, salt).reshape(-1))
    add(grid.GetFieldData(), "TimeValue", np.array([0.5 + salt]))
    return grid


def write_pieces(folder: Path, *, stretched: bool = False, salt: float = 0) -> Path:
    """A grid in three files, and the one that joins them; extents do not begin at 0."""
    kind, end = ("RectilinearGrid", "vtr") if stretched else ("ImageData", "vti")
    extents = [(2, 4, 1, 5, -1, 1), (4, 7, 1, 3, -1, 1), (4, 7, 3, 5, -1, 1)]
    text = ""
    for number, extent in enumerate(extents):
        name = write(folder / f"part_{number}.{end}", extent, salt=salt, stretched=stretched).name
        text += f'<Piece Extent="{" ".join(map(str, extent))}" Source="{name}"/>'
    about = "" if stretched else ' Origin="1 2 3" Spacing="0.5 0.25 0.125"'
    path = folder / f"whole.p{end}"
    path.write_text(
        f'<?xml version="1.0"?><VTKFile type="P{kind}" version="0.1">'
        f'<P{kind} WholeExtent="2 7 1 5 -1 1" GhostLevel="0"{about}>{text}</P{kind}></VTKFile>'
    )
    return path
