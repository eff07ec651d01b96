"""What an hdf5 series adds for other programs without storing anything twice: vectors, and closing planes."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.programs.series import io_programs
from tailrace.core import InputError
from tailrace.io import series as tr

h5py = pytest.importorskip("h5py")

SHAPE = (7, 5, 4)
GRID = tr.UniformGrid(SHAPE, (0.5, -1.0, 2.0), (0.1, 0.2, 0.3), boundaries=("periodic", "free-slip", "periodic"))
POINTS = "VTKHDF/PointData"


def field(salt: float, dtype: str = "float64") -> np.ndarray:
    nx, ny, nz = SHAPE
    return (np.arange(nx * ny * nz).reshape(nz, ny, nx) + 1000.0 * salt).astype(dtype)


def velocity(step: int, dtype: str = "float64") -> dict[str, np.ndarray]:
    return {name: field(10 * step + c, dtype) for c, name in enumerate(("ux", "uy", "uz"))}


def stacked(fields: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack(list(fields.values()), axis=-1)


def closed(array: np.ndarray) -> np.ndarray:
    return np.pad(array, [(0, 1), (0, 0), (0, 1), *[(0, 0)] * (array.ndim - 3)], mode="wrap")


def in_vtk(path, moment: float) -> dict[str, np.ndarray]:
    """The arrays on the points, as (z, y, x) or (z, y, x, component)."""
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateTimeStep(moment)
    data = reader.GetOutput()
    extent = tuple(reversed(data.GetDimensions()))
    found = {}
    for number in range(data.GetPointData().GetNumberOfArrays()):
        array = data.GetPointData().GetArray(number)
        values = vtk_to_numpy(array)
        found[array.GetName()] = values.reshape((*extent, 3) if values.ndim == 2 else extent)
    return found


@pytest.mark.parametrize("parameters", [{}, {"compression": "gzip", "chunk_bytes": 500}], ids=["plain", "gzip"])
def test_velocity(tmp_path, parameters):
    path = tmp_path / "run.h5"
    with tr.open(path, "w", grid=GRID, parameters=parameters) as out:
        out.write_step(0.0, velocity(0, "float32"))
        out.write_step(1.0, velocity(1, "float32"))
        out.write_step(2.0, {"ux": field(99, "float32")})
        with pytest.raises(InputError):
            out.write_step(3.0, {**velocity(3, "float32"), "pp": np.zeros(3)})
    with tr.open(path, "a", rewind_to=1, parameters=parameters) as out:
        out.write_step(2.0, {"ux": field(20, "float32")})  # two components are missing
        out.write_step(3.0, velocity(3, "float32"))
    with tr.open(path) as series:
        assert series.verify() == [] and sorted(series[0].names) == ["ux", "uy", "uz"]
        assert series.grid == tr.UniformGrid(GRID.points, GRID.origin, GRID.spacing)
    with h5py.File(path) as file:
        view = file[f"{POINTS}/velocity"]
        assert view.is_virtual and view.dtype == np.float32 and view.id.get_storage_size() == 0
        for step in (0, 1, 3):
            np.testing.assert_array_equal(view[step], stacked(velocity(step)))
        assert (view[2, ..., 0] == field(20)).all() and not view[2, ..., 1:].any()
    found = in_vtk(path, 3.0)
    assert sorted(found) == ["ux", "uy", "uz", "velocity"]
    np.testing.assert_array_equal(found["velocity"], stacked(velocity(3)))


def test_names_of_vectors(tmp_path):
    path = tmp_path / "run.h5"
    names = ["vorticity_x", "vorticity_y", "vorticity_z", "vorticity", "bx", "by", "bz", "ux", "uy", "uz", "ax", "ay"]
    arrays = {name: field(n) for n, name in enumerate(names)}
    arrays["stress"], arrays["force"] = np.stack([field(n) for n in range(6)]), np.stack([field(n) for n in range(3)])
    with tr.open(path, "w", grid=GRID) as out:
        out.write_step(0.0, {**arrays, "pz": np.zeros((2, 2, 2)), "px": field(1), "py": field(2)}, lists={"az": [1.0]})
        out.write_step(1.0, arrays, velocity=field(7))  # a variable has the name before the vector
        out.write_step(2.0, arrays)
    with h5py.File(path) as file:
        views = sorted(name for name, data in file[POINTS].items() if data.is_virtual)
        assert views == ["b_vector", "force_vector", "vorticity_vector"]
        np.testing.assert_array_equal(file[f"{POINTS}/force_vector"][1], np.moveaxis(arrays["force"], 0, -1))
        np.testing.assert_array_equal(file[f"{POINTS}/velocity"][1], field(7))
    with tr.open(path) as series:
        np.testing.assert_array_equal(series[1]["velocity"], field(7))
        assert series.verify() == []


@pytest.mark.parametrize("closing", [True, "xz"])
def test_closing_planes(tmp_path, closing):
    path = tmp_path / "run.h5"
    nx, ny, nz = SHAPE
    cells = np.arange(nx * (ny - 1) * nz, dtype=float).reshape(nz, ny - 1, nx)
    with tr.open(path, "w", grid=GRID, parameters={"closing": closing}) as out:
        out.write_step(0.0, velocity(0), pp=cells)
        out.write_step(1.0, velocity(1), pp=cells)
    with tr.open(path, "a") as out:
        out.write_step(2.0, velocity(2), late=field(9))
    with pytest.raises(InputError, match="begun with closing planes in xz"):
        tr.open(path, "a", parameters={"closing": "x"})
    with tr.open(path) as series:
        assert series.verify() == [] and series.grid == tr.UniformGrid(GRID.points, GRID.origin, GRID.spacing)
        assert series[2].variables["ux"].shape == SHAPE
        np.testing.assert_array_equal(series[2]["uy"], velocity(2)["uy"])
    found = in_vtk(path, 2.0)
    np.testing.assert_array_equal(found["velocity"], closed(stacked(velocity(2))))
    np.testing.assert_array_equal(found["uz"], closed(velocity(2)["uz"]))
    np.testing.assert_array_equal(found["late"], closed(field(9)))
    with h5py.File(path) as file:
        assert file["VTKHDF"].attrs["WholeExtent"].tolist() == [0, nx, 0, ny - 1, 0, nz]
        assert not file[f"{POINTS}/late"][1].any() and file["Fields/ux"].shape == (3, nz, ny, nx)
        np.testing.assert_array_equal(file["VTKHDF/CellData/pp"][1], cells)


def test_closing_planes_of_ranks(tmp_path, three):
    given = {"path": str(tmp_path / "run.h5"), "engine": "hdf5", "parameters": {"closing": "xyz"}}
    three.results(io_programs.write_on_grid, **given)
    with h5py.File(given["path"]) as file, tr.open(given["path"]) as series:
        assert series.verify() == []
        np.testing.assert_array_equal(file[f"{POINTS}/ux"][1], np.pad(series[1]["ux"], (0, 1), mode="wrap"))


@pytest.mark.parametrize(
    ("parameters", "grid", "words"),
    [
        ({"closing": "xq"}, GRID, "expected the periodic directions"),
        ({"closing": "xx"}, GRID, "expected the periodic directions"),
        ({"closing": True}, None, "which directions are periodic"),
        ({"closing": "x"}, None, "equal spacing"),
        ({"closing": "x"}, tr.StretchedGrid((2, 2, 2), coordinates=((), (0.0, 3.0), ())), "equal spacing"),
    ],
)
def test_closing_planes_that_cannot_be(tmp_path, parameters, grid, words):
    with pytest.raises(InputError, match=words):
        tr.open(tmp_path / "run.h5", "w", grid=grid, parameters=parameters)
    assert not (tmp_path / "run.h5").exists()
