"""Files of known formats that are not read say what they are, and what to do."""

import numpy as np
import pytest

import tailrace as tr
from helpers.harness import mpi_run

SEMTEX = b"""cyl2                      Session
Mon Nov 16 09:00:00 2026  Created
8    8    1    422        Nr, Ns, Nz, Elements
1000                      Step
10                        Time
0.01                      Time step
0.01                      Kinvis
1                         Beta
uvp                       Fields written
binary IEEE little-endian Format
"""
VTK = b'<?xml version="1.0"?>\n<VTKFile type="%s" version="1.0">'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cyl.fld", SEMTEX + bytes(64), "is a field file of Semtex, spectral elements"),
        ("a.vts", VTK % b"StructuredGrid", "is VTK's StructuredGrid, which is not read"),
        ("a.vtu", VTK % b"UnstructuredGrid", "is VTK's UnstructuredGrid, which is not read"),
        ("a.pvtu", VTK % b"PUnstructuredGrid", "is VTK's PUnstructuredGrid, which is not read"),
        ("a.vtk", b"# vtk DataFile Version 3.0\n", "is a legacy file of VTK, which is not read"),
        ("a.nc", b"CDF\x01" + bytes(60), r"is netCDF-3, .* To fix this: nccopy -k nc4 a\.nc a-4\.nc"),
        ("a.npy", b"\x93NUMPY\x01\x00" + bytes(60), r"is an array of NumPy, .*numpy\.load\(\"a\.npy\"\)"),
        ("a.plt", b"#!TDV112" + bytes(60), "is a binary file of Tecplot"),
        ("U", b"FoamFile\n{\n", "is a file of OpenFOAM"),
    ],
)
def test_they_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(tr.InputError, match=rf"{name}: {message}"):
        tr.open(tmp_path / name)
    shown = mpi_run.tailrace("info", name, cwd=tmp_path, limit=60)
    assert shown.code == 2 and message.partition(",")[0].partition(" .*")[0] in shown.err


def test_other_files_are_not_taken_for_them(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    (tmp_path / "notes.txt").write_text("a Session\n of ours\n")
    with pytest.raises(tr.InputError, match="is no series of Tailrace"):
        tr.open(tmp_path / "notes.txt")
