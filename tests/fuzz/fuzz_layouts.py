"""Read HDF5, XDMF and directories of files whose layout nobody meant: no crash, no hang, no error without a name.

    python tests/fuzz/fuzz_layouts.py --cases 100000
    python tests/fuzz/fuzz_layouts.py --cases 1000 --only xdmf

The files are whole as files; what they say is random: labels and scales of dimensions, attributes of netCDF of any type
and size, times that fit nothing, numbers as names, arrays of all types and shapes, XDMF that names what is not there,
directories in which files are damaged or missing. Everything is read through `tr.open` and xarray.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import campaign
import h5py
import numpy as np
from damages import damage

import tailrace as tr
from helpers.inputs import block_files, vtk_files
from tailrace.text import visible

ALLOWED = (tr.Error, OSError, ValueError)
WORDS = (
    "t", "time", "sim_time", "x", "y", "z", "", "u", "ux", "component", "Time", "TIME", "scales", "0", "17", "Step3",
    "a b", "é",
)  # fmt: skip
TYPES = ("f8", "f4", ">f8", "i2", "i4", ">i4", "u1", "u8", "i1", "f2", "c16", "c8", "?", "S5", "i8")
DECODING = (
    "scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range", "valid_min", "valid_max", "_Unsigned",
    "units", "calendar", "DIMENSION_LABELS", "openPMD", "basePath", "axisLabels",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    0, 1, -1, 7, 2.5, 0.0, float("nan"), float("inf"), -1e300, "true", "hours since 2000-01-01", "", b"\xff\xfe", 1j,
    True, [1, 2], [0.5, 9.5], [], np.int16(7), np.uint64(2**63), np.float32(3), np.arange(9), ["a", "b"], "1.1.0",
    "/data/%T/",
)  # fmt: skip


def hdf5(path: Path, dice: random.Random) -> None:
    """A file of random arrays, labels, scales and attributes."""
    sizes = [dice.choice((0, 1, 2, 3, 3, 4, 5, 11)) for _ in range(4)]
    with h5py.File(path, "w") as file:
        made = []
        for _ in range(dice.randint(0, 6)):
            name = "/".join(dice.choice([word for word in WORDS if word]) for _ in range(dice.choice((1, 1, 2, 2, 3))))
            shape = tuple(dice.choice(sizes) for _ in range(dice.choice((0, 1, 1, 2, 3, 3, 4, 4, 5))))
            dtype = np.dtype(dice.choice(TYPES))
            try:
                data = file.create_dataset(name, data=_array(shape, dtype, dice))
            except (ValueError, OSError, TypeError, RuntimeError):  # the name is taken, or is that of an array above it
                continue
            made.append(data)
        for data in made:
            for dimension in data.dims:
                if dice.random() < 0.4:
                    dimension.label = dice.choice(WORDS)
            if data.ndim == 1 and dice.random() < 0.7:
                data.make_scale(dice.choice(WORDS))
        scales = [data for data in made if data.is_scale]
        for data in made:
            for dimension in data.dims if scales and not data.is_scale else ():
                if dice.random() < 0.4:
                    dimension.attach_scale(dice.choice(scales))
        for one in [file, *made]:
            for _ in range(dice.choice((0, 0, 1, 3))):
                try:
                    one.attrs[dice.choice(DECODING + WORDS[:3])] = dice.choice(VALUES)
                except (ValueError, OSError, TypeError, RuntimeError):
                    continue


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], dice: random.Random) -> Any:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if dtype.kind == "S":
        return values.astype("S5")
    with np.errstate(all="ignore"):
        made = (values * dice.choice((1, 1, 0.25, -3))).astype(dtype)
    if dtype.kind == "f" and made.size and dice.random() < 0.2:
        made.reshape(-1)[dice.randrange(made.size)] = dice.choice((np.nan, np.inf))
    return made


def xdmf(folder: Path, dice: random.Random) -> Path:
    """A file that names datasets of others, perhaps with a mistake."""
    for name in ("a.h5", "b.h5")[: dice.randint(0, 2)]:
        hdf5(folder / name, dice)
    with h5py.File(folder / "c.h5", "w") as file:
        file["u"], file["g/v"] = np.arange(120.0).reshape(2, 3, 4, 5), np.arange(12.0).reshape(6, 2)
        file["x"] = np.arange(5.0)
    places = ["c.h5:/u"] * 3 + [
        "c.h5:g/v",
        "c.h5:/x",
        "a.h5:/u",
        "b.h5:time",
        "c.h5",
        ":",
        "../c.h5:/u",
        "c.h5:/nothing",
    ]
    text = '<?xml version="1.0"?>\n<Xdmf Version="3.0"><Domain>'
    for step in range(dice.randint(0, 3)):
        kind = dice.choice(("3DCoRectMesh", "Triangle", "3DRectMesh", "Polyvertex", ""))
        text += f'<Grid Name="g"><Topology TopologyType="{kind}" Dimensions="3 4 5"/>'
        text += dice.choice(("", *[f'<Time Value="{0.5 * step}"/>'] * 9, '<Time Value="x"/>', "<Time/>"))
        text += dice.choice(("", _GEOMETRY))
        for number in range(dice.randint(0, 3)):
            text += f'<Attribute Name="{dice.choice(("u", "v", "", f"w{number}"))}">{_item(dice, places)}</Attribute>'
        text += "</Grid>"
    text += "</Domain></Xdmf>"
    raw = text.encode()
    path = folder / "s.xdmf"
    path.write_bytes(damage(raw, dice) if dice.random() < 0.3 else raw)
    return path


_GEOMETRY = '<Geometry GeometryType="ORIGIN_DXDYDZ"><DataItem>0 0 0</DataItem><DataItem>1 1 1</DataItem></Geometry>'
_SLABS = ("0 0 0 0 1 1 1 1 1 3 4 5", "1 0 0 0 1 1 1 1 1 3 4 5", "9 0 0 0 1 1 1 1 1 3 4 5", "0 1", "", "-1 x")


def _item(dice: random.Random, places: list[str]) -> str:
    kind, place = dice.choice(("HDF", "HDF", "HDF", "XML")), dice.choice(places)
    plain = f'<DataItem Format="{kind}" Dimensions="2 3 4 5">{place}</DataItem>'
    if dice.random() < 0.6:
        return plain
    kind = dice.choice(("HyperSlab", "Function"))
    return f'<DataItem ItemType="{kind}"><DataItem>{dice.choice(_SLABS)}</DataItem>{plain}</DataItem>'


def directory(folder: Path, dice: random.Random) -> Path:
    """Numbered files, of which some are damaged, empty, or of another kind."""
    seed = dice.randrange(1 << 30)
    for number in range(dice.randint(0, 6)):
        path = folder / dice.choice((f"f_{number:03d}.h5", f"f_{number}.h5", f"g{number}.h5", f"f_{number:03d}.h5"))
        with h5py.File(path, "w") as file:
            file["u"], file.attrs["time"] = np.full((2, 3, 4), float(number)), dice.choice((number, -number, "x"))
            if dice.random() < 0.3:
                del file.attrs["time"]
        if dice.random() < 0.2:
            hdf5(path, random.Random(seed + number % 2))
        if dice.random() < 0.15:
            path.write_bytes(path.read_bytes()[: dice.choice((0, 5, 600, 3000))])
    return folder / dice.choice(("", "f_*.h5", "*.h5", "[", "f_?.h5"))


def blocks(folder: Path, dice: random.Random) -> Path:
    """A file of Athena++ or FLASH in which a dataset or an attribute is something else, or gone."""
    path = folder / "blocks.h5"
    (block_files.athena if dice.random() < 0.5 else block_files.flash)(path)
    with h5py.File(path, "a") as file:
        for _ in range(dice.randint(0, 2)):
            name = dice.choice(sorted(file))
            if dice.random() < 0.5:
                shape = tuple(dice.choice((0, 1, 2, 3, 6, 7)) for _ in range(dice.randint(0, 5)))
                del file[name]
                if dice.random() < 0.8:
                    file[name] = _array(shape, np.dtype(dice.choice(TYPES)), dice)
            elif file.attrs:
                file.attrs[dice.choice(sorted(file.attrs))] = dice.choice(VALUES[:-1])
    return path


def single(folder: Path, dice: random.Random) -> Path:
    """One HDF5 file."""
    hdf5(folder / "a.h5", dice)
    return folder / "a.h5"


def openpmd(folder: Path, dice: random.Random) -> Path:
    """Iterations whose attributes and arrays are something else, or gone."""
    path = folder / "data.h5"
    with h5py.File(path, "w") as file:
        for name, value in (("openPMD", "1.1.0"), ("basePath", "/data/%T/"), ("meshesPath", "meshes/")):
            if dice.random() < 0.9:
                file.attrs[name] = value if dice.random() < 0.9 else dice.choice(VALUES)
        for _ in range(dice.randint(0, 3)):
            group = file.require_group(f"data/{dice.choice(('0', '5', '100', 'x', '9' * 30))}")
            for name in ("time", "timeUnitSI"):
                group.attrs[name] = dice.choice((1.5, *VALUES))
            for record in ("E/x", "E/y", "E/z", "rho")[: dice.randint(0, 4)]:
                shape = tuple(dice.choice((0, 1, 2, 3)) for _ in range(dice.randint(0, 4)))
                if f"meshes/{record}" not in group:
                    group[f"meshes/{record}"] = _array(shape, np.dtype(dice.choice(TYPES)), dice)
                for name in (
                    "unitSI",
                    "axisLabels",
                    "dataOrder",
                    "gridSpacing",
                    "gridGlobalOffset",
                    "gridUnitSI",
                    "shape",
                ):
                    labels = ("z,y,x", "x", ["x", "y", "z"], [0.1, 0.2, 0.3])
                    if dice.random() < 0.5:
                        group[f"meshes/{record}"].attrs[name] = dice.choice((*labels, *VALUES))
    return path


def vtk(folder: Path, dice: random.Random) -> Path:
    """A file, or pieces, that VTK wrote, and that is damaged or says something else."""
    stretched, form = dice.random() < 0.5, dice.choice(vtk_files.FORMS)
    if dice.random() < 0.3:
        path = vtk_files.write_pieces(folder, stretched=stretched)
    else:
        path = vtk_files.write(folder / f"a.vt{'r' if stretched else 'i'}", form=form, stretched=stretched)
    changed = dice.choice(sorted(folder.iterdir()))
    raw = changed.read_bytes()
    for _ in range(dice.randint(0, 2)):
        words = (b"0 5", b"Float64", b"appended", b"binary", b"ascii", b"raw", b"base64", b'"3"', b"UInt64", b"0", b"1")
        old = dice.choice(words)
        raw = raw.replace(old, dice.choice((*words, b"-1", b"", b"99999999999", b"9 2")), dice.choice((1, 1, -1)))
    changed.write_bytes(damage(raw, dice) if dice.random() < 0.5 else raw)
    return path


KINDS: dict[str, Callable[[Path, random.Random], Path]] = {
    "hdf5": single,
    "xdmf": xdmf,
    "directory": directory,
    "blocks": blocks,
    "openpmd": openpmd,
    "vtk": vtk,
}


def read(path: Path) -> str:
    """Read everything; AssertionError: an error that is not ours, or does not say what it is about."""
    try:
        with tr.open(path) as series:
            for step in series:
                _ = step.scalars, step.names, step.attributes, repr(step)
                for name in step.variables:
                    assert np.asarray(step.read(name)).size >= 0
            _ = series.verify(), [visible(note) for note in series.notes], series.grid, repr(series)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                series.to_xarray().load()
    except ALLOWED as error:
        ours = (tr.InputError, tr.IoError, tr.Error)
        assert isinstance(error, ours) and str(error), f"not of ours: {type(error).__name__}: {error}"
        return "error"
    return "read"


class Cases:
    """One case after the other."""

    def __init__(self, only: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-fuzz-"))
        self._names = [name for name in KINDS if not only or only in name]

    def run(self, seed: int) -> str:
        """One case; what it is follows from the seed alone."""
        dice = random.Random(seed)
        name = dice.choice(self._names)
        folder = self._folder / f"case-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            return f"{name}: {read(KINDS[name](folder, dice))}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, Cases))
