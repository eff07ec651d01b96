"""VTK's own XML files: a collection of steps (`.pvd`), images (`.vti`) and rectilinear grids (`.vtr`), also in pieces.

https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html
"""

from __future__ import annotations

from pathlib import Path

from tailrace.core import InputError
from tailrace.formats.file_bytes import peek
from tailrace.io.dataset import Dataset

from .dataset import VtkSteps

_ENDINGS = (".pvd", ".vti", ".vtr", ".pvti", ".pvtr")


def dataset_at(path: Path, parameters: dict[str, str]) -> Dataset | None:
    """The steps of a collection, or the step of one file; None for other content."""
    if path.suffix not in _ENDINGS or not path.is_file() or b"<VTKFile" not in peek(path, 1024):
        return None
    if parameters:
        raise InputError(f"{path}: the format vtk has no parameter '{next(iter(parameters))}'; it has none")
    return VtkSteps(path)
