"""Files of known formats that are not read: what they are, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .file_bytes import peek

_HEAD = 1024


class _Kind(NamedTuple):
    """What a file is, by its first bytes, and what to do with it."""

    is_it: Callable[[bytes], bool]
    what: str
    fix: str


def _classic(mark: bytes, name: str) -> _Kind:
    what = f"{name}, netCDF's classic format, which is not read; netCDF-4, on HDF5, is"
    return _Kind(lambda head: head.startswith(mark), what, "nccopy -k nc4 {name} {stem}-4.nc")


def _vtk(kind: str) -> _Kind:
    what = f"VTK's {kind}, which is not read; ImageData (.vti), RectilinearGrid (.vtr) and VTKHDF are"
    fix = "in ParaView, resample it to an image (filter Resample To Image) and save that as .vti"
    mark = f'type="{kind}"'.encode()
    return _Kind(lambda head: b"<VTKFile" in head and mark in head, what, fix)


_GRID = "interpolate it to a regular grid, and write that with HDF5 or as VTK's .vti"
_KINDS = (
    _classic(b"CDF\x01", "netCDF-3"),
    _classic(b"CDF\x02", "netCDF-3 with 64-bit offsets"),
    _classic(b"CDF\x05", "CDF-5"),
    *(_vtk(f"{p}{kind}") for kind in ("StructuredGrid", "UnstructuredGrid", "PolyData") for p in ("", "P")),
    _Kind(
        lambda head: head.startswith(b"# vtk DataFile"),
        "a legacy file of VTK, which is not read; its XML files .vti and .vtr are",
        "open it in ParaView and save it as .vti or .vtr",
    ),
    _Kind(
        lambda head: b" Session\n" in head[:64] and b"Nr, Ns, Nz, Elements" in head,
        "a field file of Semtex, spectral elements that are not read",
        _GRID,
    ),
    _Kind(
        lambda head: head.startswith(b"\x93NUMPY"),
        "an array of NumPy, which says nothing of its grid and time",
        'tr.open("run.h5", "w", grid=...).write_step(time, name=numpy.load("{name}"))',
    ),
    _Kind(lambda head: head.startswith(b"#!TDV"), "a binary file of Tecplot, which is not read", _GRID),
    _Kind(
        lambda head: b"FoamFile" in head,
        "a file of OpenFOAM, whose meshes are not read",
        _GRID,
    ),
)


def known_and_not_read(path: Path) -> str:
    """What a file is, and what to do, if it is of a known format that is not read; else ""."""
    head = peek(path, _HEAD) if path.is_file() else b""
    kind = next((one for one in _KINDS if head and one.is_it(head)), None)
    if kind is None:
        return ""
    return f"{path}: is {kind.what}. To fix this: {kind.fix.replace('{name}', path.name).replace('{stem}', path.stem)}"
