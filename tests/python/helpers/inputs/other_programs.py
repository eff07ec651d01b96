"""Small files as other programs write them, made with h5py and NumPy: one of each kind that is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from . import block_files, nektar_files, vtk_files, xcompact3d_files
from .pencil_runs import HandMade

DATA = Path(__file__).parents[3] / "data"  # of what these cannot make
TIMES = (0.0, 0.25, 0.75)


def values(*shape: int, salt: float = 0) -> np.ndarray:
    """No two are equal."""
    return np.arange(float(np.prod(shape))).reshape(shape) + 1000.0 * salt


def _xcompact3d(folder: Path) -> Path:
    return Path(xcompact3d_files.make_run(folder))


def _toolbox(folder: Path) -> Path:
    (folder / "data/3d_snapshots").mkdir(parents=True)
    (folder / "input.i3d").write_text(xcompact3d_files.input_text())
    for step in (0, 5):
        field = values(xcompact3d_files.NZ, xcompact3d_files.NY, xcompact3d_files.NX, salt=step)
        field.astype("f4").tofile(folder / f"data/3d_snapshots/ux-{step:09d}.bin")
    return folder


def _checkpoint(folder: Path) -> Path:
    folder.mkdir()
    (folder / "input.i3d").write_text(xcompact3d_files.input_text())
    cells = (xcompact3d_files.NX, xcompact3d_files.NY - 1, xcompact3d_files.NZ)
    names = ["ux", "uy", "uz", "dux1", "duy1", "duz1", "dux2", "duy2", "duz2", "pp"]
    xcompact3d_files.make_checkpoint(folder, names, cells, scheme=3)
    return folder / "checkpoint"


def _pencil(folder: Path) -> Path:
    HandMade(folder / "data").texts().dist()
    return folder


def _pencil_hdf5(folder: Path) -> Path:
    HandMade(folder / "data").texts().hdf5()
    return folder


ROWS = [nektar_files.row("Hexahedron", (2, 3, 4), [60], 7), nektar_files.row("Prism", (3, 2, 4), [50, 51], 6)]


def _nektar_xml(folder: Path) -> Path:
    folder.mkdir()
    (folder / "run.fld").write_text(nektar_files.xml(ROWS))
    return folder / "run.fld"


def _nektar_hdf5(folder: Path) -> Path:
    folder.mkdir()
    nektar_files.hdf5(folder / "run.fld", ROWS)
    return folder / "run.fld"


def _in_hdf5(write: Callable[[h5py.File], None], name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        folder.mkdir()
        with h5py.File(folder / name, "w") as file:
            write(file)
        return folder / name

    return make


def _groups(file: h5py.File) -> None:
    for step, time in enumerate(TIMES):
        file[f"Step{step}/ux"], file[f"Step{step}/p"] = values(4, 5, 6, salt=step), values(4, 5, 6, salt=-step)
        file[f"Step{step}"].attrs["time"] = time


def _dedalus(file: h5py.File) -> None:
    file["scales/sim_time"] = np.array(TIMES)
    file["scales/sim_time"].make_scale("sim_time")
    data = file.create_dataset("tasks/u", data=values(3, 2, 8, 5))
    for dimension, label in zip(data.dims, ("t", "", "x", "z"), strict=True):
        dimension.label = label
    data.dims[0].attach_scale(file["scales/sim_time"])


def _jld2(file: h5py.File) -> None:
    for number, time in enumerate(TIMES):
        file[f"timeseries/t/{7 * number}"] = time
        file[f"timeseries/b/{7 * number}"] = values(4, 5, 6, salt=number)


def _netcdf(file: h5py.File) -> None:
    file["time"] = np.array(TIMES)
    file["time"].make_scale("time")
    file["time"].attrs["units"] = "hours since 2000-01-01"
    data = file.create_dataset("t2m", data=np.arange(360, dtype="i2").reshape(3, 4, 5, 6))
    data.dims[0].attach_scale(file["time"])
    data.attrs["scale_factor"], data.attrs["add_offset"], data.attrs["_FillValue"] = 0.5, 250.0, np.int16(7)


def _openpmd(file: h5py.File, iterations: tuple[int, ...] = (5, 10)) -> None:
    file.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/"})
    for number in iterations:
        group = file.create_group(f"data/{number}")
        group.attrs.update({"time": 2.0 * number, "timeUnitSI": 0.5})
        field = group.create_group("meshes/E")
        field.attrs.update({"axisLabels": np.array(["z", "y", "x"], "S"), "dataOrder": np.bytes_("C")})
        field.attrs.update({"gridSpacing": [0.1, 0.2, 0.3], "gridGlobalOffset": [1.0, 2.0, 3.0]})
        for i, axis in enumerate("xyz"):
            field[axis] = values(4, 5, 6, salt=100 * i + number)


def _openpmd_files(folder: Path) -> Path:
    folder.mkdir()
    for number in (5, 10, 100):
        with h5py.File(folder / f"data_{number}.h5", "w") as file:
            _openpmd(file, (number,))
    return folder


def _openpmd_bp(folder: Path) -> Path:
    return Path(shutil.copytree(DATA / "openpmd" / "groups.bp", folder))


def _vtkhdf(file: h5py.File) -> None:
    group = file.create_group("VTKHDF")
    group.attrs.update({"Version": [2, 0], "Type": np.bytes_("ImageData"), "WholeExtent": [0, 5, 0, 4, 0, 3]})
    group.attrs.update({"Origin": [0.0, 1.0, 2.0], "Spacing": [0.5, 0.25, 1.0]})
    group["PointData/p"], group["Steps/Values"] = np.stack([values(4, 5, 6), values(4, 5, 6, salt=1)]), [0.5, 0.75]


def _many(folder: Path) -> Path:
    folder.mkdir()
    for number, time in enumerate(TIMES):
        with h5py.File(folder / f"flow_{number:04d}.h5", "w") as file:
            file["u"], file.attrs["time"] = values(4, 5, 6, salt=number), time
    return folder


def _pflotran(file: h5py.File) -> None:
    for axis, count in zip("XYZ", (6, 5, 4), strict=True):
        file[f"Coordinates/{axis} [m]"] = np.arange(float(count))
    for time in TIMES:
        file[f"Time:  {time:.5E} y/Liquid_Pressure [Pa]"] = values(5, 4, 3, salt=time)


def _athena(folder: Path) -> Path:
    folder.mkdir()
    block_files.athena(folder / "disk.athdf")
    return folder / "disk.athdf"


def _flash(folder: Path) -> Path:
    folder.mkdir()
    block_files.flash(folder / "sedov_hdf5_chk_0001")
    return folder / "sedov_hdf5_chk_0001"


def _xdmf(folder: Path) -> Path:
    folder.mkdir()
    text = '<?xml version="1.0"?><Xdmf Version="3.0"><Domain><Grid GridType="Collection" CollectionType="Temporal">'
    with h5py.File(folder / "u.h5", "w") as file:
        for step, time in enumerate(TIMES):
            file[f"Function/{step}"] = values(6, 3, salt=step)
            text += f'<Grid><Topology TopologyType="Triangle"/><Time Value="{time}"/><Attribute Name="u">'
            text += f'<DataItem Format="HDF" Dimensions="6 3">u.h5:/Function/{step}</DataItem></Attribute></Grid>'
    (folder / "u.xdmf").write_text(text + "</Grid></Domain></Xdmf>")
    return folder / "u.xdmf"


def _classic(folder: Path) -> Path:
    folder.mkdir()
    (folder / "old.nc").write_bytes(b"CDF\x01" + bytes(60))
    return folder / "old.nc"


def _vtk_image(folder: Path) -> Path:
    folder.mkdir()
    return vtk_files.write(folder / "image.vti")


def _vtk_pieces(folder: Path) -> Path:
    folder.mkdir()
    return vtk_files.write_pieces(folder, stretched=True)


def _unstructured(folder: Path) -> Path:
    folder.mkdir()
    (folder / "mesh.vtu").write_text('<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0">')
    return folder / "mesh.vtu"


def _text(folder: Path) -> Path:
    folder.mkdir()
    (folder / "notes.txt").write_text("u = 1\n")
    return folder / "notes.txt"


KINDS: dict[str, Callable[[Path], Path]] = {
    "Xcompact3D, snapshots": _xcompact3d,
    "Xcompact3D, arranged by shape": _toolbox,
    "Xcompact3D, checkpoint": _checkpoint,
    "Pencil Code, a file for each process": _pencil,
    "Pencil Code, HDF5": _pencil_hdf5,
    "Nektar++, XML": _nektar_xml,
    "Nektar++, HDF5": _nektar_hdf5,
    "HDF5, a group for each step": _in_hdf5(_groups, "steps.h5"),
    "HDF5, Dedalus": _in_hdf5(_dedalus, "snapshots_s1.h5"),
    "HDF5, JLD2 of Oceananigans": _in_hdf5(_jld2, "fields.jld2"),
    "netCDF-4, packed": _in_hdf5(_netcdf, "t2m.nc"),
    "openPMD, one file": _in_hdf5(_openpmd, "data.h5"),
    "openPMD, a file for each iteration": _openpmd_files,
    "openPMD, a BP directory": _openpmd_bp,
    "VTKHDF, an image": _in_hdf5(_vtkhdf, "image.vtkhdf"),
    "VTK, an image": _vtk_image,
    "VTK, a rectilinear grid in pieces": _vtk_pieces,
    "XDMF with HDF5, of FEniCS": _xdmf,
    "PFLOTRAN": _in_hdf5(_pflotran, "pflotran.h5"),
    "Athena++, blocks of one level": _athena,
    "FLASH, blocks of one level": _flash,
    "many HDF5 files": _many,
    "netCDF-3": _classic,
    "VTK, an unstructured grid": _unstructured,
    "a text": _text,
}
