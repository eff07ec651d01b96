"""Runs of Xcompact3D, made from the description of its files without the code under test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

NX, NY, NZ = 12, 9, 10
LENGTHS = (6.0, 2.0, 5.0)
ENDS = ((0, 0), (2, 2), (0, 0))
DT, EVERY = 0.01, 20


def input_text(points=(NX, NY, NZ), ends=ENDS, basic="", inout="", options="itimescheme = 5"):
    """An input file, with more lines in three of its groups."""
    keys = [f"{key} = {n}" for key, n in zip(("nx", "ny", "nz"), points, strict=True)]
    keys += [f"{key} = {length}" for key, length in zip(("xlx", "yly", "zlz"), LENGTHS, strict=True)]
    for axis, (low, high) in zip("xyz", ends, strict=True):
        keys += [f"ncl{axis}1 = {low}", f"ncl{axis}n = {high}"]
    keys += ["itype = 3", "re = 250.", f"dt = {DT}", "ifirst = 1", "ilast = 100", *basic.splitlines()]
    lines = ["&BasicParam", *keys, "/End", "&NumOptions", options, "/End"]
    lines += ["&InOutParam", f"ioutput = {EVERY}", *inout.splitlines(), "/End"]
    return "\n".join([*lines, "&Statistics", "/End", "&CASE", "/End", ""])


def field(number, name="ux", shape=(NX, NY, NZ)):
    """Values without symmetry, (nz, ny, nx)."""
    nx, ny, nz = shape
    z, y, x = np.ogrid[:nz, :ny, :nx]
    shift = sum(map(ord, name)) % 17
    return np.sin(0.3 * x + shift) + 0.1 * y * np.cos(0.2 * z + number) + 0.01 * x * y - 0.02 * z * number


def make_run(directory: Path, numbers=(1, 2), names=("ux", "uy", "uz", "pp"), dtype="<f8", shape=(NX, NY, NZ), **text):
    """A run directory with snapshots."""
    (directory / "data").mkdir(parents=True)
    (directory / "input.i3d").write_text(input_text(**text))
    for number in numbers:
        for name in names:
            field(number, name, shape).astype(dtype).tofile(directory / "data" / f"{name}-{number}.bin")
    return directory


def make_checkpoint(directory: Path, names, cells, dtype="<f8", scheme=5, scalars=0):
    """A restart file of these arrays in this order, and its `restart.info`."""
    arrays = [field(3, name, cells if name == "pp" else (NX, NY, NZ)).astype(dtype) for name in names]
    (directory / "checkpoint").write_bytes(b"".join(array.tobytes() for array in arrays))
    bar = "!========================="
    rows = [bar, "&Time", bar, "tfield=            0.6000", "itime=                  60", "/End", bar, "&NumParam", bar]
    rows += [f"nx= {NX}", f"ny= {NY}", f"nz= {NZ}", "Lx= 6.0000", "Ly= 2.0000", "Lz= 5.0000", "istret= 0", "beta= 0.1"]
    rows += [
        f"iscalar= {int(scalars > 0)}",
        f"numscalar= {scalars}",
        f"itimescheme= {scheme}",
        "iimplicit= 0",
        "/End",
        bar,
    ]
    (directory / "restart.info").write_text("\n".join([*rows, ""]))
    return dict(zip(names, arrays, strict=True))
